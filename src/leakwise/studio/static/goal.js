// The panel of the goal: the knob, the utility, or a mechanism that is brought.

import { byId, choose, chosen, make, showError, showOnly } from "./dom.js";
import { isWorstCase, levelOf } from "./state.js";
import { atMost, parseMatrix } from "./text.js";
import { ValueLimits } from "./values.js";

const STEPS = 1000;
// The limit for anyone: ten times the lift, unless it was set; its slider goes from the lift to a thousand times that.
const TIMES = 10, FARTHEST = 1000;
const PARAMETERS = {
  randomized_response: [["lift", "likelihood ratio e^ε", "3"], ["epsilon", "ε of local differential privacy", "1"], ["flip", "probability of a lie", "0.25"]],
  truncated_geometric: [["lift", "ratio of neighbours e^ε", "2"], ["epsilon", "ε of neighbours", "0.7"]],
  symmetric_channel: [["flip", "probability of a change", "0.25"]],
  k_singular: [["k", "number of neighbours", "2"]],
  identity: [], constant: [],
};
const LARGEST_GRID = 24;

export class GoalPanel {
  constructor(state, changed) {
    Object.assign(this, { state, changed });
    this.values = new ValueLimits(state, changed);
    this.end = 1;
    this.borders = [0];
    const slider = byId("slider");
    slider.addEventListener("input", () => this.turn());
    byId("lift").addEventListener("change", () => this.type("lift", byId("lift").value));
    for (const preset of document.querySelectorAll("[data-lift]")) preset.addEventListener("click", () => this.type("lift", preset.dataset.lift));
    byId("epsilon").addEventListener("change", () => this.type("epsilon", byId("epsilon").value));
    byId("anyone-slider").addEventListener("input", () => this.turnAnyone());
    byId("anyone").addEventListener("change", () => this.typeAnyone(byId("anyone").value));
    byId("anyone-on").addEventListener("change", () => this.setAnyone(byId("anyone-on").checked ? this.tenTimes() : null));
    for (const name of ["goal-kind", "utility"]) {
      for (const input of document.querySelectorAll(`input[name="${name}"]`)) input.addEventListener("change", () => this.read());
    }
    for (const id of ["power", "by", "then", "parameter", "parameter-value", "matrix"]) byId(id).addEventListener("change", () => this.read());
    byId("catalog").addEventListener("change", () => { this.parameters(); this.read(); });
    byId("fill").addEventListener("change", () => { this.fill(byId("fill").value); byId("fill").value = ""; });
    new ResizeObserver(() => this.ticks()).observe(byId("regions"));
    this.parameters();
  }

  // -- the knob --------------------------------------------------------------------------------------------------

  // The square gives small limits, where most is decided, more of the way.
  at(place) { return this.end * (place / STEPS) ** 2; }
  place(epsilon) { return STEPS * Math.sqrt(Math.min(1, Math.max(0, epsilon / this.end))); }

  turn() { this.turnTo(this.at(Number(byId("slider").value)), false); }

  turnTo(epsilon, moveSlider = true) {
    const before = this.tenTimes();
    this.state.level = { kind: "epsilon", value: String(Number(Math.max(0, epsilon).toFixed(4))) };
    this.followed(before);
    this.reading(moveSlider);
    this.changed({ turning: true });
  }

  type(kind, text) {
    const value = Number(text.trim().replace(",", "."));
    const least = kind === "lift" ? 1 : 0;
    if (!text.trim() || !(value >= least) || !Number.isFinite(value)) {
      showError("limit-error", kind === "lift" ? `The limit must be a number of at least 1 (1 reveals nothing). Got "${text}".`
        : `ε must be a number of at least 0 (0 reveals nothing). Got "${text}".`);
      byId(kind).setAttribute("aria-invalid", "true");
      return;
    }
    const before = this.tenTimes();
    this.state.level = { kind, value: text.trim().replace(",", ".") };
    this.followed(before);
    this.reading();
    this.changed({ settled: true });
  }

  reading(moveSlider = true) {
    const epsilon = levelOf(this.state);
    const { kind, value } = this.state.level;
    byId("lift").value = kind === "lift" ? value : atMost(Math.exp(epsilon));
    byId("epsilon").value = kind === "epsilon" ? value : atMost(epsilon);
    for (const id of ["lift", "epsilon"]) byId(id).removeAttribute("aria-invalid");
    showError("limit-error", "");
    const slider = byId("slider");
    if (moveSlider) slider.value = String(Math.round(this.place(epsilon)));
    slider.style.setProperty("--at", `${(100 * Number(slider.value)) / STEPS}%`);
    const region = this.borders.filter((border) => epsilon >= border - 1e-9).length;
    const zeros = region - 1;
    // Worst-case answers, and a mechanism that is brought, have no limit for anyone.
    const kept = this.state.anyone !== null && this.state.goal.kind === "design" && !isWorstCase(this.state);
    const ruled = kept || zeros === 0 ? "no outcome rules a value out" : `an outcome may rule out at most ${zeros === 1 ? "1 value" : `${zeros} values`}`;
    const words = epsilon >= this.end - 1e-9 && !kept ? "Nothing is hidden any more: the secret itself may be released."
      : `Privacy region ${region} of ${this.borders.length}: ${ruled}.`;
    byId("region").textContent = words;
    for (const preset of document.querySelectorAll("[data-lift]")) preset.setAttribute("aria-pressed", String(Number(preset.dataset.lift) === Number(byId("lift").value)));
    this.readAnyone();
    slider.setAttribute("aria-valuetext", `ε ${atMost(epsilon)}: at most ${byId("lift").value} times as likely. ${words}`);
  }

