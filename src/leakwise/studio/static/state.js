// Everything that is on the screen, as one plain object: what the API gets, what the address carries, what is exported.

export const DEFAULT = {
  version: 1,
  prior: { kind: "probabilities", labels: ["a", "b", "c"], values: ["0.5", "0.3", "0.2"] },
  level: { kind: "lift", value: "2" },
  anyone: "20",
  values: [],
  row: null,
  goal: { kind: "design", utility: { kind: "named", name: "frequencies" } },
};

// The address keeps the state behind its #, which a browser sends to nobody.
export function toFragment(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `#s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}.${checksum(bytes)}`;
}

// A single changed character can still be a state, of other numbers: the checksum tells.
export function fromFragment(fragment) {
  if (!fragment.slice(1) || document.getElementById(fragment.slice(1))) return null; // a place in the page
  const [, body, sum] = fragment.match(/^#s=([\w-]+)\.([0-9a-f]{8})$/) ?? [];
  if (!body) throw new Error("it is not whole.");
  let bytes, given;
  try {
    bytes = Uint8Array.from(atob(body.replaceAll("-", "+").replaceAll("_", "/")), (mark) => mark.charCodeAt(0));
  } catch {
    throw new Error("it is not whole.");
  }
  if (checksum(bytes) !== sum) throw new Error("some of it was changed.");
  try {
    given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("it does not contain a state.");
  }
  return checked(given);
}

// CRC-32, as in zip files.
function checksum(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (~sum >>> 0).toString(16).padStart(8, "0");
}

// A state of another version may mean something else by the same names.
export class OtherVersion extends Error {}

// Enough to draw the controls from; every value is checked again, with words, when it is solved.
export function checked(given) {
  const texts = (list) => Array.isArray(list) && list.length > 0 && list.length <= 200 && list.every((one) => typeof one === "string");
  const matrix = (rows) => Array.isArray(rows) && rows.length > 0 && rows.every(texts);
  const strings = (one) => one && Object.entries(one).every(([name, text]) => name === "further" || typeof text === "string");
  const state = given?.format === "leakwise.studio" ? given.state : given;
  const { prior, level, goal, anyone = null, values = [], row = null, version = 1, ...unknown } = state ?? {};
  if (version !== 1 || (prior && Object.keys(unknown).length)) throw new OtherVersion("It was made by another version of the studio.");
  const utility = goal?.utility, source = goal?.source;
  const fine =
    ["probabilities", "counts"].includes(prior?.kind) && texts(prior.labels) && texts(prior.values) &&
    prior.labels.length === prior.values.length && ["epsilon", "lift"].includes(level?.kind) && typeof level.value === "string" &&
    (anyone === null || typeof anyone === "string") &&
    Array.isArray(values) && values.length <= 200 && values.every((one) => one && texts(Object.values(one))) &&
    (row === null || (Array.isArray(row.further) && row.further.length <= 20 && [row, ...row.further].every(strings))) &&
    ((goal?.kind === "design" && ["named", "distance", "worst_case"].includes(utility?.kind) &&
      (utility.kind !== "worst_case" || matrix(utility.matrix))) ||
     (goal?.kind === "mechanism" && ["catalog", "matrix"].includes(source?.kind) && (source.kind !== "matrix" || matrix(source.rows))));
  if (!fine) throw new Error("This is not a state of the studio: something is missing, or of another kind.");
  return { version: 1, prior, level, anyone, values, row, goal };
}

export const exported = (state) => JSON.stringify({ format: "leakwise.studio", version: 1, state }, null, 1) + "\n";

export function levelOf(state) {
  const value = Number(state.level.value);
  return state.level.kind === "epsilon" ? value : Math.log(value);
}

export const isWorstCase = (state) => state.goal.kind === "design" && state.goal.utility.kind === "worst_case";
export const hasSteps = (state) => state.goal.kind === "design" && state.goal.utility.kind !== "named";
