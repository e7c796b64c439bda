// Limits of single values: one row for each value of the secret, in a fold of the goal.

import { byId, make } from "./dom.js";
import { isWorstCase } from "./state.js";

const KINDS = { lift_of: "Largest lift of", ceiling: "Ceiling of", floor: "Least lift of" };

export class ValueLimits {
  constructor(state, changed) {
    Object.assign(this, { state, changed, labels: [] });
  }

  // The table for the values of the prior. Limits stay with a value that is renamed, and go with one that is removed.
  fit() {
    const { labels } = this.state.prior, before = this.labels;
    const renamed = (value) => (labels.includes(value) || labels.length !== before.length ? value : labels[before.indexOf(value)]);
    this.state.values = this.state.values.map((one) => ({ ...one, value: renamed(one.value) })).filter((one) => labels.includes(one.value));
    if (JSON.stringify(labels) !== JSON.stringify(before)) this.show();
  }

  show() {
    this.labels = [...this.state.prior.labels];
    const { values } = this.state;
    byId("value-limits").open ||= values.length > 0;
    byId("value-limit-rows").replaceChildren(...this.labels.map((label) => {
      const given = values.find((one) => one.value === label);
      const cells = Object.entries(KINDS).map(([kind, words]) => {
        const input = make("input", { value: given?.[kind] ?? "", inputMode: "decimal", autocomplete: "off", className: "number", placeholder: "–",
          "aria-label": `${words} ${label}` });
        input.addEventListener("change", () => this.type(label, kind, input.value.trim().replace(",", ".")));
        return make("td", {}, input);
      });
      return make("tr", {}, make("th", { scope: "row", textContent: label, title: label }), ...cells);
    }));
  }

  type(value, kind, text) {
    const others = this.state.values.filter((one) => one.value !== value);
    const here = { value, lift_of: "", ceiling: "", floor: "", ...this.state.values.find((one) => one.value === value), [kind]: text };
    const empty = Object.keys(KINDS).every((name) => !here[name]);
    this.state.values = empty ? others : [...others, here];
    this.changed({ settled: true });
  }

  // Worst-case answers rule values out, and a mechanism that is brought has the limits it has.
  visible() {
    byId("value-limits").hidden = isWorstCase(this.state) || this.state.goal.kind !== "design";
  }
}
