// The search page: pictures that are dropped, pasted or chosen, keys, further results, details, why, and conditions.
import { move } from "./arrows.js";
import { address, go, notify, part, send } from "./page.js";
import "./completion.js";

const content = document.getElementById("content");
const collection = () => location.pathname.split("/").slice(0, 3).join("/");

/** Return the address of the page with another query; the function changes the fields. */
function changed(change, page = "") {
  const fields = new URLSearchParams(location.search);
  change(fields);
  const query = fields.toString();
  return collection() + page + (query ? `?${query}` : "");
}

// Examples

function remove(fields, name, value) {
  const kept = fields.getAll(name).filter((one) => one !== value);
  const had = kept.length < fields.getAll(name).length;
  fields.delete(name);
  for (const one of kept) fields.append(name, one);
  return had;
}

/** Make an item an example (like) or a counter-example (not-like), or none if it is that already. */
function mark(key, field) {
  go(changed((fields) => {
    const had = remove(fields, field, key);
    remove(fields, field === "like" ? "not-like" : "like", key);
    if (!had) fields.append(field, key);
  }));
}

async function upload(files) {
  const pictures = [...files].filter((one) => one.type.startsWith("image/"));
  if (!pictures.length) return notify("That is no picture. Choose a file such as JPEG, PNG or WebP.", "wrong");
  content.setAttribute("aria-busy", "true");
  const sent = await Promise.all(pictures.slice(0, 12).map((body) =>
    send("/pictures", { method: "POST", body, headers: { "content-type": "application/octet-stream" } })));
  content.removeAttribute("aria-busy");
  const found = await Promise.all(sent.filter(Boolean).map((one) => one.json()));
  if (!found.length) return;
  await go(changed((fields) => {
    for (const { id } of found) { remove(fields, "picture", id); fields.append("picture", id); }
    fields.delete("item");
  }));
}

let inside = 0;
const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
addEventListener("dragenter", (event) => { if (carries(event)) { inside++; document.body.classList.add("dropping"); } });
addEventListener("dragleave", (event) => { if (carries(event) && --inside <= 0) leave(); });
addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
addEventListener("drop", (event) => { if (carries(event)) { event.preventDefault(); leave(); upload(event.dataTransfer.files); } });
function leave() { inside = 0; document.body.classList.remove("dropping"); }
addEventListener("paste", (event) => {
  if (event.clipboardData?.files.length) { event.preventDefault(); upload(event.clipboardData.files); }
});

// Controls

content.addEventListener("change", (event) => {
  const field = event.target;
  if (field.id === "files") return upload(field.files);
  if (field.form?.id !== "search" || field.id === "words" || field.id === "where") return;
  go(address(field.form));
});

document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details[data-popover][open]")) if (!open.contains(event.target)) open.open = false;
  const button = event.target.closest("[data-act]");
  if (!button) return;
  const holder = button.closest("[data-key]");
  if (button.dataset.act === "settings") button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") === "false"));
  act(button.dataset.act, holder?.dataset.key, holder?.dataset.list);
});

function act(name, key, list) {
  if (name === "like" || name === "not-like") mark(key, name);
  else if (name === "item") details(key);
  else if (name === "why") why(key, list);
  else if (name === "close") close();
  else if (name === "close-why") document.getElementById("why").close();
}

// Details

let returnTo = null;

async function details(key) {
  const text = await part(changed((fields) => { fields.set("key", key); fields.delete("item"); }, "/item"));
  if (text === null) return;
  const panel = document.getElementById("panel");
  const box = document.createElement("div");
  box.innerHTML = text;
  document.getElementById("panel-content").replaceChildren(...box.querySelectorAll(".sheet"));
  if (panel.hidden) returnTo = document.activeElement;
  panel.hidden = false;
  history.replaceState(history.state, "", changed((fields) => fields.set("item", key)));
  panel.querySelector(".close").focus({ preventScroll: true });
}

