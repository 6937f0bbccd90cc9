// What all pages share: the theme, requests to the server, notices, and content that is replaced in place.

/** Send a request with the token of the session; returns the response, or shows its error and returns null. */
export async function send(address, options = {}) {
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
  if (!response.ok) {
    notify(await message(response), "wrong");
    return null;
  }
  return response;
}

async function message(response) {
  const text = await response.text();
  const found = new DOMParser().parseFromString(text, "text/html").querySelector(".message p");
  return found?.textContent ?? `The server answered with the status ${response.status}.`;
}

/** Return the content of a page at an address, or null after an error. */
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
  setTimeout(() => notice.remove(), action ? 12000 : 6000);
}

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* kept for this page only */ }
});

/** Replace the content of the page by that at an address, and enter the address into the history. */
export async function go(address, { push = true } = {}) {
  const content = document.getElementById("content");
  content.setAttribute("aria-busy", "true");
  const text = await part(address);
  content.removeAttribute("aria-busy");
  if (text === null) return false;
  content.innerHTML = text;
  const title = content.querySelector("template[data-title]");
  if (title) document.title = title.dataset.title;
  if (push) history.pushState({ live: true }, "", address);
  content.dispatchEvent(new CustomEvent("content", { bubbles: true }));
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-live]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link.href);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-live]") || form.method !== "get") return;
  event.preventDefault();
  go(address(form, event.submitter));
});

/** Return the address that a form with the method GET leads to, without empty fields. */
export function address(form, submitter = null) {
  const query = new URLSearchParams();
  for (const [field, value] of new FormData(form, submitter)) if (value !== "") query.append(field, value);
  const text = query.toString();
  return new URL(form.action).pathname + (text ? `?${text}` : "");
}

addEventListener("popstate", () => go(location.pathname + location.search, { push: false }));
