// Texts that people paste: tables, domains, matrices; and numbers as people read them.

// Cells are separated as leakwise release takes them: by tabs in a .tsv file; else by commas, or semicolons in a first line
// without commas.
function separatorOf(name, firstLine) {
  if (/\.tsv$/i.test(name)) return "\t";
  if (!/\.csv$/i.test(name)) throw new Error(`${name} is not a .csv or .tsv file. Save it as one, or paste the column.`);
  if (/^[^,;]*\t[^,;]*$/.test(firstLine)) throw new Error(`${name} is separated by tabs. Rename it to .tsv: leakwise release goes by the name.`);
  return firstLine.includes(";") && !firstLine.includes(",") ? ";" : ",";
}

export function parseCsv(bytes, name) {
  let source;
  try {
    source = new TextDecoder("utf-8", { fatal: true }).decode(bytes); // without a byte order mark
  } catch {
    throw new Error(`${name} is not in UTF-8. Save it as UTF-8 first.`);
  }
  const separator = separatorOf(name, source.split(/\r?\n/, 1)[0]);
  const rows = [];
  let row = [], cell = "", quoted = false;
  for (let place = 0; place < source.length; place++) {
    const mark = source[place];
    if (quoted) {
      if (mark !== '"') cell += mark;
      else if (source[place + 1] === '"') { cell += '"'; place++; }
      else quoted = false;
    } else if (mark === '"' && cell === "") quoted = true;
    else if (mark === separator) { row.push(cell); cell = ""; }
    else if (mark === "\n") { row.push(cell.replace(/\r$/, "")); rows.push(row); row = []; cell = ""; }
    else cell += mark;
  }
  if (quoted) throw new Error("The file ends inside a quoted cell: a quotation mark is missing.");
  if (cell !== "" || row.length) { row.push(cell.replace(/\r$/, "")); rows.push(row); }
  return rows.filter((line) => line.length > 1 || line[0] !== "");
}

export const EMPTY = "(empty)";

// What a person declares: values, or bins of numbers. Gives the labels, and what puts a cell under one of them.
export function parseDomain(text) {
  const bins = text.trim().match(/^bins:\s*([^,]+),\s*([^,]+),\s*(\d+)\s*$/i);
  if (bins) return binsOf(Number(bins[1]), Number(bins[2]), Number(bins[3]));
  const labels = (text.includes("\n") ? text.split("\n") : text.split(",")).map((word) => word.trim()).filter(Boolean);
  if (!labels.length) throw new Error("Declare the domain: every value that can occur, one in a line.");
  const twice = labels.find((label, place) => labels.indexOf(label) !== place);
  if (twice !== undefined) throw new Error(`The domain names "${twice}" twice.`);
  const known = new Set(labels);
  return { labels, find: (cell) => (known.has(cell) ? cell : undefined) };
}

function binsOf(low, high, count) {
  if (!(low < high) || count < 1 || count > 100) {
    throw new Error("Bins are 'bins: low, high, count', such as bins: 0, 100, 10, with at most 100 of them.");
  }
  const edge = (k) => Number((low + ((high - low) * k) / count).toPrecision(12));
  const labels = Array.from({ length: count }, (_, k) => `[${edge(k)}, ${edge(k + 1)}${k === count - 1 ? "]" : ")"}`);
  const find = (cell) => {
    const value = cell.trim() === "" ? NaN : Number(cell);
    if (!(value >= low && value <= high)) return undefined;
    let place = Math.min(count - 1, Math.floor(((value - low) / (high - low)) * count));
    if (value < edge(place)) place--;
    else if (place < count - 1 && value >= edge(place + 1)) place++;
    return labels[place];
  };
  return { labels, find };
}

// Round bins that hold all of these numbers; null where some cell is no number, or where there are few.
export function suggestedBins(cells) {
  const numbers = cells.map((cell) => (cell.trim() === "" ? NaN : Number(cell)));
  if (!numbers.every(Number.isFinite) || new Set(numbers).size <= FEW) return null;
  const low = numbers.reduce((one, other) => Math.min(one, other)), high = numbers.reduce((one, other) => Math.max(one, other));
  const power = 10 ** Math.floor(Math.log10((high - low) / 4));
  const width = [1, 2, 5, 10].map((one) => one * power).find((one) => (high - low) / one <= 8);
  const from = Math.floor(low / width), to = Math.ceil(high / width);
  return `bins: ${[from * width, to * width].map((one) => Number(one.toPrecision(12))).join(", ")}, ${to - from}`;
}
const FEW = 20;

// The counts of a column over a declared domain. A value outside it is an error that names some.
export function countColumn(cells, domain) {
  const counts = new Map(domain.labels.map((label) => [label, 0]));
  const strange = new Map();
  for (const raw of cells) {
    const cell = raw.trim() === "" ? EMPTY : raw.trim();
    const label = domain.find(cell);
    if (label === undefined) strange.set(cell, (strange.get(cell) || 0) + 1);
    else counts.set(label, counts.get(label) + 1);
  }
  if (strange.size) {
    const some = [...strange].slice(0, 5).map(([cell, times]) => `"${cell}" (${times}×)`).join(", ");
    const more = strange.size > 5 ? ` and ${strange.size - 5} more` : "";
    throw new Error(`Not in the domain: ${some}${more}. Add them to the domain, or clean the data.`);
  }
  if (![...counts.values()].some(Boolean)) throw new Error("There is no value to count.");
  return counts;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?\d+\/\d+$/i;

// A matrix in any usual form; a first line that is no numbers names the columns.
export function parseMatrix(text) {
  const rows = text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) =>
    (/[,;\t]/.test(line) ? line.split(/[,;\t]/) : line.split(/\s+/)).map((cell) => cell.trim()));
  if (!rows.length) throw new Error("Type or paste the matrix: a row for each value, a column for each outcome.");
  const named = rows[0].some((cell) => !NUMBER.test(cell));
  const outputs = named ? rows.shift() : null;
  if (!rows.length) throw new Error("The matrix has names and no numbers.");
  // Rows may begin with the name of their value.
  const labelled = rows.every((row) => !NUMBER.test(row[0]));
  const body = labelled ? rows.map((row) => row.slice(1)) : rows;
  if (outputs && outputs.length === body[0].length + 1) outputs.shift();
  return { rows: body, outputs };
}

export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "∞";
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(1);
  return Number(value.toFixed(Math.max(0, digits))).toString();
}

// A limit as the server prints it: five digits, rounded up (at_most in guarantee.py).
export function atMost(value, digits = 5) {
  if (!Number.isFinite(value) || value <= 0) return value === 0 ? "0" : "∞";
  const near = value.toExponential(digits - 1);
  const step = 10 ** (Number(near.split("e")[1]) - digits + 1);
  return String(Number((Number(near) < value ? Number(near) + step : Number(near)).toPrecision(digits)));
}
