"""The pages of a large collection in a browser: times until results are seen, frames while a person moves, bytes.

``python -m benchmarks page-speed [--json OUT] [--report DIR] [--items 100000]``

Each item has a picture, a label and a number. A result is seen when its picture is complete. Frames are those in
which a script may draw. It needs Playwright and chromium, which has no display here: a processor, which the server uses
as well, draws what elsewhere a graphics card draws.
"""

import argparse
import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.browser import browser_page
from benchmarks.frame.headlines import stated
from benchmarks.frame.workers import alone
from benchmarks.serve.data import SHARED, pictures
from benchmarks.serve.figures import OURS, Limit, figure, judged
from benchmarks.serve.process import free_port, serving
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import Query

LIMITS = {
    "a click, ms": Limit(most=300),
    "a click, 95 %, ms": Limit(most=300),
    "a chosen picture, ms": Limit(most=500),
    "a chosen picture, 95 %, ms": Limit(most=500),
    "frames a second, grid": Limit(least=50),
    "frames a second, map moved": Limit(least=50),
    "frames a second, map zoomed": Limit(least=50),
    "kB of a page without thumbnails": Limit(most=200),
}
NAME, VIEW, SIDE, BATCH, ROUNDS = "items", "color", 160, 1_000, 20
SPEED, SECONDS, NOISE = 1_500, 5.0, 0.02
"""Pixels a second of a scrolling person; how long frames are counted; deviation that makes items differ."""
_FIRST = {"search": ".tile img", "browse": ".pick-tile img"}
_SEEN = """(selector) => new Promise((seen) => {
  const look = () => {
    const image = document.querySelector(selector);
    if (image && image !== window.before && image.complete && image.naturalWidth > 1) {
      seen(performance.now() - (window.began ?? 0));
    } else requestAnimationFrame(look);
  };
  look();
})"""
_CLICK = """(number) => {
  window.before = document.querySelector(".tile img");
  window.began = performance.now();
  document.querySelectorAll(".tile a.hit")[number].click();
}"""
_CHOOSING = """() => document.addEventListener("change", () => {
  window.before = document.querySelector(".tile img");
  window.began = performance.now();
}, true)"""
_FRAMES = """(speed) => {
  window.times = [];
  let last = performance.now();
  const step = (now) => {
    if (speed) scrollBy({ top: speed * (now - last) / 1000, behavior: "instant" });
    times.push(now - last);
    last = now;
    if (times) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}"""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and figures."""
    with tempfile.TemporaryDirectory(prefix="crossview-pages-") as folder:
        home, images = Path(folder) / "home", pictures(options.data)
        alone(fill, home, options.items, options.data)
        (Path(folder) / "chosen.jpg").write_bytes(images[0])
        port = free_port()
        context = {"base_url": f"http://127.0.0.1:{port}", "viewport": {"width": 1440, "height": 900}}
        with serving(home, "--web", "--http-port", str(port)), browser_page(**context) as browser:
            figures = _search(browser, Path(folder) / "chosen.jpg") | _grid(browser) | _map(browser)
    rows = [figure("pages", "one person", OURS, name, value) for name, value in figures.items()]
    return {"settings": {"items": options.items}, "rows": rows}


def fill(folder: Path, items: int, photographs: Path) -> None:
    """Make a home with a collection of pictures and its map."""
    images = [_small(encoded) for encoded in pictures(photographs)]
    generator = np.random.default_rng(0)
    with Home(folder).create(NAME, [VIEW]) as collection:
        collection.items.put([NewItem(f"base {number}", image=image) for number, image in enumerate(images)])
        queries = [Query(VIEW, key=f"base {number}") for number in range(len(images))]
        base: Any = np.stack([result.vector for result in collection.embed(queries, space="raw")])
        for first in range(len(images), items, BATCH):
            numbers = np.arange(first, min(first + BATCH, items))
            rows = base[numbers % len(images)] + NOISE * generator.random((len(numbers), base.shape[1]), np.float32)
            collection.items.put(
                [
                    NewItem(
                        f"folder {number % 50:02}/picture {number:06}",
                        image=images[number % len(images)],
                        rows={VIEW: row},
                        labels=(f"label {number % 12}",),
                        attributes={"number": int(number)},
                    )
                    for number, row in zip(numbers.tolist(), rows, strict=True)
                ]
            )
        collection.maps.make(MapRequest(space="raw", method="pca"))


def _small(encoded: bytes) -> bytes:
    """Return a picture with sides of at most SIDE pixels, so that filling takes minutes."""
    with Image.open(io.BytesIO(encoded)) as opened:
        opened.thumbnail((SIDE, SIDE))
        file = io.BytesIO()
        opened.convert("RGB").save(file, "JPEG", quality=90)
    return file.getvalue()


def _search(page: Any, path: Path) -> dict[str, float]:
    """Return the times until results of clicks and of a chosen picture, and the bytes of the page."""
    sizes: list[int] = []

    def add(answer: Any) -> None:
        if "thumbnail" not in answer.url and answer.ok:
            sizes.append(len(answer.body()))

    page.on("response", add)
    page.goto(f"/c/{NAME}")
    page.evaluate(_SEEN, _FIRST["search"])
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", add)
    figures = {"kB of a page without thumbnails": sum(sizes) / 1_000}

    def click(number: int) -> None:
        page.evaluate(_CLICK, 1 + number % 10)

    figures |= _times("a click", page, click)
    page.goto(f"/c/{NAME}")
    page.evaluate(_CHOOSING)
    return figures | _times("a chosen picture", page, lambda _: page.set_input_files("#files", path))


def _times(name: str, page: Any, act: Callable[[int], object]) -> dict[str, float]:
    """Return the median and 95 % of the times after an action until its first result is seen."""
    times = []
    for number in range(ROUNDS + 1):
        act(number)
        times.append(page.evaluate(_SEEN, _FIRST["search"]))
        page.wait_for_load_state("networkidle")
    ordered = sorted(times[1:])  # the first search reads the index
    return {f"{name}, ms": statistics.median(ordered), f"{name}, 95 %, ms": ordered[int(0.95 * (len(ordered) - 1))]}


def _grid(page: Any) -> dict[str, float]:
    page.goto(f"/c/{NAME}/browse")
    opened = page.evaluate(_SEEN, _FIRST["browse"])
    page.wait_for_load_state("networkidle")
    return {"the grid opened, ms": opened, **_frames("grid", page, lambda: time.sleep(SECONDS), SPEED)}


def _map(page: Any) -> dict[str, float]:
    page.goto(f"/c/{NAME}/map")
    page.wait_for_load_state("networkidle")
    box = page.locator("#map").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def moved() -> None:
        page.mouse.move(x, y)
        page.mouse.down()
        for step in _steps():
            page.mouse.move(x + 200 * np.sin(step), y + 100 * np.cos(step))
        page.mouse.up()

    def zoomed() -> None:
        page.mouse.move(x, y)
        for step in _steps():
            page.mouse.wheel(0, -40 if step % 4 < 2 else 40)

    return _frames("map moved", page, moved) | _frames("map zoomed", page, zoomed)


def _steps() -> Iterator[float]:
    """Yield the seconds since the start, 60 times a second."""
    began = time.monotonic()
    while (step := time.monotonic() - began) < SECONDS:
        yield step
        time.sleep(1 / 60)


def _frames(name: str, page: Any, act: Callable[[], object], speed: int = 0) -> dict[str, float]:
    """Return the frames a second while an action goes on, and the longest time between two."""
    page.evaluate(_FRAMES, speed)
    act()
    times = page.evaluate("() => { const found = times; times = null; return found; }")[1:]
    return {f"frames a second, {name}": 1_000 / statistics.mean(times), f"longest frame, {name}, ms": max(times)}


def markdown(document: Document) -> str:
    """Return the report."""
    items = document["settings"]["items"]
    return f"# Pages\n\n{items:,} items with pictures, one person.\n\n{judged(document['rows'], LIMITS)}\n"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=positive, default=100_000)
    parser.add_argument("--data", type=Path, default=SHARED, help="holds corel1k/images; drawn pictures where missing")


BENCHMARK = Benchmark(
    "page-speed",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Click on the page of a collection of 100,000 items: ms",
        "{0:.0f}",
        "300 wanted",
        {"metric": "a click, ms"},
    ),
)
