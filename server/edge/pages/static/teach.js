// The pages of Teach: forms that are sent without leaving the page, keys for answers, and sliders whose results follow.
import { address, part, send } from "./page.js";

const content = document.getElementById("content");
const spoken = document.getElementById("spoken");

function speak() {
  spoken.textContent = [...content.querySelectorAll("[data-status]")].map((one) => one.textContent).join(". ");
}

/** Replace the content of the page, and put the focus where it was, or at the mark of the new content. */
function fill(text) {
  const focused = document.activeElement?.id;
  content.innerHTML = text;
  const title = content.querySelector("template[data-title]");
  if (title) document.title = title.dataset.title;
  const next = content.querySelector("[data-focus]") ?? (focused ? document.getElementById(focused) : null) ?? content;
  next.focus({ preventScroll: true });
  speak();
  content.dispatchEvent(new CustomEvent("content", { bubbles: true, detail: { began: performance.now() } }));
  began();
}

// Forms

let busy = false;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-post]")) return;
  event.preventDefault();
  if (busy) return;
  busy = true;
  content.setAttribute("aria-busy", "true");
  try {
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const response = await send(form.action, { method: "POST", body, headers: { "x-part": "1" } });
    if (!response) return;
    if (response.redirected) history.replaceState(history.state, "", response.url);
    fill(await response.text());
  } finally {
    busy = false;
    content.removeAttribute("aria-busy");
  }
});

content.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.matches(".switch")) form.requestSubmit();
});

// Keys

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("select, textarea, input:not([type=checkbox], [type=range]), dialog")) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const holder = document.activeElement?.closest("[data-keys]");
  const within = (root) => root?.querySelector(`[data-hotkey="${CSS.escape(event.key)}"]`);
  const found = within(holder) ?? within(content);
  if (!found || found.disabled) return;
  if (found.dataset.each !== undefined && !holder) return;
  event.preventDefault();
  found.click();
});

// Sliders: the results follow after a short rest.

let waiting = 0;
let going = null;

async function slide(form) {
  going?.abort();
  const mine = going = new AbortController();
  const to = address(form);
  content.setAttribute("aria-busy", "true");
  const text = await part(to, mine.signal).catch(() => null);
  if (mine !== going) return;
  content.removeAttribute("aria-busy");
  if (text === null) return;
  const box = document.createElement("template");
  box.innerHTML = text;
  for (const one of content.querySelectorAll("[data-follows]")) {
    const fresh = box.content.getElementById(one.id);
    if (fresh) one.replaceWith(fresh);
  }
  history.replaceState(history.state, "", to);
  speak();
}

content.addEventListener("input", (event) => {
  const field = event.target;
  const shown = field.type === "range" && field.parentElement.querySelector("output");
  if (shown) shown.textContent = worded(field);
  const form = field.form;
  if (field.dataset.threshold !== undefined) threshold(field);
  if (!form?.matches("form[data-sliding]")) return;
  clearTimeout(waiting);
  waiting = setTimeout(slide, 180, form);
});

function worded(field) {
  const value = Number(field.value);
  if (field.dataset.as === "percent") return `${value} %`;
  return value ? `${value > 0 ? "+" : "−"}${Math.abs(value)}` : "0";
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-sliding]")) return;
  event.preventDefault();
  slide(event.target);
});

// A threshold: what passes it is marked at once.

function threshold(field) {
  const least = Number(field.value) / 100;
  let passed = 0;
  const counts = { right: 0, wrong: 0, missed: 0 };
  for (const one of content.querySelectorAll("[data-share]")) {
    const over = Number(one.dataset.share) >= least;
    one.classList.toggle("under", !over);
    if (over) passed++;
    if (one.dataset.known === "same") counts[over ? "right" : "missed"]++;
    else if (one.dataset.known === "different" && over) counts.wrong++;
  }
  for (const one of content.querySelectorAll("[data-count=passed]")) one.textContent = passed;
  for (const [name, whole] of [["precision", counts.right + counts.wrong], ["recall", counts.right + counts.missed]]) {
    const share = whole ? `${Math.round(100 * counts.right / whole)} %` : "–";
    for (const one of content.querySelectorAll(`[data-count=${name}]`)) one.textContent = share;
    for (const one of content.querySelectorAll(`[data-count=${name}-of]`)) one.textContent = `${counts.right} of ${whole}`;
  }
}

// Progress of a job: the page is read again until the job ends.

let timer = 0;

function began() {
  clearTimeout(timer);
  const tab = content.querySelector(".lessons [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 48;
  if (content.querySelector("[data-runs]")) timer = setTimeout(look, 1000);
}

async function look() {
  const text = document.hidden || busy ? null : await part(location.pathname + location.search);
  if (text !== null && !busy) {
    const open = content.querySelector("details[open]") !== null;
    fill(text);
    if (open) content.querySelector("details")?.setAttribute("open", "");
  } else {
    began();
  }
}

began();
