// The panel of the prior: typed, pasted, counted from a file, or an example; and the set that a sample leaves.

import { byId, choose, chosen, make, say, showError, showOnly } from "./dom.js";
import { countColumn, EMPTY, parseCsv, parseDomain, short, suggestedBins } from "./text.js";

export class PriorPanel {
  constructor(state, changed, others, named) {
    Object.assign(this, { state, changed, others, named });
    this.table = null; // of a CSV file: it stays in the page
    this.examples = [];
    for (const input of document.querySelectorAll('input[name="prior-source"]')) {
      input.addEventListener("change", () => this.showSource(input.value));
    }
    for (const input of document.querySelectorAll('input[name="prior-kind"]')) {
      input.addEventListener("change", () => this.edit((prior) => { prior.kind = input.value; }));
    }
    byId("add-row").addEventListener("click", () => {
      this.state.prior.labels.push("");
      this.state.prior.values.push("");
      this.rows();
      byId("prior-rows").lastElementChild.querySelector("input").focus();
    });
    byId("example").addEventListener("change", () => this.exampleWords());
    byId("take-example").addEventListener("click", () => this.takeExample());
    byId("csv-file").addEventListener("change", () => this.openFile(byId("csv-file").files[0]));
    byId("csv-column").addEventListener("change", () => this.attempt(() => this.suggest()));
    byId("count").addEventListener("click", () => this.attempt(() => this.count()));
    byId("suggest").addEventListener("click", () => this.attempt(() => this.suggest()));
    byId("sampled").addEventListener("change", () => this.sample());
    for (const id of ["sample-size", "failure", "method"]) byId(id).addEventListener("change", () => this.sample());
  }

  // -- showing ---------------------------------------------------------------------------------------------------

  showSource(source) {
    choose("prior-source", source);
    showOnly("data-source", source);
    showError("prior-error", "");
  }

  show() {
    const { prior } = this.state;
    choose("prior-kind", prior.kind);
    byId("number-title").textContent = prior.kind === "counts" ? "count" : "probability";
    const sample = prior.sample;
    byId("sampled").checked = Boolean(sample);
    if (sample) {
      byId("sample").open = true;
      byId("failure").value = sample.failure;
      byId("method").value = sample.method;
      if (prior.kind === "probabilities") byId("sample-size").value = sample.size ?? "";
    }
    this.sampleFields();
    this.rows();
  }

  rows() {
    const { labels, values } = this.state.prior;
    byId("prior-rows").replaceChildren(...labels.map((label, place) => this.row(label, values[place], place)));
    this.shares();
  }

  row(label, value, place) {
    const name = make("input", { value: label, autocomplete: "off", "aria-label": `Value ${place + 1}` });
    const number = make("input", { value, className: "number", inputMode: "decimal", autocomplete: "off" });
    const remove = make("button", { type: "button", className: "bare", textContent: "×" });
    const names = () => {
      number.setAttribute("aria-label", `Number of ${name.value || `value ${place + 1}`}`);
      remove.setAttribute("aria-label", `Remove ${name.value || `value ${place + 1}`}`);
    };
    names();
    name.addEventListener("input", () => { names(); this.edit((prior) => { prior.labels[place] = name.value; }, false); });
    number.addEventListener("input", () => this.edit((prior) => { prior.values[place] = number.value; }, false));
    name.addEventListener("paste", (event) => this.pasteRows(event));
    remove.addEventListener("click", () => {
      if (this.state.prior.labels.length === 1) { showError("prior-error", "A secret needs at least one value."); return; }
      this.edit((prior) => { prior.labels.splice(place, 1); prior.values.splice(place, 1); });
    });
    return make("tr", {}, make("td", {}, name), make("td", {}, number), make("td", {}, remove));
  }

  // Two columns of a spreadsheet pasted into a name fill the table.
  pasteRows(event) {
    const lines = event.clipboardData.getData("text").trim().split(/\r?\n/).map((line) => line.split(/\t|;/));
    if (lines.length < 2 || lines.some((line) => line.length !== 2)) return;
    event.preventDefault();
    this.edit((prior) => {
      prior.labels = lines.map(([name]) => name.trim());
      prior.values = lines.map(([, value]) => value.trim());
      delete prior.origin;
    });
  }

  shares() {
    const numbers = this.state.prior.values.map((text) => {
      const [top, bottom] = text.split("/").map(Number);
      return bottom ? top / bottom : top;
    });
    const most = Math.max(...numbers.filter(Number.isFinite), 0) || 1;
    [...byId("prior-rows").children].forEach((row, place) => {
      const share = Number.isFinite(numbers[place]) ? (100 * numbers[place]) / most : 0;
      row.style.setProperty("--share", `${share}%`);
    });
  }

  facts(facts) {
    const parts = [`${facts.labels.length} values`];
    if (facts.sample_size) parts.push(`${this.state.prior.origin === "table" ? "counted from your table of" : "from"} ${facts.sample_size.toLocaleString("en")} rows`);
    parts.push(`ε max ${short(facts.epsilon_max)}`);
    if (facts.never.length) parts.push(`never seen: ${facts.never.slice(0, 4).join(", ")}`);
    byId("prior-facts").textContent = parts.join(" · ");
    byId("set-words").textContent = facts.set?.words ?? "";
    showError("prior-error", "");
  }

  // -- changing --------------------------------------------------------------------------------------------------

  edit(change, redraw = true) {
    change(this.state.prior);
    if (redraw) this.show();
    else this.shares();
    this.changed();
  }

  attempt(action) {
    try {
      showError("prior-error", "");
      action();
    } catch (error) {
      showError("prior-error", error.message);
    }
  }

