// The three parts of an answer, which move with the knob: what leaks, what to release, what is lost.
// They need nothing else of the page: a figure of the documentation shows them as well.

import { byId, make } from "./dom.js";

export function showLeaks({ values, first, rest, note }, all = false) {
  const shown = all ? values : values.slice(0, first);
  byId("leaks").replaceChildren(...shown.map(({ name, before, after, shares: [from, to] }) => {
    const row = make("tr", {}, make("th", { scope: "row", textContent: name, title: name }), make("td", { textContent: before }),
      make("td", { className: "after", textContent: after }));
    row.style.setProperty("--from", `${100 * from}%`);
    row.style.setProperty("--to", `${100 * to}%`);
    return row;
  }));
  byId("leaks-rest").textContent = [all ? "" : rest, note].filter(Boolean).join(" ");
  const button = byId("leaks-all");
  button.hidden = values.length <= first;
  button.textContent = all ? "Show fewer" : `Show all ${values.length}`;
  button.setAttribute("aria-expanded", String(all));
}

export function showRows(rows) {
  byId("rows").replaceChildren(...rows.map(({ value, outcome }) =>
    make("tr", {}, ...[value, outcome].map((name) => make("td", { title: name }, make("span", { className: "clamp", textContent: name }))))));
}

export function showLost({ words, bars }) {
  byId("lost").textContent = words;
  byId("lost-bars").replaceChildren(...bars.map(({ name, rows, share }) => {
    const row = make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: rows }));
    row.style.setProperty("--to", `${100 * Math.min(1, share)}%`);
    return row;
  }));
}
