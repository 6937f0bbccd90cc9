// Completion of the condition: a combobox with a list, as the ARIA practices describe it.
import { address, go, send } from "./page.js";

const content = document.getElementById("content");
let asked = 0, start = 0, chosen = -1, timer = null;

const field = () => document.getElementById("where");
const list = () => document.getElementById("completions");
const options = () => [...list().children];

async function ask() {
  const mine = ++asked, input = field();
  const query = new URLSearchParams({ text: input.value.slice(0, input.selectionStart) });
  const response = await send(`${location.pathname.split("/").slice(0, 3).join("/")}/complete?${query}`);
  if (!response || mine !== asked) return;
  const found = await response.json();
  if (document.activeElement !== field()) return;
  const before = options()[chosen]?.dataset.text;  // a person may have chosen it before this answer came
  start = found.start;
  chosen = found.options.findIndex((one) => one.text === before);
  list().replaceChildren(...found.options.map((one, number) => {
    const option = document.createElement("li");
    option.id = `completion-${number}`;
    option.setAttribute("role", "option");
    option.dataset.text = one.text;
    const text = document.createElement("span");
    text.dir = "auto";
    text.textContent = one.text;
    const note = document.createElement("span");
    note.className = "faint";
    note.textContent = one.note;
    option.append(text, note);
    option.setAttribute("aria-selected", String(number === chosen));
    return option;
  }));
  show(found.options.length > 0);
}

function show(open) {
  list().hidden = !open;
  field().setAttribute("aria-expanded", String(open));
  if (!open) field().removeAttribute("aria-activedescendant");
}

function take(option) {
  const input = field(), caret = input.selectionStart;
  input.value = input.value.slice(0, start) + option.dataset.text + input.value.slice(caret);
  const at = start + option.dataset.text.length;
  input.setSelectionRange(at, at);
  chosen = -1;
  ask();
}

content.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  clearTimeout(timer);
  timer = setTimeout(ask, 60);
});
content.addEventListener("focusin", (event) => { if (event.target === field()) ask(); });
content.addEventListener("focusout", (event) => { if (event.target === field()) show(false); });
content.addEventListener("mousedown", (event) => {
  const option = event.target.closest("#completions > li");
  if (option) { event.preventDefault(); take(option); }
});
content.addEventListener("keydown", (event) => {
  if (event.target !== field()) return;
  const all = list().hidden ? [] : options();
  if (event.key === "Escape") { if (all.length) { event.stopPropagation(); show(false); } return; }
  if (event.key === "Enter" || (event.key === "Tab" && chosen >= 0)) {
    if (all[chosen]) { event.preventDefault(); take(all[chosen]); } else if (event.key === "Enter") { event.preventDefault(); show(false); go(address(field().form)); }
    return;
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  if (!all.length) return ask();
  chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + all.length + (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % all.length;
  all.forEach((one, number) => one.setAttribute("aria-selected", String(number === chosen)));
  field().setAttribute("aria-activedescendant", all[chosen].id);
  all[chosen].scrollIntoView({ block: "nearest" });
});
