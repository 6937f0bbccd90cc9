// The grid of all items: pages come as they are needed, and go when they are far away; the address keeps the place.
import { part } from "./page.js";
import { show } from "./choosing.js";
import { thumbnails } from "./thumbnails.js";

const content = document.getElementById("content");
const grid = () => document.getElementById("grid");

// Pages that are far away are empty boxes of the same height.

const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) fill(target); else empty(target);
}, { rootMargin: "3000px 0px" });

function empty(page) {
  if (page.dataset.off || !page.firstElementChild || page.contains(document.activeElement)) return;
  page.style.blockSize = `${page.getBoundingClientRect().height}px`;
  page.dataset.off = "1";
  page.replaceChildren();
}

async function fill(page) {
  if (page.dataset.off !== "1") return;
  page.dataset.off = "loading";
  const text = await part(page.dataset.address);
  if (text === null) { page.dataset.off = "1"; return; }
  page.replaceChildren(...parsed(text).querySelectorAll(".pick-tile"));
  delete page.dataset.off;
  page.style.blockSize = "";
  show(page);
  thumbnails(page);
}

function parsed(text) {
  const box = document.createElement("template");
  box.innerHTML = text;
  return box.content;
}

const end = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) next(entry.target);
}, { rootMargin: "2000px 0px" });

async function next(link) {
  end.unobserve(link);
  const text = await part(link.dataset.next);
  if (text === null || !link.isConnected) return;
  const made = [...parsed(text).querySelectorAll("#grid > *")];
  link.replaceWith(...made);
  for (const one of made) { watch(one); thumbnails(one); }
}

function watch(one) {
  if (one.matches(".page")) { near.observe(one); show(one); remember(); }
  if (one.matches(".more")) end.observe(one);
}

// The place

const base = () => {
  const fields = new URLSearchParams(location.search);
  fields.delete("after");
  return `places ${location.pathname}?${fields}`;
};

function remember() {
  const places = [...grid().querySelectorAll(".page")].map((page) => page.dataset.place);
  try { sessionStorage.setItem(base(), JSON.stringify(places.slice(-5000))); } catch { /* the place is kept by the address alone */ }
}

/** Put boxes for the pages before the first one, if this browser has seen them, so that a person can scroll back. */
function restore() {
  const first = grid().querySelector(".page");
  if (!first?.dataset.place) return;
  let places = [];
  try { places = JSON.parse(sessionStorage.getItem(base()) ?? "[]"); } catch { return; }
  const before = places.slice(0, Math.max(0, places.indexOf(first.dataset.place)));
  if (!before.length || before[0] !== "") return;
  const height = first.getBoundingClientRect().height;
  for (const place of before) {
    const page = document.createElement("ul");
    page.className = first.className;
    const address = new URL(first.dataset.address, location.origin);
    if (place) address.searchParams.set("after", place); else address.searchParams.delete("after");
    Object.assign(page.dataset, { address: address.pathname + address.search, place, off: "1" });
    page.style.blockSize = `${height}px`;
    first.before(page);
  }
  content.querySelector(".earlier")?.remove();
  scrollTo({ top: first.getBoundingClientRect().top + scrollY - 80 });
}

let waiting = 0;
addEventListener("scroll", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const pages = [...(grid()?.querySelectorAll(".page") ?? [])];
    const top = pages.find((page) => page.getBoundingClientRect().bottom > 80);
    if (!top) return;
    const fields = new URLSearchParams(location.search);
    if ((fields.get("after") ?? "") === top.dataset.place) return;
    if (top.dataset.place) fields.set("after", top.dataset.place); else fields.delete("after");
    const query = fields.toString();
    history.replaceState(history.state, "", location.pathname + (query ? `?${query}` : ""));
  }, 250);
}, { passive: true });

function begin() {
  near.disconnect();
  end.disconnect();
  if (!grid()) return;
  restore();
  for (const one of grid().children) watch(one);
}

content.addEventListener("content", begin);
begin();
