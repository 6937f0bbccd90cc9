"""The demo of attributes: pictures that are more or less busy, warm and light, and searches along these attributes."""

import colorsys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.backend import CollectionBackend
from crossview.server.commands.demo.dataset import SIZE, Rng
from crossview.server.commands.demo.story import Connect, Echo, command, served
from crossview.server.commands.drawing.search_results import Strip, strips
from crossview.server.commands.drawing.sheet import write_sheet

NAME = "moods"
VIEW = "color+gist"
EXTRACTORS = ("color", "gist")
ATTRIBUTES = ("busy", "warm", "light")
CLASSES: Mapping[str, tuple[int, int, int]] = {
    "night": (0, 0, 0),
    "sky": (0, 0, 2),
    "snow": (0, 1, 3),
    "meadow": (1, 1, 2),
    "sand": (1, 2, 3),
    "dusk": (2, 2, 0),
    "market": (2, 3, 2),
    "embers": (3, 2, 1),
    "fire": (3, 3, 1),
}
"""The level of each attribute in each class, from 0 to 3; busier classes are usually warmer."""
HUES = (0.6, 0.4, 0.14, 0.01)
"""The hues of the levels of warm."""
VALUES = (0.2, 0.45, 0.7, 0.95)
"""The brightness of the levels of light."""
PER_CLASS, QUERIES_PER_CLASS = 24, 4
HITS = 8
SHOWN = "meadow"
"""The class of the query on the contact sheet."""
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "--more busy": {"more": {"busy": 2.0}},
    "--more busy --hold all": {"more": {"busy": 2.0}, "hold": ("all",)},
    "--less light": {"less": {"light": 2.0}},
    "--more warm --hold busy": {"more": {"warm": 2.0}, "hold": ("busy",)},
}
TO_TRY = (
    f"search {NAME} {{folder}}/queries/{SHOWN}/{SHOWN}-00.jpg --view {VIEW} --less light --hold all -k 5",
    f"search {NAME} --by-label fire --view {VIEW} -k 5",
    f"suggest {NAME} {{folder}}/queries/{SHOWN}/{SHOWN}-00.jpg --view {VIEW}",
)
"""Commands after the demo."""


def run_attributes(folder: Path, sheet: Path, echo: Echo, connect: Connect) -> None:
    """Run the demo in ``folder`` (pictures, queries, home), draw ``sheet``, and print every step with its command.

    Raises ServerUnavailableError if the server does not start.
    """
    began, pictures, home = time.monotonic(), folder / "pictures", folder / "home"
    count = write_moods(pictures, PER_CLASS, seed=0)
    write_moods(folder / "queries", QUERIES_PER_CLASS, seed=1)
    echo(f"Drew {count} pictures of {len(CLASSES)} classes, more or less {', '.join(ATTRIBUTES)}.")
    command(echo, f"create {NAME} --views {','.join(EXTRACTORS)}")
    with Home(home).create(NAME, views=EXTRACTORS, description="More or less busy, warm and light") as local:
        command(echo, f"index {NAME} {pictures} --labels folder")
        report = local.index([pictures], IndexOptions(labels="folder"))
        echo(f"{report.added} pictures in {report.seconds:.1f} s")
    with served(home, folder / "server.log", echo) as address, connect(address) as server:
        collection = server.open(NAME)
        orderings = write_orderings(folder / "orderings.txt")
        command(echo, f"train {NAME} --orderings {orderings} --views {VIEW} --server {address}")
        settings = {"orderings": {name: list(levels) for name, levels in CLASSES.items()}, "names": list(ATTRIBUTES)}
        space = collection.train(Recipe(spec="attributes", views=(VIEW,), settings=settings))
        echo(f"scores of {', '.join(space.axes)}")
        rows = _search(collection, folder / "queries", address, echo)
        _measure(collection, folder / "queries", echo)
        write_sheet(sheet, rows, "Like the picture on the left, but more or less busy, warm, light")
        echo(f"wrote {sheet}")
    echo(f"\nDone in {time.monotonic() - began:.0f} s.")


