// The page as a whole: panels, the state, and when what is solved again.

import { AnswerPanel } from "./answer.js";
import { file, Panel, start } from "./api.js";
import { clear, draw, loadVega, setLook, valueAt } from "./charts.js";
import { byId, chosen, download, say, showError } from "./dom.js";
import { GoalPanel } from "./goal.js";
import { OtherColumns } from "./others.js";
import { PriorPanel } from "./prior.js";
import { FurtherSecrets } from "./several.js";
import { Trial } from "./trial.js";
import { checked, DEFAULT, exported, fromFragment, hasSteps, isWorstCase, OtherVersion, toFragment } from "./state.js";

const SETTLED = 300; // milliseconds without a change after which a full solve begins

const state = structuredClone(DEFAULT);
let example = DEFAULT; // what the page begins with
const answer = new AnswerPanel();
const trial = new Trial();
const others = new OtherColumns(() => beside());
const prior = new PriorPanel(state, () => changed({ prior: true }), others, (table, column) => further.of(table, column));
const goal = new GoalPanel(state, changed);
const further = new FurtherSecrets(state, () => { keep(); together(); });
// What is solved: the further secrets of a row change nothing about the answer.
const solved = () => ({ ...structuredClone(state), row: null });

// ------------------------------------------------------------------------------------------------------- solving

let full = 0, keeping = 0, busyTimer = 0;
const done = { tradeoff: "", steps: "" }; // what the curves on the screen were drawn for

const panels = {
  prior: new Panel("prior", {
    part: ({ body }) => { prior.facts(body); goal.setRange(body.epsilon_max, body.regions); },
    failed: (error) => {
      showError("prior-error", error.message);
      byId("prior-facts").textContent = "";
      answer.stale(true);
    },
  }),
  answer: new Panel("answer", {
    part: async ({ name, body }) => {
      if (name === "envelope") { await answer.envelope(body); return; }
      await answer.show(body, () => mark("picture"));
      if (body.draft) return;
      trial.of(body.trial);
      beside();
      curves();
    },
    progress: ({ stage, done: share }) => answer.busy(stage, share),
    failed: (error, asked) => {
      if (JSON.stringify(asked.state) !== JSON.stringify(solved())) return; // of an input that is no longer there
      if (error.about !== "prior") answer.failed(error);
      else { showError("prior-error", error.message); answer.stale(true); }
    },
    ended: () => {
      clearTimeout(busyTimer);
      answer.busy(null);
      document.body.dataset.answered = "yes"; // or why there is no answer
      if (!full) document.body.dataset.idle = "yes"; // for the tests: nothing is on its way
    },
  }),
  row: new Panel("row", {
    part: ({ body }) => others.told(body),
    failed: (error) => others.failed(error),
  }),
  several: new Panel("several", {
    part: ({ body }) => { if (further.any) further.told(body); },
    failed: (error) => { if (further.any) further.failed(error); },
  }),
  tradeoff: new Panel("tradeoff", {
    part: ({ body }) => {
      byId("caption-tradeoff").textContent = body.words;
      return draw("chart-tradeoff", body.chart, answer.marks());
    },
    failed: (error) => { clear("chart-tradeoff"); showError("tradeoff-error", error.message); },
  }),
  steps: new Panel("steps", {
    part: async ({ body }) => {
      byId("caption-steps").textContent = body.free === null ? "The best level of the worst answer at each leakage."
        : `The best level of the worst answer at each leakage. Up to level ${body.free} a constant answer keeps it: that costs nothing.`;
      await draw("chart-steps", body.chart);
    },
    failed: (error) => { clear("chart-steps"); showError("steps-error", error.message); },
  }),
};

function ask(draft) {
  clearTimeout(busyTimer);
  busyTimer = setTimeout(() => answer.busy("solving"), 400);
  panels.answer.ask({ state: solved(), draft, view: chosen("view") });
}

function keep() {
  clearTimeout(keeping);
  keeping = setTimeout(() => history.replaceState(null, "", toFragment(state)), 150);
}

// What all secrets of a row tell together, where there are several.
function together() {
  if (further.any) panels.several.ask({ state: structuredClone(state), draft: true }); // quick: each is let finish
  else { panels.several.stop(); further.told({ words: null }); }
}

// What goes out beside the secret, where a table is open.
function beside() {
  others.stale();
  try {
    const asked = others.asked();
    if (asked) panels.row.ask({ state: solved(), others: asked });
  } catch (error) {
    others.failed(error);
  }
}

// While the knob turns, quick drafts follow it; the full solve begins when it rests.
function changed({ turning = false, settled = false, prior: priorChanged = false } = {}) {
  delete document.body.dataset.idle;
  others.stale();
  keep();
  together();
  if (priorChanged) {
    goal.fitToPrior();
    panels.prior.ask({ state: solved() });
  }
  byId("figure-tradeoff").hidden = isWorstCase(state);
  byId("figure-steps").hidden = !hasSteps(state);
  for (const what of ["utility", "matrix"]) {
    const { utility, source } = state.goal;
    const there = what === "utility" ? utility && utility.kind !== "named" : source?.kind === "matrix";
    document.querySelector(`[data-file="${what}"]`).hidden = !there;
  }
  clearTimeout(full);
  if (turning) { mark("turn"); ask(true); }
  full = setTimeout(() => { full = 0; ask(false); }, settled ? 0 : SETTLED);
}

