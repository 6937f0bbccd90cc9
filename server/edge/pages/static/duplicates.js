// The review of duplicates: each decision takes effect at once, moves on to the next group, and can be undone.
import { go, notify, send } from "./page.js";
import { clear, remove } from "./choosing.js";

const content = document.getElementById("content");
const groups = () => [...content.querySelectorAll(".group")];
const undone = [];

function reviewed(group, is = true) {
  group.classList.toggle("reviewed", is);
  const all = groups(), done = all.filter((one) => one.classList.contains("reviewed")).length;
  content.querySelector("[data-progress]").setAttribute("width", `${100 * done / all.length}%`);
  content.querySelector("[data-reviewed]").textContent = `${done} of ${all.length} groups reviewed`;
}

function onward(group) {
  const all = groups();
  const next = all.slice(all.indexOf(group) + 1).find((one) => !one.classList.contains("reviewed"));
  (next ?? group).focus();
  next?.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

function copies(group) {
  return [...group.querySelectorAll(".members .pick-tile:not([hidden])")].map((one) => one.dataset.key);
}

function drop(group) {
  const some = copies(group);
  const form = group.querySelector("[data-review=delete]");
  if (!some.length || !form) return;
  remove(some, form.getAttribute("action"), () => { reviewed(group, false); group.focus(); });
  clear();
  reviewed(group);
  onward(group);
}

async function distinct(group) {
  const form = group.querySelector("[data-review=judge]");
  if (!form) return;
  const pairs = [["first", group.dataset.keeper], ...copies(group).map((key) => ["second", key])];
  if (pairs.length < 2) return;
  const response = await send(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(pairs), headers: { "x-part": "1" } });
  if (!response) return;
  undone.push([group, pairs.length - 1]);
  reviewed(group);
  onward(group);
  notify("Noted: they are not duplicates.", "", ["Undo", back]);
}

async function back() {
  const last = undone.pop();
  if (!last) return notify("There is nothing to undo on this page.");
  const form = document.getElementById("undo-judgement");
  const response = await send(form.getAttribute("action"), {
    method: "POST", body: new URLSearchParams([["number", String(last[1])]]), headers: { "x-part": "1" },
  });
  if (!response) { undone.push(last); return; }
  reviewed(last[0], false);
  last[0].focus();
  notify("Taken back.");
}

content.addEventListener("submit", (event) => {
  const kind = event.target.dataset.review;
  const group = event.target.closest(".group");
  if (event.target.id === "undo-judgement" && undone.length) { event.preventDefault(); back(); }
  if (!kind || !group) return;
  event.preventDefault();
  if (kind === "delete") drop(group); else distinct(group);
});

content.addEventListener("click", (event) => {
  if (!event.target.closest("[data-keep]")) return;
  const group = event.target.closest(".group");
  reviewed(group);
  onward(group);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select, dialog")) return;
  const all = groups();
  if (!all.length) return;
  const group = document.activeElement?.closest(".group");
  if (event.key === "j" || event.key === "k") {
    const next = group ? all[all.indexOf(group) + (event.key === "j" ? 1 : -1)] : all[0];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  } else if (event.key === "z") back();
  else if (group && event.key === "d") drop(group);
  else if (group && event.key === "n") distinct(group);
});

// The search takes a while: the page is there before it, and states that it works.

function working() {
  const button = content.querySelector("a[data-begin]");
  if (!button) return null;
  button.hidden = true;
  content.querySelector(".working").hidden = false;
  document.getElementById("spoken").textContent = "Comparing the pictures";
  return button;
}

content.addEventListener("click", (event) => { if (event.target.closest("a[data-begin]")) working(); });
if (content.querySelector("a[data-begin=now]")) go(working().href, { push: false });