  // -- the second limit, for anyone ---------------------------------------------------------------------------------

  // What the limit is at every point of the trade-off: as long as it follows, it moves with the point.
  forCurve() { return this.state.anyone === this.tenTimes() ? "ten times" : this.state.anyone; }

  tenTimes() { return String(Number((TIMES * Math.exp(levelOf(this.state))).toPrecision(4))); }

  // It follows the first one as long as it is ten times that.
  followed(before) {
    if (this.state.anyone !== null && this.state.anyone === before) this.state.anyone = this.tenTimes();
  }

  setAnyone(text) {
    this.state.anyone = text;
    this.reading();
    this.changed({ settled: true });
  }

  typeAnyone(text) {
    const value = Number(text.trim().replace(",", "."));
    if (text.trim() && value >= 1 && Number.isFinite(value)) { this.setAnyone(text.trim().replace(",", ".")); return; }
    showError("limit-error", `The limit for anyone must be a number of at least 1. Got "${text}".`);
    byId("anyone").setAttribute("aria-invalid", "true");
  }

  turnAnyone() {
    const share = Number(byId("anyone-slider").value) / STEPS;
    this.state.anyone = String(Number((Math.exp(levelOf(this.state)) * FARTHEST ** share).toPrecision(3)));
    this.readAnyone(false);
    this.changed({ turning: true });
  }

  readAnyone(moveSlider = true) {
    const { anyone } = this.state, slider = byId("anyone-slider"), off = anyone === null;
    byId("anyone-on").checked = !off;
    byId("second-limit").hidden = slider.hidden = isWorstCase(this.state) || this.state.goal.kind !== "design";
    byId("anyone").disabled = slider.disabled = off;
    byId("anyone").value = off ? "any number of" : anyone;
    byId("anyone").removeAttribute("aria-invalid");
    const share = off ? 1 : Math.log(Number(anyone) / Math.exp(levelOf(this.state))) / Math.log(FARTHEST);
    if (moveSlider) slider.value = String(Math.round(STEPS * Math.min(1, Math.max(0, share))));
    slider.style.setProperty("--at", `${(100 * Number(slider.value)) / STEPS}%`);
    slider.setAttribute("aria-valuetext", off ? "no limit for anyone" : `at most ${anyone} times as likely for anyone`);
  }

  setRange(end, borders) {
    this.end = end || 1;
    this.borders = borders;
    byId("slider").disabled = !end;
    this.ticks();
    this.reading();
  }

  ticks() {
    const svg = byId("regions"), name = "http://www.w3.org/2000/svg";
    const width = svg.clientWidth, thumb = 11;
    if (!width) return;
    const x = (epsilon) => thumb + ((width - 2 * thumb) * this.place(epsilon)) / STEPS;
    const shapes = [];
    this.borders.forEach((border, place) => {
      const next = this.borders[place + 1] ?? this.end;
      if (place % 2 === 0) {
        const band = document.createElementNS(name, "rect");
        for (const [key, value] of Object.entries({ x: x(border), y: 3, width: Math.max(0, x(next) - x(border)), height: 8 })) band.setAttribute(key, value);
        shapes.push(band);
      }
      const tick = document.createElementNS(name, "line");
      for (const [key, value] of Object.entries({ x1: x(border), x2: x(border), y1: 1, y2: 13 })) tick.setAttribute(key, value);
      shapes.push(tick);
    });
    svg.replaceChildren(...shapes);
  }

  // -- the rest --------------------------------------------------------------------------------------------------

  show() {
    const { goal } = this.state;
    choose("goal-kind", goal.kind);
    if (goal.kind === "design") {
      const { utility } = goal;
      choose("utility", utility.kind === "named" ? utility.name : utility.kind);
      if (utility.kind === "distance") byId("power").value = String(utility.power);
      if (utility.kind === "worst_case") { byId("by").value = utility.by; byId("then").value = utility.then; }
    } else {
      const { source } = goal;
      byId("catalog").value = source.kind === "matrix" ? "matrix" : source.name;
      this.parameters();
      if (source.kind === "catalog" && source.parameter !== "none") { byId("parameter").value = source.parameter; byId("parameter-value").value = source.value; }
      if (source.kind === "matrix") byId("matrix").value = [...(source.outputs ? [source.outputs] : []), ...source.rows].map((row) => row.join(", ")).join("\n");
    }
    this.values.show();
    this.visible();
    this.reading();
  }

