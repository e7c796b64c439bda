// Vega-Lite specifications of the library, drawn to fit. The page forbids eval, so Vega interprets its expressions.

import { byId, make } from "./dom.js";

let look = { light: {}, dark: {} };
let vegaLoads = null;
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map(); // element id → { spec, view, width, marks }

export function setLook(given) {
  look = given;
}

export function loadVega() {
  vegaLoads ??= new Promise((resolve, reject) => {
    const script = make("script", { src: "vega.js" });
    script.onload = resolve;
    script.onerror = () => reject(new Error("The charts cannot be drawn: vega.js did not load."));
    document.head.append(script);
  });
  return vegaLoads;
}

export function clear(id, words) {
  const place = byId(id);
  place.turn = null; // a picture that is on its way is not shown
  drawn.get(id)?.view?.finalize();
  drawn.delete(id);
  place.replaceChildren(words ? make("p", { className: "waiting", textContent: words }) : "");
}

// Draws aside and swaps, so that nothing flickers while the slider moves.
export async function draw(id, spec, marks = null) {
  await loadVega();
  const place = byId(id);
  const width = Math.floor(place.clientWidth);
  if (!width) { drawn.set(id, { spec, view: null, width, marks }); return; } // folded away: drawn when it is opened
  const aside = make("div");
  const turn = Symbol(id);
  place.turn = turn;
  const { view } = await window.vegaEmbed(aside, fitted(spec, width), {
    actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: showTip, logLevel: 1,
  });
  if (place.turn !== turn) { view.finalize(); return; } // a newer picture is on its way
  const before = drawn.get(id);
  place.replaceChildren(aside);
  before?.view?.finalize();
  drawn.set(id, { spec, view, width, marks });
  if (marks) setMarks(id, marks);
}

// Fills the layers whose data the picture leaves open: a mark for each name, or none.
export function setMarks(id, marks) {
  const here = drawn.get(id);
  if (!here) return;
  here.marks = marks;
  if (!here.view) return;
  for (const [name, mark] of Object.entries(marks)) here.view.data(name, mark ? [mark] : []);
  here.view.runAsync();
}

// The value on the horizontal axis below the pointer; null outside the picture.
export function valueAt(id, event) {
  const view = drawn.get(id)?.view;
  if (!view) return null;
  const { left } = byId(id).querySelector("svg").getBoundingClientRect();
  const x = event.clientX - left - view.origin()[0];
  return x < -8 || x > view.width() + 8 ? null : view.scale("x").invert(Math.min(Math.max(x, 0), view.width()));
}

export const specOf = (id) => drawn.get(id)?.spec;

function redraw() {
  for (const [id, { spec, width, marks }] of [...drawn]) {
    const now = Math.floor(byId(id).clientWidth);
    if (now && (now !== width || redraw.colours)) draw(id, spec, marks);
  }
  redraw.colours = false;
}

let resizing = 0;
new ResizeObserver(() => {
  clearTimeout(resizing);
  resizing = setTimeout(redraw, 120);
}).observe(document.documentElement);
dark.addEventListener("change", () => { redraw.colours = true; redraw(); });

// ------------------------------------------------------------------------------------------------ to fit the page

function fitted(given, width) {
  const spec = structuredClone(given);
  const notes = spec.title?.subtitle;
  spec.title = notes ? { text: "", subtitle: notes } : undefined; // the heading stands in the page
  spec.config = merged(spec.config ?? {}, look[dark.matches ? "dark" : "light"]);
  spec.autosize = { type: "fit-x", contains: "padding" };
  spec.padding = { left: 2, top: 2, bottom: 2, right: 14 };
  const matrix = spec.layer?.some((layer) => layer.mark?.type === "rect");
  const narrow = width < 560;
  if (matrix) {
    const columns = Math.max(1, new Set(spec.data.values.map((one) => one.c)).size);
    const sides = (narrow ? 120 : 170) + (narrow ? 0 : 80);
    const rows = Math.max(1, Math.round(spec.data.values.length / columns));
    const roomy = columns <= 4 ? 110 : columns <= 8 ? 84 : 58;
    // A cell is never narrower than a dot: on a phone the picture scrolls in its box.
    spec.width = Math.max(Math.min(width, Math.max(columns * roomy + sides, 260)), columns * 12 + sides);
    spec.height = rows * (rows <= 5 ? 40 : rows <= 10 ? 32 : rows <= 20 ? 24 : 16);
    for (const layer of spec.layer) {
      const legend = layer.encoding?.color?.legend;
      if (legend) legend.gradientLength = narrow ? width - 140 : Math.min(140, spec.height - 20);
    }
    const cell = (spec.width - sides) / columns;
    if (cell < 34) spec.layer = spec.layer.filter((layer) => layer.mark?.type !== "text");
    if (narrow) spec.config.legend = { ...spec.config.legend, orient: "bottom" };
  } else {
    spec.width = width;
    spec.config.legend = { ...spec.config.legend, orient: "bottom", columns: narrow ? 1 : 2, labelLimit: width - 60 };
  }
  for (const layer of spec.layer ?? [spec]) {
    const axis = layer.encoding?.y?.axis;
    if (axis && layer.encoding.y.type === "nominal") axis.labelLimit = Math.min(axis.labelLimit ?? 220, width * (narrow ? 0.3 : 0.36));
  }
  return spec;
}

function merged(base, over) {
  const both = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const nested = value && typeof value === "object" && !Array.isArray(value);
    both[name] = nested && both[name] && typeof both[name] === "object" ? { ...both[name], ...value } : value;
  }
  return both;
}

// ---------------------------------------------------------------------------------------------------- the tooltip

function showTip(_handler, event, _item, value) {
  const tip = byId("tip");
  if (value === null || value === undefined || value === "") { tip.hidden = true; return; }
  const list = make("dl");
  for (const [name, text] of Object.entries(typeof value === "object" ? value : { "": value })) {
    list.append(make("dt", { textContent: name }), make("dd", { textContent: String(text) }));
  }
  tip.replaceChildren(list);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") byId("tip").hidden = true; });
