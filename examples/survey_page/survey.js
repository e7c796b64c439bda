// One draw for each answer: the outcome is kept on this device before it is sent, and no later one is ever drawn.
import { draw } from "./sampler.js";

// By the question alone: another mechanism for the same question would be a second draw, too.
const PLACE = "survey.smokes";

const question = document.querySelector("#question");
const button = document.querySelector("#send");
const said = document.querySelector("#said");

// What was drawn on this device: { id, outcome, sent }, or null.
const kept = () => JSON.parse(localStorage.getItem(PLACE));

const keep = (drawn) => {
  const text = JSON.stringify(drawn);
  localStorage.setItem(PLACE, text);
  if (localStorage.getItem(PLACE) !== text) throw new Error("nothing can be kept");
  return drawn;
};

const show = () => {
  const drawn = kept();
  question.hidden = drawn !== null;
  button.hidden = drawn !== null && drawn.sent;
  button.textContent = drawn === null ? "Randomize and send" : "Send again";
  if (drawn !== null) said.textContent = drawn.sent ? "Thank you. The result was sent." : "The result was not sent yet.";
};

const drawOnce = () => {
  const chosen = question.querySelector("input:checked");
  if (chosen === null) return null;
  const id = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const drawn = keep({ id, outcome: draw(chosen.value), sent: false });
  chosen.checked = false;
  return drawn;
};

const send = async () => {
  button.disabled = true;
  try {
    // Looked up at each press: another tab may have drawn meanwhile.
    const drawn = kept() ?? drawOnce();
    if (drawn === null) { said.textContent = "Please choose an answer first."; return; }
    if (!drawn.sent) {
      const { id, outcome } = drawn;
      const body = JSON.stringify({ question: "smokes", id, outcome });
      const answer = await fetch("answers", { method: "POST", body, credentials: "omit", cache: "no-store" });
      if (!answer.ok) throw new Error("refused");
      keep({ id, outcome, sent: true });
    }
    show();
  } catch {
    // Why is not said: an error must not carry the answer to wherever errors are collected.
    try { show(); } catch { /* nothing can be kept, so that nothing was drawn */ }
    said.textContent = "This did not work, and no second result will be drawn. You can try again.";
  } finally {
    button.disabled = false;
  }
};

button.addEventListener("click", send);
// A page that the browser kept for the back button shows what is true now.
addEventListener("pageshow", () => {
  try {
    show();
  } catch {
    said.textContent = "This browser keeps nothing for this page, so that your answer could be drawn twice. Nothing will be sent.";
  }
});
