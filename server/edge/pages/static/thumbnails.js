// The small pictures of many items, with one request: a request for each picture would hold up the scrolling.
import { send } from "./page.js";

const AT_ONCE = 60;
const collection = () => location.pathname.split("/").slice(0, 3).join("/");

/** Load the pictures inside an element that name their item alone. */
export async function thumbnails(root) {
  const waiting = [...root.querySelectorAll("img[data-picture]")];
  for (let first = 0; first < waiting.length && root.isConnected; first += AT_ONCE) await load(waiting.slice(first, first + AT_ONCE));
}

async function load(images) {
  const query = new URLSearchParams(images.map((one) => ["key", one.dataset.picture]));
  const response = await send(`${collection()}/thumbnails?${query}`);
  if (!response) return;
  const bytes = await response.arrayBuffer(), sizes = new DataView(bytes);
  let at = 0;
  for (const image of images) {
    const size = sizes.getUint32(at);
    if (size) fill(image, new Blob([new Uint8Array(bytes, at + 4, size)], { type: "image/jpeg" }));
    at += 4 + size;
  }
}

function fill(image, picture) {
  const address = URL.createObjectURL(picture), free = () => URL.revokeObjectURL(address);
  image.addEventListener("load", free, { once: true });
  image.addEventListener("error", free, { once: true });
  image.removeAttribute("data-picture");
  image.src = address;
}
