// The map of a space: points drawn on a canvas, to move, zoom and choose; the list beside it has what is in view.
import { go, send } from "./page.js";
import { choose, show } from "./choosing.js";

const content = document.getElementById("content");
const canvas = document.getElementById("map");
const PALETTE = ["#0f9d8f", "#e0762f", "#5b7fe8", "#d1477a", "#8fae2b", "#a05bd0", "#d4a514", "#3fa7d6", "#c2543f", "#5f9e63", "#b07a52", "#7a86c8"];
const SCALE = ["#3b4cc0", "#5a78e4", "#7b9ff9", "#9ebeff", "#c0c9d8", "#e2b79a", "#f29a7a", "#de604d", "#b40426"];
const OTHER = "#8d938e";
const PRETTY = 4000, PICTURES = 160, LISTED = 60;

// A job that makes a map

if (content.querySelector("[data-runs]")) poll();
async function poll() {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, 1500); });
    if (!await go(location.pathname + location.search, { push: false })) continue;
    if (!content.querySelector("[data-runs]")) break;
  }
  if (content.querySelector("#map")) location.assign(location.pathname);
}

if (canvas) begin();

function begin() {
  const context = canvas.getContext("2d");
  const collection = canvas.dataset.collection;
  const [left, right, bottom, top] = canvas.dataset.bounds.split(" ").map(Number);
  const keys = [], number = Number(canvas.dataset.items);
  const xs = new Float64Array(number), ys = new Float64Array(number), groups = new Uint8Array(number);
  const chosen = new Uint8Array(number);
  const places = new Map();
  const pictures = new Map();
  let colours = [OTHER], names = [], counts = [], dimmed = null;
  let width = 0, height = 0, density = 1;
  const view = { x: (left + right) / 2, y: (bottom + top) / 2, scale: 1 };
  let buffer = null, lasso = null, tool = "move", asked = false, whole = false;

  // Points

  async function load() {
    const field = document.getElementById("field").value;
    let token = "", count = 0;
    const found = new Map(), raw = [];
    do {
      const query = new URLSearchParams({ id: canvas.dataset.id, field, token });
      const response = await send(`${collection}/map/points?${query}`);
      if (!response) return;
      const page = await response.json();
      for (let n = 0; n < page.keys.length && count < number; n++, count++) {
        keys[count] = page.keys[n];
        xs[count] = page.x[n];
        ys[count] = page.y[n];
        places.set(page.keys[n], count);
        const value = page.places[n] < 0 ? null : page.values[page.places[n]];
        raw[count] = value;
        found.set(value, (found.get(value) ?? 0) + 1);
      }
      token = page.next;
      colour(raw, found);
      draw();
    } while (token);
    listed();
  }

  /** Give the most frequent values colours of their own, and many numbers a scale. */
  function colour(raw, found) {
    const values = [...found.keys()].filter((one) => one !== null);
    const numbers = values.length > PALETTE.length && values.every((one) => typeof one === "number");
    names = []; colours = [OTHER]; counts = [];
    if (numbers) {
      const least = Math.min(...values), most = Math.max(...values), step = (most - least) / SCALE.length || 1;
      const of = (value) => Math.min(SCALE.length - 1, Math.floor((value - least) / step));
      for (let n = 0; n < SCALE.length; n++) { names[n] = `${shortNumber(least + n * step)}–${shortNumber(least + (n + 1) * step)}`; colours[n + 1] = SCALE[n]; counts[n] = 0; }
      for (let n = 0; n < raw.length; n++) { groups[n] = raw[n] === null ? 0 : 1 + of(raw[n]); if (groups[n]) counts[groups[n] - 1]++; }
    } else {
      const ranked = values.sort((a, b) => found.get(b) - found.get(a)).slice(0, PALETTE.length);
      const place = new Map(ranked.map((one, n) => [one, n + 1]));
      for (let n = 0; n < raw.length; n++) groups[n] = place.get(raw[n]) ?? 0;
      names = ranked.map(String); counts = ranked.map((one) => found.get(one));
      ranked.forEach((_, n) => { colours[n + 1] = PALETTE[n]; });
    }
    legend();
  }

  const shortNumber = (value) => Math.abs(value) >= 1000 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(3);
  const clean = (text) => text.replace(/[\u0000-\u001f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "").slice(0, 60);

  function legend() {
    const box = document.getElementById("legend");
    box.replaceChildren(...names.map((text, n) => {
      const item = document.createElement("li"), button = document.createElement("button"), dot = document.createElement("i"), name = document.createElement("bdi");
      button.type = "button";
      button.setAttribute("aria-pressed", String(dimmed === n + 1));
      dot.style.background = colours[n + 1];
      name.textContent = clean(text);
      button.append(dot, name, ` ${counts[n].toLocaleString()}`);
      button.addEventListener("click", () => { dimmed = dimmed === n + 1 ? null : n + 1; legend(); draw(); });
      item.append(button);
      return item;
    }));
  }

  // Drawing: few points as discs, many into the pixels themselves, which takes milliseconds for 100,000

  function size() {
    density = Math.min(2, devicePixelRatio || 1);
    const box = canvas.getBoundingClientRect();
    width = canvas.width = Math.max(1, Math.round(box.width * density));
    height = canvas.height = Math.max(1, Math.round(box.height * density));
    buffer = null;
    if (whole || !view.sized) all();
    view.sized = true;
    draw();
  }

  function all() {
    view.x = (left + right) / 2;
    view.y = (bottom + top) / 2;
    view.scale = 0.9 * Math.min(width / (right - left || 1), height / (top - bottom || 1));
    whole = true;
  }

  function draw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; paint(); });
  }

  const px = (n) => (xs[n] - view.x) * view.scale + width / 2;
  const py = (n) => (view.y - ys[n]) * view.scale + height / 2;

  function visible(most) {
    const found = [];
    const dx = width / 2 / view.scale, dy = height / 2 / view.scale;
    for (let n = 0; n < keys.length; n++) {
      if (Math.abs(xs[n] - view.x) <= dx && Math.abs(ys[n] - view.y) <= dy) { found.push(n); if (found.length > most) break; }
    }
    return found;
  }

  function paint() {
    const few = visible(PRETTY);
    context.clearRect(0, 0, width, height);
    if (few.length > PRETTY) pixels();
    else if (few.length > PICTURES || keys.length < 20) discs(few);
    else tiles(few);
    if (lasso) outline();
    canvas.dataset.frames = String(1 + Number(canvas.dataset.frames ?? 0));
  }

  function discs(few) {
    const radius = density * Math.min(7, 2.4 + 300 / (few.length + 60));
    for (const pass of [0, 1]) {
      for (const n of few) {
        if (chosen[n] !== pass) continue;
        context.globalAlpha = dimmed !== null && groups[n] !== dimmed ? 0.12 : 0.85;
        context.fillStyle = colours[groups[n]] ?? OTHER;
        context.beginPath();
        context.arc(px(n), py(n), pass ? radius * 1.5 : radius, 0, 7);
        context.fill();
        if (pass) { context.lineWidth = 2 * density; context.strokeStyle = ink(); context.globalAlpha = 1; context.stroke(); }
      }
    }
    context.globalAlpha = 1;
  }

  const ink = () => getComputedStyle(canvas).color;

  function pixels() {
    buffer ??= context.createImageData(width, height);
    const data = new Uint32Array(buffer.data.buffer);
    data.fill(0);
    const packed = colours.map((one) => pack(one, 255)), dim = colours.map((one) => pack(one, 40)), marked = pack(rgb(ink()), 255);
    const reach = Math.max(1, Math.round(density));
    for (let n = 0; n < keys.length; n++) {
      const x = Math.round(px(n)), y = Math.round(py(n));
      if (x < reach + 1 || y < reach + 1 || x >= width - reach - 1 || y >= height - reach - 1) continue;
      const value = chosen[n] ? marked : dimmed !== null && groups[n] !== dimmed ? dim[groups[n]] : packed[groups[n]];
      for (let row = -reach; row <= reach; row++) {
        const at = (y + row) * width + x;
        for (let column = -reach; column <= reach; column++) data[at + column] = value;
      }
    }
    context.putImageData(buffer, 0, 0);
  }

  const rgb = (text) => { const [r, g, b] = text.match(/\d+/g).map(Number); return `#${[r, g, b].map((one) => one.toString(16).padStart(2, "0")).join("")}`; };
  const pack = (hex, alpha) => ((alpha << 24) | (parseInt(hex.slice(5, 7), 16) << 16) | (parseInt(hex.slice(3, 5), 16) << 8) | parseInt(hex.slice(1, 3), 16)) >>> 0;

  function tiles(few) {
    const side = density * (few.length > 80 ? 36 : few.length > 30 ? 48 : 64);
    for (const n of few) {
      const x = px(n) - side / 2, y = py(n) - side / 2, picture = pictureOf(n);
      context.globalAlpha = dimmed !== null && groups[n] !== dimmed ? 0.15 : 1;
      if (picture.complete && picture.naturalWidth > 1) {
        const from = Math.min(picture.naturalWidth, picture.naturalHeight);
        context.drawImage(picture, (picture.naturalWidth - from) / 2, (picture.naturalHeight - from) / 2, from, from, x, y, side, side);
      } else {
        context.fillStyle = colours[groups[n]] ?? OTHER;
        context.fillRect(x, y, side, side);
      }
      context.lineWidth = (chosen[n] ? 4 : 2) * density;
      context.strokeStyle = chosen[n] ? ink() : colours[groups[n]] ?? OTHER;
      context.strokeRect(x, y, side, side);
    }
    context.globalAlpha = 1;
  }

  const address = (key) => `${collection}/thumbnail?${new URLSearchParams({ key })}`;

  function pictureOf(n) {
    let picture = pictures.get(n);
    if (!picture) {
      if (pictures.size > 600) pictures.clear();
      picture = new Image();
      picture.addEventListener("load", draw);
      picture.src = address(keys[n]);
      pictures.set(n, picture);
    }
    return picture;
  }

  function outline() {
    context.beginPath();
    for (const [x, y] of lasso) context.lineTo(x, y);
    context.closePath();
    context.globalAlpha = 0.15;
    context.fillStyle = ink();
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5 * density;
    context.strokeStyle = ink();
    context.stroke();
  }

  // The list of what is in view, which also those read who do not see the map

  let listing = 0;
  function listed() {
    clearTimeout(listing);
    listing = setTimeout(() => {
      const few = visible(number).sort((a, b) => chosen[b] - chosen[a]);
      document.getElementById("map-list-title").textContent = `${few.length.toLocaleString()} in view${few.length > LISTED ? `, ${LISTED} listed` : ""}`;
      const list = document.getElementById("in-view");
      if (list.contains(document.activeElement)) return;
      list.replaceChildren(...few.slice(0, LISTED).map(tile));
      show(list.parentElement);
      const fields = new URLSearchParams(location.search);
      fields.set("id", canvas.dataset.id);
      if (whole) fields.delete("at"); else fields.set("at", [view.x, view.y, view.scale / density].map((one) => one.toPrecision(6)).join(" "));
      history.replaceState(history.state, "", `${location.pathname}?${fields}`);
    }, 300);
  }

  function tile(n) {
    const item = document.createElement("li"), link = document.createElement("a"), picture = document.createElement("span");
    const image = document.createElement("img"), label = document.createElement("label"), box = document.createElement("input"), name = document.createElement("span");
    const text = clean(keys[n].split("/").pop() || keys[n]);
    item.className = "pick-tile";
    item.dataset.key = keys[n];
    link.className = "hit";
    link.href = `${collection}/item?${new URLSearchParams({ key: keys[n] })}`;
    picture.className = "picture";
    Object.assign(image, { src: address(keys[n]), alt: text, loading: "lazy", width: 128, height: 128 });
    label.className = "choose";
    Object.assign(box, { type: "checkbox", name: "key", value: keys[n] });
    box.setAttribute("form", "chosen");
    name.className = "sr";
    name.textContent = `Choose ${text}`;
    picture.append(image);
    link.append(picture);
    label.append(box, name);
    item.append(link, label);
    return item;
  }

  content.addEventListener("chosen", (event) => {
    chosen.fill(event.detail.whole ? 1 : 0);
    for (const key of event.detail.keys) if (places.has(key)) chosen[places.get(key)] = 1;
    draw();
  });

  // Moving, zooming, choosing

  function zoom(factor, x = width / 2, y = height / 2) {
    const wx = view.x + (x - width / 2) / view.scale, wy = view.y - (y - height / 2) / view.scale;
    const least = 0.3 * Math.min(width / (right - left || 1), height / (top - bottom || 1));
    view.scale = Math.min(least * 20000, Math.max(least, view.scale * factor));
    view.x = wx - (x - width / 2) / view.scale;
    view.y = wy + (y - height / 2) / view.scale;
    moved();
  }

  function moved() { whole = false; draw(); listed(); }

  function pan(dx, dy) {
    view.x -= dx / view.scale;
    view.y += dy / view.scale;
    moved();
  }

  const at = (event) => { const box = canvas.getBoundingClientRect(); return [(event.clientX - box.left) * density, (event.clientY - box.top) * density]; };
  const down = new Map();
  let travelled = 0;

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, at(event));
    travelled = 0;
    if (down.size === 1 && (tool === "lasso" || event.shiftKey)) lasso = [at(event)];
    else { lasso = null; canvas.classList.add("dragging"); }
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = at(event), before = down.get(event.pointerId);
    if (!before) return hover(here);
    travelled += Math.hypot(here[0] - before[0], here[1] - before[1]);
    if (lasso) { lasso.push(here); draw(); }
    else if (down.size === 1) pan(here[0] - before[0], here[1] - before[1]);
    else pinch(event.pointerId, before, here);
    down.set(event.pointerId, here);
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => {
    down.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (kind === "pointerup" && travelled < 5 * density) pick(at(event));
    else if (lasso) inside(event.altKey);
    lasso = null;
    draw();
  });
  canvas.addEventListener("pointerleave", () => { document.getElementById("hover").hidden = true; });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY * 0.0016), ...at(event)); }, { passive: false });

  function pinch(id, before, here) {
    const other = [...down].find(([one]) => one !== id)?.[1];
    if (!other) return;
    const factor = Math.hypot(here[0] - other[0], here[1] - other[1]) / (Math.hypot(before[0] - other[0], before[1] - other[1]) || 1);
    zoom(factor, (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
  }

  function nearest([x, y], reach) {
    let best = -1, least = (reach * density) ** 2;
    for (let n = 0; n < keys.length; n++) {
      const away = (px(n) - x) ** 2 + (py(n) - y) ** 2;
      if (away < least) { least = away; best = n; }
    }
    return best;
  }

  function pick(here) {
    const n = nearest(here, visible(PICTURES).length > PICTURES ? 10 : 30);
    if (n >= 0) choose([keys[n]], { on: !chosen[n] });
  }

  function inside(off) {
    const found = [];
    const xsOf = lasso.map(([x]) => (x - width / 2) / view.scale + view.x), ysOf = lasso.map(([, y]) => view.y - (y - height / 2) / view.scale);
    const box = [Math.min(...xsOf), Math.max(...xsOf), Math.min(...ysOf), Math.max(...ysOf)];
    for (let n = 0; n < keys.length; n++) {
      if (xs[n] < box[0] || xs[n] > box[1] || ys[n] < box[2] || ys[n] > box[3]) continue;
      let odd = false;
      for (let a = 0, b = xsOf.length - 1; a < xsOf.length; b = a++) {
        if ((ysOf[a] > ys[n]) !== (ysOf[b] > ys[n]) && xs[n] < (xsOf[b] - xsOf[a]) * (ys[n] - ysOf[a]) / (ysOf[b] - ysOf[a]) + xsOf[a]) odd = !odd;
      }
      if (odd) found.push(keys[n]);
    }
    choose(found, { on: !off });
    listed();
  }

  let hovered = -1;
  function hover(here) {
    const n = nearest(here, 10);
    const box = document.getElementById("hover");
    box.hidden = n < 0;
    if (n < 0) { hovered = -1; return; }
    if (n !== hovered) {
      hovered = n;
      const image = document.createElement("img"), name = document.createElement("bdi");
      Object.assign(image, { src: address(keys[n]), alt: "" });
      name.textContent = clean(keys[n].split("/").pop() || keys[n]);
      box.replaceChildren(image, name);
    }
    const x = here[0] / density, y = here[1] / density;
    box.style.translate = `${x + 150 > width / density ? x - 130 : x + 14}px ${y + 150 > height / density ? y - 140 : y + 14}px`;
  }

  function use(name) {
    if (name === "in" || name === "out") {
      zoom(name === "in" ? 1.6 : 1 / 1.6);
      if (!visible(0).length) {  // the middle is empty: go on with the nearest point
        const n = nearest([width / 2, height / 2], Infinity);
        if (n >= 0) { view.x = xs[n]; view.y = ys[n]; moved(); }
      }
      return;
    }
    if (name === "all") { all(); draw(); listed(); return; }
    tool = name;
    canvas.classList.toggle("lasso", tool === "lasso");
    for (const one of content.querySelectorAll("[data-tool][aria-pressed]")) one.setAttribute("aria-pressed", String(one.dataset.tool === tool));
  }

  content.addEventListener("click", (event) => { const button = event.target.closest("[data-tool]"); if (button) use(button.dataset.tool); });
  canvas.addEventListener("keydown", (event) => {
    const step = 0.12 * Math.min(width, height);
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") use("in");
    else if (event.key === "-") use("out");
    else if (event.key === "0") use("all");
    else if (event.key === "Enter") choose(visible(number).map((n) => keys[n]));
    else return;
    event.preventDefault();
  });
  document.getElementById("field").addEventListener("change", () => {
    dimmed = null;
    const fields = new URLSearchParams(location.search);
    fields.set("field", document.getElementById("field").value);
    history.replaceState(history.state, "", `${location.pathname}?${fields}`);
    load();
  });

  const given = new URLSearchParams(location.search).get("at")?.split(" ").map(Number);
  new ResizeObserver(size).observe(canvas);
  size();
  if (given?.length === 3 && given.every(Number.isFinite) && given[2] > 0) {
    Object.assign(view, { x: given[0], y: given[1], scale: given[2] * density });
    whole = false;
  }
  load();
}
