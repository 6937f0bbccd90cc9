// Items that a person chooses on a page, and actions on them. Pages with a form "chosen" use this.
import { move } from "./arrows.js";
import { notify, part, send } from "./page.js";

const content = document.getElementById("content");
const AT_ONCE = 1000, MOST_AT_ONCE_DELETED = 200, MOST_OF_FORM = 1900;
const keys = new Set();
let last = null;

export const bar = () => document.getElementById("chosen");
const everything = () => bar()?.elements.all?.checked ?? false;
const boxOf = (tile) => tile.querySelector(".choose input");
const tiles = () => [...content.querySelectorAll(".pick-tile:not([hidden])")];

/** Draw what is chosen: in the tiles of an element, and in the bar. */
export function show(root = content) {
  const form = bar();
  if (!form) return;
  const whole = everything();
  for (const tile of root.querySelectorAll(".pick-tile")) boxOf(tile).checked = whole || keys.has(tile.dataset.key);
  const number = whole ? Number(form.dataset.all) : keys.size;
  form.classList.toggle("active", number > 0);
  document.documentElement.classList.toggle("choosing", number > 0);
  form.querySelector("[data-count]").textContent = number ? `${number.toLocaleString()} chosen` : "";
  content.dispatchEvent(new CustomEvent("chosen", { bubbles: true, detail: { keys, whole } }));
}

/** Choose keys, or no longer, or exactly these. */
export function choose(some, { on = true, only = false } = {}) {
  if (only) keys.clear();
  if (everything()) bar().elements.all.checked = false;
  for (const key of some) if (on) keys.add(key); else keys.delete(key);
  show();
}

export function clear() {
  if (everything()) bar().elements.all.checked = false;
  keys.clear();
  last = null;
  show();
}

function toggle(tile, range) {
  const on = !(everything() || keys.has(tile.dataset.key));
  const all = tiles();
  const from = range ? all.findIndex((one) => one.dataset.key === last) : -1;
  const to = all.indexOf(tile);
  if (from < 0) choose([tile.dataset.key], { on });
  else choose(all.slice(Math.min(from, to), Math.max(from, to) + 1).map((one) => one.dataset.key));
  last = tile.dataset.key;
}

content.addEventListener("click", (event) => {
  const tile = event.target.closest(".pick-tile");
  if (!tile || !bar()) return;
  if (event.target.closest(".choose")) {
    if (event.target.tagName !== "INPUT") return;  // the click on the label comes again, on its box
    event.target.checked = !event.target.checked;
    toggle(tile, event.shiftKey);
  } else if (event.target.closest(".hit") && (event.shiftKey || keys.size || everything()) && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    toggle(tile, event.shiftKey);
  }
});

content.addEventListener("change", (event) => {
  if (event.target.name === "all") { keys.clear(); show(); }
});

// Actions

function batches() {
  if (everything()) return [[["all", "1"]]];
  const all = [...keys], made = [];
  for (let first = 0; first < all.length; first += AT_ONCE) made.push(all.slice(first, first + AT_ONCE).map((key) => ["key", key]));
  return made;
}

function fieldsOf(form) {
  return [...new FormData(form)].filter(([field]) => field !== "key" && field !== "all" && field !== "csrf");
}

async function post(action, pairs) {
  return send(action, { method: "POST", body: new URLSearchParams(pairs), headers: { "x-part": "1" } });
}

async function label(form, verb, some = batches(), quiet = false) {
  const name = form.elements["label-name"].value;
  if (!name.trim()) { form.elements["label-name"].focus(); return notify("Write a label first.", "wrong"); }
  const fields = fieldsOf(form).filter(([field]) => field !== "do");
  const changed = [];
  let number = 0;
  for (const one of some) {
    const response = await post(form.getAttribute("action"), [...one, ...fields, ["do", verb]]);
    if (!response) break;
    const found = await response.json();
    number += found.changed;
    changed.push(...found.keys);
  }
  const said = verb === "add" ? "now have" : "no longer have";
  const undo = ["Undo", () => {
    form.elements["label-name"].value = name;
    const back = [];
    for (let first = 0; first < changed.length; first += AT_ONCE) back.push(changed.slice(first, first + AT_ONCE).map((key) => ["key", key]));
    label(form, verb === "add" ? "remove" : "add", back, true);
  }];
  notify(`${number.toLocaleString()} item${number === 1 ? "" : "s"} ${said} the label ${name}.`, "", quiet || !changed.length ? null : undo);
  sides();
}

