// The other columns of an opened table: what goes out beside the secret, counted here and sent as counts.

import { byId, download, make, say, showError } from "./dom.js";
import { EMPTY } from "./text.js";

const CHOICES = [["drop", "dropped"], ["given", "given"], ["unrelated", "unrelated"]];
const MOST = 2000;

export class OtherColumns {
  constructor(changed) {
    this.changed = changed;
    byId("row-files").addEventListener("click", (event) => {
      const file = this.files?.[event.target.dataset?.rowFile];
      if (!file) return;
      download(file.name, file.type, file.text);
      say(`${file.name} is ready.`);
    });
    this.clear();
  }

  clear() {
    this.source = null;
    byId("others").hidden = true;
    this.told(null);
  }

  // A column of a table was taken for the secret.
  of(file, table, place, domain) {
    this.source = { file, table, place, domain };
    this.chosen = table.names.map(() => "drop");
    byId("others").hidden = table.names.length < 2;
    byId("others").open = true;
    byId("other-rows").replaceChildren(...table.names.flatMap((name, column) => {
      if (column === place) return [];
      const select = make("select", { "aria-label": `${name} in the release` }, ...CHOICES.map(([value, textContent]) => make("option", { value, textContent })));
      select.addEventListener("change", () => { this.chosen[column] = select.value; this.changed(); });
      return [make("tr", {}, make("th", { scope: "row", textContent: name, title: name }), make("td", {}, select))];
    }));
  }

  // What the server is asked: names, and how often each value occurs in each combination of the given columns.
  asked() {
    if (!this.source) return null;
    const { file, table, place, domain } = this.source;
    const named = (what) => table.names.filter((_, column) => column !== place && this.chosen[column] === what);
    const columns = table.names.map((_, column) => column).filter((column) => column !== place && this.chosen[column] === "given");
    const found = new Map(), known = new Map(domain.labels.map((label, code) => [label, code]));
    if (columns.length) {
      for (const row of table.rows) {
        const key = columns.map((column) => row[column].trim().slice(0, 100) || EMPTY), text = JSON.stringify(key);
        if (!found.has(text)) {
          if (found.size === MOST) throw new Error(`The given columns have more than ${MOST.toLocaleString("en")} combinations. Drop some, or put numbers into bins with the command line (--coarsen).`);
          found.set(text, { key, counts: domain.labels.map(() => 0) });
        }
        found.get(text).counts[known.get(domain.find(row[place].trim() || EMPTY))]++;
      }
    }
    const groups = [...found.values()];
    return { table: file, column: table.names[place], given: named("given"), unrelated: named("unrelated"), drop: named("drop"),
      keys: groups.map(({ key }) => key), counts: groups.map(({ counts }) => counts) };
  }

  // Something was changed: what stands there is about something else until the answer comes.
  stale() {
    byId("row-command").classList.add("waits");
    for (const button of byId("row-command").querySelectorAll("button")) button.disabled = true;
  }

  told(body) {
    showError("row-error", "");
    byId("row-command").classList.remove("waits");
    const box = byId("whole-row");
    box.hidden = !body?.sentences.length;
    box.classList.toggle("beyond", Boolean(body?.beyond));
    byId("row-sentences").replaceChildren(...(body?.sentences ?? []).map((words) => make("li", { textContent: words })));
    byId("row-command").hidden = !body;
    byId("row-cli").textContent = body?.cli ?? "";
    byId("row-short-cli").textContent = body?.short_cli ?? "";
    byId("row-note").textContent = body?.note ?? "";
    this.files = body?.files;
    for (const button of byId("row-command").querySelectorAll("button")) button.disabled = !this.files;
    const spaced = body && this.source?.table.rows.find((row) => row[this.source.place].trim() !== row[this.source.place]);
    if (spaced) showError("row-error", `Cells such as "${spaced[this.source.place]}" have spaces around their value, which a release takes as part of it and refuses. Remove them from the file first.`);
  }

  failed(error) {
    this.told({ sentences: [], cli: "" });
    showError("row-error", error.message);
  }
}
