// The arrow keys among tiles: to the next one, or to the nearest one in the row above or below.

const ROWS = 40;  // tiles before and after the present one in which the nearest of another row is sought

/** Move the focus from a tile, or to the first without one, in the direction of the pressed arrow. */
export function move(event, tiles, tile) {
  event.preventDefault();
  const next = tile ? neighbor(event.key, tiles, tile) : tiles[0];
  next?.querySelector("a.hit").focus();
  next?.scrollIntoView({ block: "nearest" });
}

function neighbor(key, tiles, tile) {
  const at = tiles.indexOf(tile);
  if (key === "ArrowUp" || key === "ArrowDown") return inRow(tiles.slice(Math.max(0, at - ROWS), at + ROWS + 1), tile, key === "ArrowDown");
  const forward = getComputedStyle(tile).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
  return tiles[at + (key === forward ? 1 : -1)];
}

function inRow(tiles, tile, down) {
  const from = tile.getBoundingClientRect();
  let best = null, least = Infinity;
  for (const one of tiles) {
    const box = one.getBoundingClientRect();
    const away = down ? box.top - from.top : from.top - box.top;
    if (away < 8) continue;
    const cost = away * 4 + Math.abs(box.left - from.left);
    if (cost < least) { least = cost; best = one; }
  }
  return best;
}