  visible() {
    this.readAnyone();
    this.values.visible();
    showOnly("data-goal", chosen("goal-kind"));
    showOnly("data-utility", chosen("utility"));
    if (chosen("goal-kind") === "design" && isWorstCase(this.state)) this.grid();
  }

  parameters() {
    const name = byId("catalog").value;
    const known = PARAMETERS[name] ?? [];
    byId("parameter-fields").hidden = !known.length;
    byId("matrix-field").hidden = name !== "matrix";
    byId("parameter").replaceChildren(...known.map(([key, words]) => make("option", { value: key, textContent: words })));
    if (known.length) byId("parameter-value").value = known[0][2];
    if (name === "matrix" && !byId("matrix").value.trim()) byId("matrix").value = this.square((i, j, n) => (n === 1 ? 1 : i === j ? 0.7 : 0.3 / (n - 1)));
  }

  square(entry) {
    const size = this.state.prior.labels.length;
    const cell = (i, j) => String(Number(entry(i, j, size).toPrecision(12)));
    return Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => cell(i, j)).join(", ")).join("\n");
  }

  read() {
    showError("goal-error", "");
    try {
      this.state.goal = chosen("goal-kind") === "design" ? { kind: "design", utility: this.utility() } : { kind: "mechanism", source: this.source() };
    } catch (error) {
      showError("goal-error", error.message);
      this.visible();
      return;
    }
    this.visible();
    this.changed({ settled: true });
  }

  utility() {
    const kind = chosen("utility");
    if (kind === "distance") return { kind, power: Number(byId("power").value) };
    if (kind !== "worst_case") return { kind: "named", name: kind };
    if (isWorstCase(this.state)) return { ...this.state.goal.utility, by: byId("by").value, then: byId("then").value };
    // The least leakage for the best level is often a constant answer: what is left of the limit goes to information.
    byId("then").value = this.state.prior.sample ? "nothing" : "mutual_information";
    return { kind, matrix: this.worth("steps"), by: byId("by").value, then: byId("then").value };
  }

  source() {
    const name = byId("catalog").value;
    if (name === "matrix") return { kind: "matrix", ...parseMatrix(byId("matrix").value) };
    if (!PARAMETERS[name].length) return { kind: "catalog", name, parameter: "none", value: "" };
    return { kind: "catalog", name, parameter: byId("parameter").value, value: byId("parameter-value").value };
  }

  // When the values of the secret change in number, a matrix that was made for the old ones is made again.
  fitToPrior() {
    const size = this.state.prior.labels.length;
    const { goal } = this.state;
    this.values.fit();
    if (isWorstCase(this.state) && goal.utility.matrix.length !== size) {
      goal.utility = { ...goal.utility, matrix: this.worth("steps"), outputs: null };
    }
    if (isWorstCase(this.state)) this.grid();
  }

  worth(kind) {
    const size = this.state.prior.labels.length;
    const entry = { steps: (i, j) => -Math.abs(i - j), squares: (i, j) => -((i - j) ** 2), agree: (i, j) => (i === j ? 1 : 0) }[kind];
    return Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => String(entry(i, j) + 0)));
  }

  fill(kind) {
    if (!kind || !isWorstCase(this.state)) return;
    this.state.goal.utility = { ...this.state.goal.utility, matrix: this.worth(kind), outputs: null };
    this.grid();
    this.changed({ settled: true });
  }

  grid() {
    const { utility } = this.state.goal, { labels } = this.state.prior;
    const box = byId("worth");
    if (labels.length > LARGEST_GRID) {
      const text = make("textarea", { rows: 10, value: utility.matrix.map((row) => row.join(", ")).join("\n"), "aria-labelledby": "worth-title" });
      text.addEventListener("change", () => {
        utility.matrix = text.value.trim().split("\n").map((line) => line.split(",").map((cell) => cell.trim()));
        this.changed({ settled: true });
      });
      box.replaceChildren(text);
      return;
    }
    const names = utility.outputs ?? (utility.matrix[0].length === labels.length ? labels : utility.matrix[0].map((_, j) => String(j)));
    const head = make("tr", {}, make("th"), ...names.map((name) => make("th", { scope: "col", textContent: name, title: name })));
    const rows = utility.matrix.map((row, i) => make("tr", {}, make("th", { scope: "row", textContent: labels[i], title: labels[i] }),
      ...row.map((value, j) => {
        const input = make("input", { value, autocomplete: "off", "aria-label": `Worth of ${names[j]} for ${labels[i]}` });
        input.addEventListener("change", () => { utility.matrix[i][j] = input.value; this.changed({ settled: true }); });
        return make("td", {}, input);
      })));
    box.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }
}