/** Load the numbers beside the grid again. */
async function sides() {
  const old = content.querySelector(".sides");
  if (!old) return;
  const text = await part(location.pathname + location.search);
  if (text === null) return;
  const box = document.createElement("div");
  box.innerHTML = text;
  const made = box.querySelector(".sides");
  if (made) old.replaceWith(made);
}

async function download(form, action) {
  const parts = [];
  for (const one of batches()) {
    const response = await post(action, [...one, ...fieldsOf(form)]);
    if (!response) return;
    const text = await response.text();
    parts.push(parts.length ? text.slice(text.indexOf("\r\n") + 2) : text);
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
  link.download = `${location.pathname.split("/")[2]}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Take items from the page at once, and from the collection when there is no way back any more. */
export function remove(some, action, after = () => {}) {
  const gone = new Set(some);
  const hidden = tiles().filter((tile) => gone.has(tile.dataset.key));
  for (const tile of hidden) tile.hidden = true;
  const finish = async () => {
    removeEventListener("pagehide", finish);
    clearTimeout(timer);
    const response = await send(action, {
      method: "POST", keepalive: true, headers: { "x-part": "1" },
      body: new URLSearchParams([["sure", "1"], ...some.map((key) => ["key", key])]),
    });
    if (!response) for (const tile of hidden) tile.hidden = false;
    else sides();
  };
  const timer = setTimeout(finish, 10000);
  addEventListener("pagehide", finish);
  notify(`Deleted ${some.length.toLocaleString()} item${some.length === 1 ? "" : "s"} from the collection. The files stay.`, "", ["Undo", () => {
    clearTimeout(timer);
    removeEventListener("pagehide", finish);
    for (const tile of hidden) tile.hidden = false;
    after();
  }]);
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (form !== bar()) return;
  const action = button?.getAttribute("formaction");
  if (button?.dataset.do === "delete") {
    if (!everything() && keys.size <= MOST_AT_ONCE_DELETED) {
      event.preventDefault();
      const some = [...keys];
      clear();
      return remove(some, action);
    }
    if (keys.size > MOST_OF_FORM) {
      event.preventDefault();
      return notify("That are too many items to delete at once: narrow the page down, and choose all of it.", "wrong");
    }
    for (const one of form.querySelectorAll("input[data-added]")) one.remove();
    const here = new Set(tiles().map((tile) => tile.dataset.key));
    for (const key of keys) if (!here.has(key)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "key", value: key }));
    return;
  }
  event.preventDefault();
  if (button?.dataset.do === "export") download(form, action);
  else label(form, button?.value ?? "add");
});

content.addEventListener("click", (event) => { if (event.target.closest("[data-do=clear]")) clear(); });

// Keys

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !bar()) return;
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) { if (typing) typing.blur(); else clear(); return; }
  if (typing || event.target.closest("dialog")) return;
  const tile = document.activeElement?.closest(".pick-tile");
  const key = event.key.toLowerCase();
  if (event.key === "?") document.getElementById("help")?.showModal();
  else if (key === "x" && tile) toggle(tile, event.key === "X");
  else if (key === "a" && bar().elements.all) { bar().elements.all.checked = !everything(); keys.clear(); show(); }
  else if (key === "l" && (keys.size || everything())) { event.preventDefault(); bar().elements["label-name"].focus(); }
  else if (event.key.startsWith("Arrow") && !event.target.closest("[data-own-arrows]")) {
    const all = tiles();
    if (all.length && (tile || event.target === document.body || event.target.id === "content")) move(event, all, tile);
  }
});

content.addEventListener("content", clear);
show();