def write_moods(folder: Path, per_class: int, seed: int) -> int:
    """Write ``folder/CLASS/CLASS-NN.jpg`` for every class, and return the number; a seed determines the pictures."""
    for position, (name, levels) in enumerate(CLASSES.items()):
        rng = np.random.default_rng([seed, position])
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(per_class):
            _drawn(levels, rng).save(folder / name / f"{name}-{number:02d}.jpg", quality=90)
    return per_class * len(CLASSES)


def write_orderings(path: Path) -> Path:
    """Write the order of the classes by each attribute, and return the file."""
    lines = []
    for at, attribute in enumerate(ATTRIBUTES):
        groups: dict[int, list[str]] = {}
        for name, levels in CLASSES.items():
            groups.setdefault(levels[at], []).append(name)
        chain = " < ".join(" ~ ".join(groups[level]) for level in sorted(groups))
        lines.append(f"{attribute}: {chain}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _drawn(levels: tuple[int, int, int], rng: Rng) -> Image.Image:
    """Return a picture with about these levels: discs on a background, more discs in busier pictures."""
    busy, warm, light = np.clip(np.array(levels) + rng.uniform(-0.4, 0.4, 3), 0, 3)
    hue, value = (float(np.interp(at, range(4), scale)) for at, scale in ((warm, HUES), (light, VALUES)))
    width, height = SIZE
    picture = Image.new("RGB", SIZE, _colour(hue, rng.uniform(0.35, 0.55), value))
    draw = ImageDraw.Draw(picture)
    for _ in range(round(2 * 3**busy)):
        x, y, radius = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(6, 16)
        ink = _colour(hue + rng.normal(0, 0.02), rng.uniform(0.6, 0.9), value * rng.uniform(0.65, 0.85))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)
    noisy = np.asarray(picture.filter(ImageFilter.GaussianBlur(1)), float) + rng.normal(0, 4, (height, width, 1))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(hue % 1.0, saturation, min(1.0, value)))
    return red, green, blue


def _search(collection: CollectionBackend, queries: Path, address: str, echo: Echo) -> list[Strip]:
    """Search by one picture in several ways, and return a row of the contact sheet for each."""
    picture = queries / SHOWN / f"{SHOWN}-00.jpg"
    rows: list[Strip] = []
    for flags, options in SEARCHES.items():
        command(echo, " ".join(f"search {NAME} {picture} --view {VIEW} {flags} -k {HITS} --server {address}".split()))
        query = Query(VIEW, image=picture.read_bytes())
        results = collection.search(SearchRequest([query], k=HITS, **options))
        (row,) = strips(collection.items, [query], results, name=picture.name)
        rows.append(replace(row, title=flags or "as it is"))
    return rows


def _measure(collection: CollectionBackend, folder: Path, echo: Echo) -> None:
    """Print how the mean levels of the hits change if a search requires more of each attribute."""
    pictures = [path.read_bytes() for path in sorted(folder.rglob("*.jpg"))]
    queries = [Query(VIEW, image=picture) for picture in pictures]
    before = _levels(collection.search(SearchRequest(queries, k=HITS)))
    echo(f"mean levels of {HITS} hits, over {len(queries)} new pictures: {_listed(before)}")
    for attribute in ATTRIBUTES:
        for hold in ((), ("all",)):
            request = SearchRequest(queries, k=HITS, more={attribute: 2.0}, hold=hold)
            change = _levels(collection.search(request)) - before
            echo(f"  --more {attribute}{' --hold all' if hold else ''}: {_listed(change, sign='+')}")


def _levels(results: list[HitList]) -> NDArray[np.float64]:
    """Return the mean level of each attribute over the classes of the hits, shape (3,)."""
    return np.asarray(np.mean([CLASSES[hit.labels[0]] for hit_list in results for hit in hit_list.hits], axis=0))


def _listed(levels: NDArray[np.float64], sign: str = "") -> str:
    return ", ".join(f"{name} {level:{sign}.2f}" for name, level in zip(ATTRIBUTES, levels.tolist(), strict=True))
