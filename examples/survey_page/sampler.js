// Leakwise sampler, made by leakwise export. Draws the outcome that is sent instead of an answer, before anything
// leaves this page: draw(value).
// Guaranteed: No guess about the secret becomes more than 4 times as likely by seeing the outcome, for anyone,
// whatever they knew (rows independent).
// One draw for each answer: a second draw of the same answer tells more, and the lifts multiply. Keep the outcome
// (localStorage) before you send it, and send that one again if sending fails.
// Not covered: this page sees the answer, and so does whatever else runs in it or in the browser (other scripts,
// extensions, analytics, error reports, someone at the screen). Not hidden: who answered, whether, when and from
// where. Not covered: answers of people that depend on each other.
// Mechanism: 3 values, 3 outcomes, sha256 6ddba2c0e35847b0d7e9be4dbc70ca8be1cd48311c2c9602987bcbd7a4f7a391;
// probabilities exactly those of the file, drawn from crypto.getRandomValues alone.
// Estimate the frequencies of the true values: leakwise estimate TABLE --mechanism THE_FILE
const leakwise = (() => {
  "use strict";
  const DATA = {"sha256":"6ddba2c0e35847b0d7e9be4dbc70ca8be1cd48311c2c9602987bcbd7a4f7a391","values":{"labels":["never","sometimes","daily"]},"outcomes":["never","sometimes","daily"],"given":[],"mechanisms":[{"bits":60,"outcomes":[0,1,2],"weights":["2aaaaaaaaaaaaab","2aaaaaaaaaaaaab","2aaaaaaaaaaaaab"]}],"strata":[[0,0]],"otherwise":null};

  // What is refused may be the truth, and errors are often sent somewhere: no message has a value in it.
  const refuse = (words) => { throw new RangeError("leakwise: " + words); };

  const plain = (value) => Array.isArray(value) ? [...value].every(plain)
    : value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

  // The place of a value in its domain, or -1. Bins take a number (of dates: "2024-01-31"), or their own name.
  const places = ({ labels, edges, days }) => {
    const known = new Map(labels.map((label, place) => [JSON.stringify(label), place]));
    const ends = edges && edges.map(Number);
    return (value) => {
      if (!plain(value)) return -1;
      const found = known.get(JSON.stringify(value));
      if (found !== undefined || !ends) return found ?? -1;
      let at = value;
      if (days) {
        const day = /^\d{4}-\d\d-\d\d$/.test(value) ? new Date(value + "T00:00:00Z") : NaN;
        at = +day === +day && day.toISOString().startsWith(value) ? day / 864e5 : NaN;
      }
      const last = ends.length - 1;
      if (typeof at !== "number" || !(at >= ends[0] && (days ? at < ends[last] : at <= ends[last]))) return -1;
      return Math.min(ends.filter((end) => end <= at).length, last) - 1;
    };
  };

  // weight(i, j) over 2^bits is the probability of outcome j for value i.
  const mechanisms = DATA.mechanisms.map(({ bits, outcomes, weights, rows, width }) => {
    const numbers = weights.map((digits) => BigInt("0x" + digits)), one = 1n << BigInt(bits);
    const places = rows && rows.map((row) =>
      outcomes.map((_, j) => numbers[parseInt(row.slice(j * width, (j + 1) * width), 36)]));
    const diagonal = rows ? 0n : numbers.reduce((sum, weight) => sum - weight, one);
    const weight = rows ? (i, j) => places[i][j] : (i, j) => numbers[j] + (i === j ? diagonal : 0n);
    if (places && places.some((row) => row.reduce((sum, weight) => sum + weight, 0n) !== one)) refuse("damaged file");
    return { shift: BigInt(64 - bits), outcomes, weight };
  });
  const valuePlace = places(DATA.values);
  const givenPlaces = DATA.given.map(places);
  const strata = new Map(DATA.strata.map(([number, mechanism, never]) => [number, { mechanism, never }]));
  const otherwise = DATA.otherwise === null ? undefined : { mechanism: DATA.otherwise };

  const told = (given) => DATA.given.map(({ name }, column) => {
    if (given === null || typeof given !== "object" || !Object.prototype.hasOwnProperty.call(given, name)) {
      refuse("given must be an object with " + DATA.given.map((one) => JSON.stringify(one.name)).join(", "));
    }
    return givenPlaces[column](given[name]);
  });

  // The outcome that a word stands for, an integer from 0n to 2n**64n - 1n: for tests. draw is what a page calls.
  const drawFrom = (word, value, given) => {
    if (typeof word !== "bigint" || word < 0n || word >> 64n) refuse("word must be a BigInt from 0 to 2^64 - 1");
    const codes = told(given);
    const number = codes.reduce((sum, code, column) => sum * DATA.given[column].labels.length + code, 0);
    const found = (codes.includes(-1) ? undefined : strata.get(number)) ?? otherwise;
    if (!found) refuse("there is no mechanism for these given values");
    const place = valuePlace(value);
    if (place < 0) refuse("value is not in the domain; see .values");
    if (found.never && found.never.includes(place)) refuse("value cannot occur with these given values");
    const { shift, outcomes, weight } = mechanisms[found.mechanism];
    const leading = word >> shift;
    let j = 0;
    for (let below = weight(place, 0); leading >= below; below += weight(place, ++j));
    const outcome = DATA.outcomes[outcomes[j]];
    return Array.isArray(outcome) ? [...outcome] : outcome;
  };

  // One draw for each answer. Keep the outcome: drawing again for the same answer tells more about it.
  const draw = (value, given) => {
    const source = globalThis.crypto;
    if (!source || typeof source.getRandomValues !== "function") {
      refuse("crypto.getRandomValues is not here, and no other source of randomness is secure. Nothing was drawn");
    }
    const bytes = source.getRandomValues(new Uint8Array(8));
    return drawFrom(new DataView(bytes.buffer).getBigUint64(0, true), value, given);
  };

  // The given columns as they may be sent beside the outcome: numbers and dates as the names of their bins.
  const coarse = (given) => Object.fromEntries(told(given).map((code, column) => {
    const { name, labels, edges } = DATA.given[column];
    if (edges && code < 0) refuse("a given value is outside of its bins");
    return [name, edges ? labels[code] : given[name]];
  }));

  return Object.freeze({
    draw, drawFrom, coarse, values: DATA.values.labels, outcomes: DATA.outcomes,
    given: DATA.given.map((one) => one.name), sha256: DATA.sha256,
  });
})();
export const { draw, drawFrom, coarse, values, outcomes, given, sha256 } = leakwise;
export default leakwise;
