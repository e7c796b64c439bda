// The answer as it comes: the guarantee, the figures, the pictures, and what to export.

import { clear, draw, setMarks } from "./charts.js";
import { byId, chosen, make, say, showError } from "./dom.js";
import { showLeaks, showLost, showRows } from "./parts.js";

export class AnswerPanel {
  constructor() {
    this.clear();
    for (const input of document.querySelectorAll('input[name="view"]')) input.addEventListener("change", () => this.body && this.mechanism());
    byId("numbers").addEventListener("toggle", () => this.table());
    byId("leaks-all").addEventListener("click", () => { this.all = !this.all; showLeaks(this.body.leaks, this.all); });
  }

  busy(stage, done = null) {
    byId("busy").hidden = !stage;
    if (!stage) return;
    byId("stage").textContent = stage;
    const bar = byId("bar");
    if (done === null || done === undefined) bar.removeAttribute("value");
    else bar.value = done;
  }

  // What is on the screen is about an earlier input: it is paler, and its seal says so.
  stale(is) {
    byId("found").classList.toggle("stale", is);
    for (const id of ["pictures", "more"]) byId(id).classList.toggle("stale", is);
    const badge = byId("seal").querySelector("b");
    if (is && badge) badge.textContent = "Out of date";
  }

  // Nothing that was found for other data stays on the screen.
  clear() {
    this.body = null;
    byId("answer").classList.remove("broken");
    byId("promise").textContent = "…";
    say("");
    this.all = false;
    for (const id of ["seal", "figures", "sentences", "numbers-table", "leaks", "leaks-rest", "rows", "lost", "lost-bars"]) byId(id).replaceChildren();
    byId("leaks-all").hidden = true;
    for (const id of ["notes", "prior-note"]) byId(id).hidden = true;
    for (const id of ["mechanism", "outcomes", "beliefs", "tradeoff", "steps", "envelope"]) clear(`chart-${id}`);
  }

  failed(error) {
    this.stale(true);
    showError("answer-error", error.message);
  }

  async show(body, drawn) {
    this.body = body.draft ? { ...this.body, ...body, matrix: { ...this.body?.matrix, ...body.matrix } } : body;
    showError("answer-error", "");
    byId("found").classList.remove("stale");
    byId("promise").textContent = body.promise;
    this.seal(body);
    this.figures(body);
    showLeaks(body.leaks, this.all);
    showRows(body.rows);
    showLost(body.lost);
    setMarks("chart-tradeoff", this.marks());
    await this.mechanism();
    document.body.dataset.answered = "yes";
    drawn();
    // What does not follow the knob at every turn waits, a little paler, until it rests.
    for (const id of ["more", "take"]) byId(id).classList.toggle("turning", body.draft);
    if (body.draft) return;
    this.stale(false);
    byId("sentences").replaceChildren(...body.sentences.map((words) => make("li", { textContent: words })));
    byId("figure-worth").hidden = !body.worth.length;
    byId("worth-rows").replaceChildren(...body.worth.map(({ name, ours, other }) =>
      make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: ours }), make("td", { textContent: other }))));
    this.code(body.code);
    for (const [name, words] of Object.entries(body.captions)) byId(`caption-${name}`).textContent = words;
    const pictures = [draw("chart-outcomes", body.charts.outcomes)];
    byId("figure-beliefs").hidden = !body.charts.beliefs;
    if (body.charts.beliefs) pictures.push(draw("chart-beliefs", body.charts.beliefs));
    await Promise.all(pictures);
    say(`${body.promise} ${body.certificate.words}`);
  }

  // The circle and the line of the trade-off.
  marks() {
    return { current: this.body?.point, limit: this.body?.limit };
  }

  seal({ certificate, about_prior: about, notes, draft }) {
    const seal = byId("seal");
    byId("answer").classList.toggle("broken", !certificate.holds);
    seal.className = `seal ${certificate.state === "Proven" ? "" : "draft"}`;
    seal.replaceChildren(make("b", { textContent: certificate.state }), make("span", { textContent: certificate.words }));
    byId("prior-note").hidden = !about;
    byId("prior-note").className = certificate.state === "Proven" ? "hint" : "note";
    byId("prior-note").textContent = about;
    byId("notes").hidden = !notes.length || draft;
    byId("notes").textContent = notes.join(" ");
  }

  figures({ figures, draft }) {
    const tile = ({ name, value, note }) =>
      make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }), make("dd", { textContent: note }));
    const box = byId("figures");
    if (!draft) { box.replaceChildren(...figures.map(tile)); return; }
    figures.forEach((figure, place) => {
      if (box.children[place]) box.children[place].replaceWith(tile(figure));
      else box.append(tile(figure));
    });
    for (const other of [...box.children].slice(figures.length)) other.className = "old";
  }

  async mechanism() {
    const { mechanism, lifts } = this.body.matrix;
    this.shown = (chosen("view") === "lifts" && lifts) || mechanism || lifts;
    byId("view").hidden = lifts === null;
    byId("caption-mechanism").textContent = this.shown.words;
    await draw("chart-mechanism", this.shown.chart);
    this.table();
  }

  // The same numbers for those who do not see the colours, or want the exact ones.
  table() {
    const values = this.body?.matrix.mechanism?.chart.data.values ?? [];
    byId("numbers").hidden = !values.length;
    if (!values.length || !byId("numbers").open) return;
    const columns = values.findIndex((one) => one.r !== values[0].r);
    const names = values.slice(0, columns < 0 ? values.length : columns).map((one) => one.o ?? one.c);
    const head = make("tr", {}, make("th", { scope: "col", textContent: "value" }),
      ...names.map((name) => make("th", { scope: "col", title: name }, make("span", { className: "name", textContent: name }))));
    const body = [];
    for (let place = 0; place < values.length; place += names.length) {
      body.push(make("tr", {}, make("th", { scope: "row", textContent: values[place].r, title: values[place].r }),
        ...values.slice(place, place + names.length).map((one) => make("td", { textContent: one.t, title: one.exact ?? "" }))));
    }
    byId("numbers-table").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  async envelope({ chart, words }) {
    if (chart) await draw("chart-envelope", chart);
    else clear("chart-envelope", words);
  }

  code({ python, cli, cli_note: note }) {
    byId("python").textContent = python;
    byId("cli").textContent = cli ?? "";
    byId("cli").parentElement.hidden = !cli;
    byId("cli-note").textContent = note;
    document.querySelector('[data-copy="cli"]').hidden = !cli;
  }
}
