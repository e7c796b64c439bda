// Try it: simulated rows with their estimates, and a game for those who would guess.
// These are pictures of chance, so the browser's own random numbers do; no row is released here.

import { byId, chosen, make, say } from "./dom.js";

const Z = 1.959964; // 95% of a normal distribution are nearer to its mean than so many standard errors
const ROUNDS = 1000, MOST_GUESSES = 12;

export class Trial {
  constructor() {
    for (const input of document.querySelectorAll('input[name="try-what"]')) input.addEventListener("change", () => this.show());
    for (const button of document.querySelectorAll("[data-rows]")) button.addEventListener("click", () => this.release(Number(button.dataset.rows)));
    byId("game-many").addEventListener("click", () => this.many());
    this.of(null);
  }

  // The prior, the two mechanisms and their estimators; nothing is kept from an earlier answer.
  of(given) {
    this.given = given;
    this.counts = null;
    this.played = { rounds: 0, right: 0, blind: 0 };
    byId("try").hidden = !given;
    byId("try-rows").replaceChildren();
    byId("try-rows").parentElement.hidden = true;
    byId("try-words").textContent = "Release simulated rows, and see what the frequencies are estimated to be.";
    if (!given) return;
    this.prior = sampler(given.prior);
    this.drawers = given.mechanisms.map(({ rows }) => rows.map(sampler));
    this.best = bestGuesses(given.prior, given.mechanisms[0].rows);
    this.show();
  }

  show() {
    for (const part of document.querySelectorAll("[data-try]")) part.hidden = part.dataset.try !== chosen("try-what");
    if (chosen("try-what") === "attacker" && this.given) this.ask();
  }

  // -- the analyst -----------------------------------------------------------------------------------------------------

  release(rows) {
    const { mechanisms, prior } = this.given;
    this.counts ??= { truth: prior.map(() => 0), outcomes: mechanisms.map((one) => one.rows[0].map(() => 0)), rows: 0 };
    for (let turn = 0; turn < rows; turn++) {
      const value = this.prior();
      this.counts.truth[value]++;
      this.drawers.forEach((drawer, which) => { this.counts.outcomes[which][drawer[value]()]++; });
    }
    this.counts.rows += rows;
    const found = mechanisms.map(({ weights }, which) => weights && estimates(weights, this.counts.outcomes[which], this.counts.rows));
    // As wide as the first intervals need: they grow shorter from there.
    this.counts.span ??= Math.max(...found.flatMap((one) => (one ?? []).map(([mean, half], place) => Math.abs(mean - prior[place]) + half)));
    byId("try-rows").replaceChildren(...this.given.labels.map((label, place) => {
      const cells = found.map((one) => (one ? make("td", { textContent: `${percent(one[place][0])} ± ${percent(one[place][1])}` }, this.interval(...one[place], prior[place]))
        : make("td", { textContent: "not determined" })));
      return make("tr", {}, make("th", { scope: "row", textContent: label, title: label }),
        make("td", { textContent: percent(this.counts.truth[place] / this.counts.rows) }), ...cells);
    }));
    byId("try-rows").parentElement.hidden = false;
    const words = `${this.counts.rows.toLocaleString("en")} rows were released. The frequency in the population, the dark line, lies within ± of the estimate with a probability of about 95%.`;
    byId("try-words").textContent = words;
    say(words);
  }

  // A picture of what the numbers beside it say: the interval, with the frequency that the rows are drawn with in the middle.
  interval(mean, half, truth) {
    const bar = make("span", { className: "interval", "aria-hidden": "true" });
    const at = (share) => `${Math.min(100, Math.max(0, 50 + (50 * (share - truth)) / this.counts.span))}%`;
    bar.style.setProperty("--low", at(mean - half));
    bar.style.setProperty("--high", at(mean + half));
    return bar;
  }

  // -- the attacker ----------------------------------------------------------------------------------------------------

  ask() {
    this.value = this.prior();
    this.outcome = this.drawers[0][this.value]();
    const { labels, outcomes } = this.given;
    const offered = this.best.ranked(this.outcome).slice(0, MOST_GUESSES);
    const left = labels.length > MOST_GUESSES ? ` (The ${MOST_GUESSES} likeliest of ${labels.length} values are offered.)` : "";
    byId("game-words").textContent = `Someone's released row says ${outcomes[this.outcome]}. What is the true value?${left}`;
    byId("game-guesses").replaceChildren(...offered.map((place) => {
      const button = make("button", { type: "button", className: "quiet small", textContent: labels[place] });
      button.addEventListener("click", () => { this.play(place); byId("game-guesses").firstElementChild?.focus(); });
      return button;
    }));
    this.score();
  }

  play(guess) {
    this.count(guess);
    const was = guess === this.value ? "Right" : `It was ${this.given.labels[this.value]}`;
    this.ask();
    byId("game-words").textContent = `${was}. ${byId("game-words").textContent}`;
  }

  count(guess) {
    this.played.rounds++;
    this.played.right += guess === this.value;
    this.played.blind += this.best.blind === this.value;
  }

  many() {
    for (let turn = 0; turn < ROUNDS; turn++) {
      this.value = this.prior();
      this.outcome = this.drawers[0][this.value]();
      this.count(this.best.after[this.outcome]);
    }
    this.ask();
  }

  score() {
    const { rounds, right, blind } = this.played, { labels } = this.given;
    const known = `The best guess without the row is always ${labels[this.best.blind]}, right for ${percent(this.best.chance)}; the best with it is right for ${percent(this.best.reached)} of all rows.`;
    byId("game-score").textContent = rounds
      ? `${rounds === 1 ? "1 round" : `${rounds.toLocaleString("en")} rounds`}: you were right in ${percent(right / rounds)}, and would have been in ${percent(blind / rounds)} without the row. ${known}` : known;
  }
}

// A place drawn with these weights: by halving the cumulative sums.
function sampler(weights) {
  const sums = [];
  weights.reduce((sum, one, place) => (sums[place] = sum + one), 0);
  const total = sums.at(-1);
  return () => {
    const drawn = Math.random() * total;
    let low = 0, high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (drawn < sums[middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

// Each frequency is the mean of the weights of the outcomes, so its variance is theirs.
function estimates(weights, counts, rows) {
  return weights.map((own) => {
    let mean = 0, square = 0;
    counts.forEach((count, outcome) => { mean += own[outcome] * count; square += own[outcome] ** 2 * count; });
    mean /= rows;
    return [mean, Z * Math.sqrt(Math.max(0, square / rows - mean ** 2) / rows)];
  });
}

function bestGuesses(prior, rows) {
  const largest = (numbers) => numbers.reduce((best, one, place) => (one > numbers[best] ? place : best), 0);
  const joint = rows[0].map((_, outcome) => prior.map((one, value) => one * rows[value][outcome]));
  const after = joint.map(largest), blind = largest(prior);
  // Few values keep their places, so that a button does not move under the hand.
  const ranked = (outcome) => prior.map((_, place) => place).sort((one, other) => (prior.length > MOST_GUESSES ? joint[outcome][other] - joint[outcome][one] : one - other));
  return { after, blind, ranked, chance: prior[blind], reached: joint.reduce((sum, column, outcome) => sum + column[after[outcome]], 0) };
}

const percent = (share) => `${Number((100 * share).toPrecision(Math.abs(share) < 0.1 ? 2 : 3))}%`;
