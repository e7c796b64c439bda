// Further secrets of the same rows, below the command line: what all of them tell together, and the command for all.

import { byId, make, say, showError } from "./dom.js";

const MOST = 20;
const FIELDS = { name: ["Name", "smokes"], values: ["Values", "no,yes"], lift: ["Lift", "2"] };

export class FurtherSecrets {
  constructor(state, changed) {
    Object.assign(this, { state, changed });
    byId("add-secret").addEventListener("click", () => {
      this.row().further.push({ name: "", values: "", lift: "2" });
      this.rows();
      byId("secret-rows").lastElementChild.querySelector("input").focus();
    });
    for (const what of ["table", "name", "total"]) {
      byId(`row-${what}`).addEventListener("input", () => {
        const text = byId(`row-${what}`).value.trim();
        this.row()[what] = what === "total" ? text.replace(",", ".") : text;
        this.changed();
      });
    }
  }

  // The secrets of a row, which a state has once something was typed here.
  row() {
    return (this.state.row ??= { table: "", name: "", further: [], total: "" });
  }

  // The table and the column that were opened.
  of(table, name) {
    Object.assign(this.row(), { table, name });
    this.show();
    this.changed();
  }

  get any() {
    return Boolean(this.state.row?.further.length);
  }

  show() {
    const { row } = this.state;
    byId("several").open ||= this.any;
    for (const what of ["table", "name", "total"]) byId(`row-${what}`).value = row?.[what] ?? "";
    this.rows();
    if (!this.any) this.told({ words: null });
  }

  rows() {
    const further = this.state.row?.further ?? [];
    byId("secret-rows").replaceChildren(...further.map((one, place) => this.one(one, place)));
    byId("secrets-scroll").hidden = !further.length;
    byId("add-secret").disabled = further.length >= MOST;
  }

  one(secret, place) {
    const remove = make("button", { type: "button", className: "bare", textContent: "×", "aria-label": `Remove secret ${place + 2}` });
    remove.addEventListener("click", () => {
      this.row().further.splice(place, 1);
      this.rows();
      byId("add-secret").focus();
      this.changed();
    });
    const cells = Object.entries(FIELDS).map(([what, [words, placeholder]]) => {
      const input = make("input", { value: secret[what] ?? "", placeholder, autocomplete: "off", spellcheck: false, "aria-label": `${words} of secret ${place + 2}` });
      if (what === "lift") Object.assign(input, { inputMode: "decimal", className: "number" });
      input.addEventListener("input", () => {
        secret[what] = what === "lift" ? input.value.trim().replace(",", ".") : input.value;
        this.changed();
      });
      return make("td", {}, input);
    });
    return make("tr", {}, ...cells, make("td", {}, remove));
  }

  told({ words, beyond = false, cli = null, note = "" }) {
    showError("several-error", "");
    const promise = byId("row-promise");
    if (words && promise.textContent !== words) say(words);
    promise.textContent = words ?? "";
    promise.classList.toggle("beyond", beyond);
    byId("several-command").hidden = !cli;
    byId("several-cli").textContent = cli ?? "";
    byId("several-note").textContent = note;
  }

  failed(error) {
    this.told({ words: null });
    showError("several-error", error.message);
  }
}
