// The way to the workers: posts that answer line by line, and give way to newer ones of their panel.

const client = crypto.randomUUID();
const HEADERS = { "content-type": "application/json", "x-leakwise-studio": "page" };

export class Refused extends Error {
  constructor(event) {
    super(event.message);
    this.kind = event.kind;
    this.about = event.about;
  }
}

export async function start() {
  const answer = await fetch("api/start");
  if (!answer.ok) throw new Error("The studio does not answer. Is it still running?");
  return answer.json();
}

async function post(path, body, signal) {
  try {
    return await fetch(`api/${path}`, { method: "POST", headers: HEADERS, body: JSON.stringify({ client, ...body }), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ kind: "Gone", message: "The studio does not answer. Is it still running?", about: "answer" });
  }
}

async function* lines(answer) {
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const whole = rest.split("\n");
    rest = whole.pop();
    for (const line of whole) if (line) yield JSON.parse(line);
    if (done) return;
  }
}

export async function file(state, what) {
  const answer = await post("file", { state, what });
  const body = JSON.parse((await answer.text()).trim());
  if (!answer.ok) throw new Refused(body);
  return body;
}

// One panel of the page. While a solve runs, only the newest wish waits behind it: a draft is let finish, so that
// something moves on the screen all the time, unless it takes longer than this and a newer draft waits; a full solve is
// called off at once.
const PATIENCE = 350;

export class Panel {
  constructor(name, { part, progress, failed, ended }) {
    Object.assign(this, { name, part, progress, failed, ended });
    this.next = null;
    this.running = null;
    this.timer = 0;
  }

  ask(body) {
    this.next = body;
    if (!this.running) this.#run();
    else if (!this.draft) this.running.abort();
    else if (body.draft && !this.timer) this.timer = setTimeout(() => this.running?.abort(), PATIENCE);
  }

  stop() {
    this.next = null;
    this.running?.abort();
  }

  async #run() {
    while (this.next) {
      const body = this.next;
      this.next = null;
      this.draft = Boolean(body.draft);
      const control = (this.running = new AbortController());
      try {
        const answer = await post(this.name, body, control.signal);
        for await (const event of lines(answer)) {
          if (event.event === "part") await this.part(event, body);
          else if (event.event === "progress") this.progress?.(event);
          else throw new Refused(event);
        }
      } catch (error) {
        const replaced = error.name === "AbortError" || error.kind === "Cancelled";
        if (!replaced) this.failed(error, body);
      } finally {
        clearTimeout(this.timer);
        this.timer = 0;
        this.running = null;
      }
    }
    this.ended?.();
  }
}