  take(kind, labels, values, words, origin = "given") {
    if (labels.length > 100) throw new Error(`${labels.length} values are more than the page takes (100). Group some of them.`);
    this.state.prior = { kind, labels, values, ...(origin === "table" ? { origin } : {}), ...(this.state.prior.sample && kind === "counts" ? { sample: { ...this.state.prior.sample, size: null } } : {}) };
    this.others.clear(); // they were those of another secret
    if (this.opened) this.named("", "");
    this.opened = false;
    this.show();
    this.showSource("type");
    say(words);
    this.changed();
  }

  setExamples(examples) {
    this.examples = examples;
    byId("example").append(...examples.map(({ key, name }) => make("option", { value: key, textContent: name })),
      make("option", { value: "uniform", textContent: "Uniform over N values" }));
    this.exampleWords();
  }

  exampleWords() {
    const found = this.examples.find(({ key }) => key === byId("example").value);
    byId("uniform-field").hidden = Boolean(found);
    byId("example-words").textContent = found ? found.words : "Every value as likely as any other: an assumption, like any other.";
  }

  takeExample() {
    const found = this.examples.find(({ key }) => key === byId("example").value);
    this.attempt(() => {
      if (found) { this.take("counts", [...found.labels], [...found.values], `${found.name} taken.`); return; }
      const size = Number(byId("uniform-size").value);
      if (!Number.isInteger(size) || size < 1 || size > 100) throw new Error("The number of values must be from 1 to 100.");
      this.take("probabilities", Array.from({ length: size }, (_, k) => String(k)), Array(size).fill(`1/${size}`), "Uniform prior taken.");
    });
  }

  async openFile(file) {
    if (!file) return;
    try {
      showError("prior-error", "");
      if (file.size > 100_000_000) throw new Error("The file is larger than 100 MB. Count it with the library: lw.Prior.from_data.");
      const rows = parseCsv(await file.arrayBuffer(), file.name);
      if (rows.length < 2) throw new Error("The file needs a line of names and at least one row.");
      this.table = { file: file.name, names: rows[0].map((name, place) => name || `column ${place + 1}`), rows: rows.slice(1) };
      byId("csv-column").replaceChildren(...this.table.names.map((textContent, value) => make("option", { value, textContent })));
      byId("csv-column").value = String(this.likeliest());
      byId("csv-column-field").hidden = false;
      this.attempt(() => this.suggest());
      say(`${file.name}: ${this.table.rows.length} rows, ${rows[0].length} columns. Choose the secret, and confirm its values.`);
    } catch (error) {
      this.table = null;
      showError("prior-error", error.message);
    }
  }

  // The last column with few values: where a secret is most often found.
  likeliest() {
    const few = this.table.names.map((_, place) => new Set(this.table.rows.slice(0, 5000).map((row) => row[place])).size);
    const found = few.findLastIndex((size) => size > 1 && size <= 30);
    return Math.max(0, found);
  }

  cells() {
    if (chosen("prior-source") === "paste") {
      const lines = byId("pasted").value.replace(/\n+$/, "").split("\n");
      if (lines.length === 1 && !lines[0].trim()) throw new Error("Paste the column first.");
      return lines;
    }
    if (!this.table) throw new Error("Open a CSV file first.");
    const place = Number(byId("csv-column").value);
    const broken = this.table.rows.findIndex((row) => row.length !== this.table.names.length);
    if (broken >= 0) throw new Error(`Line ${broken + 2} does not have ${this.table.names.length} cells, as the first one has.`);
    return this.table.rows.map((row) => row[place]);
  }

  count() {
    const cells = this.cells(), domain = parseDomain(byId("domain").value), counts = countColumn(cells, domain);
    const total = [...counts.values()].reduce((sum, one) => sum + one, 0), labels = [...counts.keys()];
    const words = `${total.toLocaleString("en")} rows counted.`;
    const opened = chosen("prior-source") === "csv";
    if (chosen("prior-from") === "rows") this.take("counts", labels, [...counts.values()].map(String), words, "table");
    else this.take("probabilities", labels, labels.map(() => `1/${labels.length}`), words);
    if (!opened) return;
    const place = Number(byId("csv-column").value);
    this.others.of(this.table.file, this.table, place, domain);
    this.named(this.table.file, this.table.names[place]);
    this.opened = true;
  }

  suggest() {
    const bins = suggestedBins(this.cells());
    if (bins) {
      byId("domain").value = bins;
      say("The column contains numbers: bins were filled in. Change them if others could occur.");
      return;
    }
    const found = [...new Set(this.cells().map((cell) => cell.trim() || EMPTY))].sort();
    if (found.length > 100) throw new Error(`${found.length} different values are more than the page takes (100). Group some of them, or use bins for numbers: "bins: 0, 100, 10".`);
    byId("domain").value = found.join("\n");
    say(`${found.length} values occur. Could others occur? Add them.`);
  }

  // -- a sample --------------------------------------------------------------------------------------------------

  sampleFields() {
    const counted = this.state.prior.kind === "counts";
    byId("sample-fields").hidden = !byId("sampled").checked;
    const size = byId("sample-size");
    size.disabled = counted;
    if (counted) size.value = this.state.prior.values.reduce((sum, text) => sum + (Number(text) || 0), 0);
  }

  sample() {
    this.sampleFields();
    const { prior } = this.state;
    if (!byId("sampled").checked) delete prior.sample;
    else {
      const size = Number(byId("sample-size").value);
      prior.sample = { failure: byId("failure").value, method: byId("method").value,
        size: prior.kind === "counts" || !Number.isInteger(size) || size < 1 ? null : size };
    }
    if (!prior.sample) byId("set-words").textContent = "";
    this.changed();
  }
}
