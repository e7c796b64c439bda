// Small helpers for the page. Text always goes in as text: nothing that anyone typed is ever read as markup or code.

export const byId = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function say(words) {
  byId("live").textContent = words;
}

export function showError(id, words) {
  const box = byId(id);
  box.textContent = words || "";
  box.hidden = !words;
}

export const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`)?.value;

export function choose(name, value) {
  for (const input of document.querySelectorAll(`input[name="${name}"]`)) input.checked = input.value === value;
}

// Shows the parts of a panel whose attribute holds the value, and hides the others.
export function showOnly(attribute, value) {
  for (const part of document.querySelectorAll(`[${attribute}]`)) {
    part.hidden = !part.getAttribute(attribute).split(" ").includes(value);
  }
}

export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