// The curves do not depend on where the knob stands, so they are drawn again only for another prior, utility or further
// limit.
function curves() {
  const key = JSON.stringify([state.prior, state.goal, goal.forCurve(), state.values]);
  if (!isWorstCase(state) && done.tradeoff !== key) {
    done.tradeoff = key;
    showError("tradeoff-error", "");
    clear("chart-tradeoff", "…");
    panels.tradeoff.ask({ state: solved() });
  }
  if (hasSteps(state) && done.steps !== key) {
    done.steps = key;
    showError("steps-error", "");
    panels.steps.ask({ state: solved() });
  }
}

// Times that the tests and the curious read from the browser's own list.
const mark = (name) => performance.mark(`leakwise-${name}`);

// The limit can be taken from the curve: press and drag. The knob does the same by keyboard.
const curve = byId("chart-tradeoff");
function drag(event) {
  const epsilon = event.buttons & 1 ? valueAt("chart-tradeoff", event) : null;
  if (epsilon !== null) goal.turnTo(epsilon);
}
curve.addEventListener("pointerdown", (event) => { curve.setPointerCapture(event.pointerId); drag(event); });
curve.addEventListener("pointermove", drag);

// ---------------------------------------------------------------------------------------------- the state as file

function adopt(given) {
  const next = structuredClone(checked(given));
  for (const panel of Object.values(panels)) panel.stop();
  Object.assign(state, next);
  Object.assign(done, { tradeoff: "", steps: "" });
  answer.clear();
  trial.of(null);
  others.clear();
  delete document.body.dataset.damaged;
  prior.show();
  goal.show();
  further.show();
  document.body.dataset.ready = "yes";
  changed({ settled: true, prior: true });
}

byId("export").addEventListener("click", () => {
  download("leakwise-studio.json", "application/json", exported(state));
  say("The state was exported.");
});
byId("import").addEventListener("click", () => byId("import-file").click());
byId("import-file").addEventListener("change", async () => {
  const [given] = byId("import-file").files;
  if (!given) return;
  try {
    adopt(JSON.parse(await given.text()));
    say("The state was imported.");
  } catch (error) {
    showError("answer-error", `${given.name} cannot be imported. ${error instanceof SyntaxError ? "It is not a JSON file." : error.message}`);
  }
  byId("import-file").value = "";
});
byId("cancel").addEventListener("click", () => { panels.answer.stop(); say("Stopped."); });

byId("files").addEventListener("click", async (event) => {
  const what = event.target.dataset?.file;
  if (!what) return;
  event.target.disabled = true;
  showError("take-error", "");
  try {
    const { name, type, text } = await file(solved(), what);
    download(name, type, text);
    say(`${name} is ready.`);
  } catch (error) {
    showError("take-error", error.message);
  } finally {
    event.target.disabled = false;
  }
});

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    const words = button.textContent;
    button.textContent = "Copied";
    say("Copied.");
    setTimeout(() => { button.textContent = words; }, 1500);
  } catch {
    showError("take-error", "The browser does not allow copying here. Select the text and copy it by hand.");
  }
}
byId("link").addEventListener("click", (event) => copy(location.origin + location.pathname + toFragment(state), event.target));
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copy(byId(button.dataset.copy).textContent, button));
}

// A link that was cut or changed on its way: nothing is shown in its place, since it would be about other data.
function damaged(error) {
  for (const panel of Object.values(panels)) panel.stop();
  clearTimeout(full);
  clearTimeout(keeping);
  full = 0;
  answer.clear();
  answer.busy(null);
  const words = error instanceof OtherVersion ? `This link cannot be read. ${error.message}` : `This link is damaged: ${error.message}`;
  showError("answer-error", `${words} Nothing was computed. Ask for the link again, or import the exported file.`);
  document.body.dataset.damaged = "yes";
  document.body.dataset.idle = "yes";
}

// The state that the address holds; null for an address without one; undefined, and said so, for a damaged one.
function linked() {
  try {
    return fromFragment(location.hash);
  } catch (error) {
    damaged(error);
    return undefined;
  }
}
addEventListener("hashchange", () => {
  const given = linked();
  if (given) adopt(given);
});
byId("restart").addEventListener("click", () => adopt(example));

// ------------------------------------------------------------------------------------------------------ beginning

try {
  const { look, version, examples } = await start();
  setLook(look);
  byId("version").textContent = `Leakwise ${version}`;
  prior.setExamples(examples);
  const [first] = examples;
  state.prior = { kind: "counts", labels: [...first.labels], values: [...first.values] };
  example = structuredClone(state);
  const given = linked();
  if (given !== undefined) adopt(given ?? example);
  loadVega().catch((error) => showError("answer-error", error.message));
} catch (error) {
  showError("answer-error", error.message);
}
