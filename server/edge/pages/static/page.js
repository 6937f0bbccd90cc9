// What all pages share: the theme, requests to the server, notices, and content that is replaced in place.

/** Send a request with the token of the session. Returns the response; null after an error, which a notice shows. */
export async function send(address, options = {}) {
  const response = await request(address, options);
  if (response && !response.ok) {
    notify(await message(response), "wrong");
    return null;
  }
  return response;
}

async function request(address, options) {
  const headers = { "x-csrf-token": document.querySelector("meta[name=csrf]").content, ...(options.headers ?? {}) };
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options, headers });
  } catch (error) {
    if (error.name !== "AbortError") notify("The server cannot be reached. Is it still running?", "wrong");
    return null;
  }
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    return null;
  }
  return response;
}

async function message(response) {
  const found = new DOMParser().parseFromString(await response.text(), "text/html").querySelector(".message p, [role=alert]");
  return found?.textContent ?? `The server answered with the status ${response.status}.`;
}

/** Return the content of the page at an address, or null after an error, which a notice shows. */
export async function part(address, signal) {
  const response = await send(address, { headers: { "x-part": "1" }, signal });
  return response && response.text();
}

/** Show a sentence for a few seconds, with an optional action [label, function]. */
export function notify(text, kind = "", action = null) {
  const notice = document.createElement("p");
  notice.className = `notice ${kind}`;
  notice.textContent = text;
  if (action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = action[0];
    button.addEventListener("click", () => { notice.remove(); action[1](); });
    notice.append(button);
  }
  document.getElementById("notices").append(notice);
  setTimeout(() => notice.remove(), 10000);
}

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* kept for this page only */ }
});

let going = null;

/** Replace the content of the page by that at an address, and enter the address into the history. */
export async function go(address, { push = true } = {}) {
  going?.abort();
  const mine = going = new AbortController();
  const content = document.getElementById("content");
  const began = performance.now();
  content.setAttribute("aria-busy", "true");
  const response = await request(address, { headers: { "x-part": "1" }, signal: mine.signal });
  const text = response && await response.text().catch(() => null);
  if (mine !== going) return false;
  content.removeAttribute("aria-busy");
  if (text === null) return false;
  const focused = document.activeElement?.id;
  content.innerHTML = text;
  const title = content.querySelector("template[data-title]");
  if (title) document.title = title.dataset.title;
  if (push) history.pushState({ live: true }, "", address);
  if (focused && content.querySelector(`#${CSS.escape(focused)}`)) {
    const again = document.getElementById(focused);
    again.focus({ preventScroll: true });
    if (again.type === "search") again.setSelectionRange(again.value.length, again.value.length);
  }
  document.getElementById("spoken").textContent = [...content.querySelectorAll("[data-status]")].map((one) => one.textContent).join(". ");
  content.dispatchEvent(new CustomEvent("content", { bubbles: true, detail: { began } }));
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-live]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (link.closest(".tile")) scrollTo({ top: 0 });
  go(link.href.baseVal ?? link.href);  // that of a link in a drawing is a value
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-live]") || form.method !== "get") return;
  event.preventDefault();
  go(address(form));
});

/** Return the address that a form with the method GET leads to, without empty fields. */
export function address(form) {
  const query = new URLSearchParams();
  for (const [field, value] of new FormData(form)) if (typeof value === "string" && value !== "") query.append(field, value);
  const text = query.toString();
  return new URL(form.action).pathname + (text ? `?${text}` : "");
}

// A job that adds pictures: its progress is read again until it ends; the first pictures appear by themselves.

const FIRST = 60;

async function follow() {
  const box = document.querySelector("[data-follows-job]");
  const text = box && !document.hidden ? await part(box.dataset.followsJob) : null;
  if (text !== null && box.isConnected) {
    const cancel = box.contains(document.activeElement);
    box.innerHTML = text;
    if (cancel) document.getElementById("cancel")?.focus();
    const shown = document.querySelectorAll(".tile, .pick-tile").length;
    const items = Number(box.querySelector("[data-items]").dataset.items);
    const ended = !box.querySelector("[data-runs]");
    const idle = !document.activeElement?.matches("input, select, textarea") && !document.querySelector("dialog[open], :checked[name=key]");
    if (idle && (ended || shown < Math.min(FIRST, items))) await go(location.pathname + location.search, { push: false });
  }
  setTimeout(follow, 1500);
}

if (document.querySelector("[data-follows-job]")) setTimeout(follow, 1500);

addEventListener("popstate", () => go(location.pathname + location.search, { push: false }));

/** Scroll the tabs until the current one is in the middle; scrollIntoView would also let the Tab key begin there. */
function center(tab) {
  const row = tab.closest(".tabs"), place = tab.getBoundingClientRect(), frame = row.getBoundingClientRect();
  row.scrollLeft += place.left + place.width / 2 - frame.left - frame.width / 2;
}

document.querySelectorAll(".tabs [aria-current]").forEach(center);