function close() {
  const panel = document.getElementById("panel");
  if (!panel || panel.hidden) return;
  panel.hidden = true;
  history.replaceState(history.state, "", changed((fields) => fields.delete("item")));
  returnTo?.focus?.();
}

async function why(key, list) {
  const dialog = document.getElementById("why");
  const text = await part(changed((fields) => { fields.delete("item"); fields.set("key", key); fields.set("list", list ?? "0"); }, "/why"));
  if (text === null) return;
  document.getElementById("why-content").innerHTML = text;
  dialog.showModal();
}

document.addEventListener("pointerover", (event) => {
  const over = event.target.closest?.(".why [data-word], .why .key");
  const section = event.target.closest?.(".why");
  if (!section) return;
  const word = over?.dataset.word ?? over?.className.match(/w(\d)/)?.[1];
  for (const one of section.querySelectorAll("[data-word]")) one.classList.toggle("calm", word !== undefined && one.dataset.word !== word);
});

// Deletion: the item goes from the page at once, and from the collection when there is no way back any more.

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-delete]");
  if (!form) return;
  event.preventDefault();
  const key = new FormData(form).get("key");
  const tiles = [...document.querySelectorAll(".tile")].filter((one) => one.dataset.key === key);
  for (const tile of tiles) tile.hidden = true;
  close();
  const finish = () => {
    removeEventListener("pagehide", finish);
    clearTimeout(timer);
    send(form.action, { method: "POST", body: new URLSearchParams({ key }), redirect: "manual", keepalive: true });
  };
  const timer = setTimeout(finish, 10000);
  addEventListener("pagehide", finish);
  notify(`Deleted ${key.split("/").pop()}.`, "", ["Undo", () => {
    clearTimeout(timer);
    removeEventListener("pagehide", finish);
    for (const tile of tiles) tile.hidden = false;
  }]);
});

// Further results

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) more(entry.target);
}, { rootMargin: "900px 400px" });

async function more(item) {
  watcher.unobserve(item);
  if (item.dataset.asked) return;
  item.dataset.asked = "1";
  const text = await part(item.querySelector("a").href);
  if (text === null || !item.isConnected) return;
  const box = document.createElement("div");
  box.innerHTML = text;
  const shown = new Set([...item.parentElement.children].map((one) => one.dataset.key));
  item.replaceWith(...[...box.querySelectorAll(".tiles > li")].filter((one) => !shown.has(one.dataset.key) || one.matches(".more")));
  watch();
}

function watch() {
  const acts = document.getElementById("acts");
  if (acts) for (const tile of content.querySelectorAll(".tile:not(:has(.acts))")) tile.append(acts.content.cloneNode(true));
  for (const item of content.querySelectorAll(".tiles > .more")) watcher.observe(item);
}

content.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-more]");
  if (link) { event.preventDefault(); more(link.parentElement); }
});

// Keys

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) return close();
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); document.getElementById("words")?.focus(); return; }
  if (event.key === "?") { document.getElementById("help")?.showModal(); return; }
  const tile = document.activeElement?.closest(".tile");
  if (event.key.startsWith("Arrow")) {
    const tiles = [...content.querySelectorAll(".tile:not([hidden])")];
    if (tiles.length && !event.target.closest("dialog, [role=listbox]")) move(event, tiles, tile);
    return;
  }
  const wanted = { m: "like", n: "not-like", w: "why", i: "item" }[event.key];
  const holder = tile ?? document.querySelector("#panel:not([hidden]) [data-key]");
  if (wanted && holder && (wanted !== "why" || new URLSearchParams(location.search).size)) act(wanted, holder.dataset.key, holder.dataset.list);
});

// The time until the first result: of a whole page from the click on, of a part from the request on.

function clock(began) {
  requestAnimationFrame(() => {
    const shown = document.getElementById("clock");
    if (shown) shown.textContent = `${Math.round(performance.now() - began)} ms`;
  });
}

content.addEventListener("content", (event) => { watch(); clock(event.detail.began); });
watch();
clock(0);
