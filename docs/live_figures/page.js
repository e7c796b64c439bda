// The two figures of the page: the knob with the three parts of an answer, and the trial. All of them are the studio's.

import { ANSWERS, MARKUP } from "./data.js";
import { make } from "./dom.js";
import { showLeaks, showLost, showRows } from "./parts.js";
import { Trial } from "./trial.js";

const BEGIN = "2", PRESETS = [["1.2", "1.2 strict"], ["2", "2 usual"], ["5", "5 loose"]];

// A figure takes the place of the picture that is there without a script.
function take(name, ...nodes) {
  const place = document.querySelector(`[data-figure="${name}"]`);
  place.replaceChildren(make("div", { className: "live-room" }, ...nodes));
}

function made(markup) {
  const template = make("template", { innerHTML: markup }); // made with the page, from the studio's own
  return template.content.firstElementChild;
}

function presets() {
  const row = make("div", { className: "row presets", role: "group", "aria-label": "Usual limits" });
  for (const [lift, words] of PRESETS) {
    const button = make("button", { type: "button", className: "quiet", textContent: words });
    button.dataset.lift = lift;
    button.addEventListener("click", () => turn(ANSWERS.findIndex((one) => one.lift === lift)));
    row.append(button);
  }
  return row;
}

const lift = make("output", { id: "lift" }), anyone = make("output", { id: "anyone" });
const slider = make("input", { id: "slider", type: "range", min: 0, max: ANSWERS.length - 1, step: 1, "aria-label": "Limit of the lift" });
slider.addEventListener("input", () => turn(Number(slider.value)));
const reading = make("div", { className: "reading" },
  make("div", {}, make("span", { textContent: "at most" }), lift, make("span", { textContent: "times as likely" })),
  make("div", {}, make("span", { textContent: "for anyone at most" }), anyone));
take("knob", make("div", { className: "card" }, make("div", { className: "knob" }, reading, slider, presets()), made(MARKUP.parts)));

const second = made(MARKUP.try);
second.firstElementChild.after(presets());
take("trial", second, make("p", { className: "unseen", id: "live", role: "status", "aria-live": "polite" }));
const trial = new Trial();

function turn(place) {
  const answer = ANSWERS[place];
  slider.value = String(place);
  slider.style.setProperty("--at", `${(100 * place) / (ANSWERS.length - 1)}%`);
  slider.setAttribute("aria-valuetext", `at most ${answer.lift} times as likely`);
  lift.value = answer.lift;
  anyone.value = answer.anyone;
  for (const preset of document.querySelectorAll("[data-lift]")) preset.setAttribute("aria-pressed", String(preset.dataset.lift === answer.lift));
  showLeaks(answer.leaks);
  showRows(answer.rows);
  showLost(answer.lost);
  trial.of(answer.trial);
}

turn(ANSWERS.findIndex((one) => one.lift === BEGIN));
