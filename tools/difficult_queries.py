"""Draws docs/difficult-queries.jpg: what twelve difficult queries find by class posteriors and by the default.

The items are crops of 18 photographs of the Kodak suite, labelled by content. The queries are further crops of them,
crops of photographs of no label, and a plain picture. Usage: python tools/difficult_queries.py FOLDER_OF_KODAK
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from crossview import Collection, Hit, Home, IndexOptions, Recipe  # noqa: E402

CONTENTS = {
    "building": (1, 2, 8, 22, 24),
    "boat": (6, 9, 10, 11),
    "person": (4, 15, 18),
    "lighthouse": (19, 21),
    "water": (12, 13, 14, 16),
    "thing": (3, 5, 20),
}
"""Numbers of photographs by label."""
QUERIES = (1, 22, 24, 6, 21, 13, 14, 18, 3, 23, 17)
"""Numbers of photographs to query by; the last two have no label."""
VIEWS = ("color", "sift", "gist")
SPACES = {"before": "posteriors,dot", "after": "class-instance,dot"}
"""Pipelines by space."""
CROPS, HITS = 12, 5
WIDTH, HEIGHT, TEXT = 112, 82, 14
Picture = Image.Image


def crop(photograph: Picture, draw: np.random.Generator) -> Picture:
    """Return a random crop of about a third of a photograph, at a reduced size."""
    width, height = (int(side * draw.uniform(0.45, 0.7)) for side in photograph.size)
    left, top = (int(draw.integers(0, a - b + 1)) for a, b in zip(photograph.size, (width, height), strict=True))
    return photograph.crop((left, top, left + width, top + height)).resize((width * 3 // 4, height * 3 // 4))


def filled(folder: Path, photographs: Path, draw: np.random.Generator) -> Iterator[Path]:
    """Write the items into a folder of labels, and yield the files of the queries beside it."""
    for label, numbers in CONTENTS.items():
        (folder / "items" / label).mkdir(parents=True)
        for number in numbers:
            photograph = Image.open(photographs / f"kodim{number:02d}.jpg").convert("RGB")
            for place in range(CROPS):
                crop(photograph, draw).save(folder / "items" / label / f"{number:02d}-{place:02d}.jpg", quality=90)
    for number in QUERIES:
        path = folder / f"query-{number:02d}.jpg"
        crop(Image.open(photographs / f"kodim{number:02d}.jpg").convert("RGB"), draw).save(path, quality=90)
        yield path
    Image.new("RGB", (300, 200), (90, 140, 60)).save(folder / "query-plain.jpg")
    yield folder / "query-plain.jpg"


def rows(collection: Collection, queries: list[Path]) -> Iterator[tuple[Path, list[tuple[Hit, ...]]]]:
    """Yield each query with the hits of its colours among the GIST of the items, in each space."""
    for query in queries:
        image = query.read_bytes()
        yield (
            query,
            [
                collection.search(view="color", image=image, targets=["gist"], space=space, k=HITS)[0].hits
                for space in SPACES
            ],
        )


def drawn(results: list[tuple[Path, list[tuple[Hit, ...]]]], folder: Path) -> Picture:
    """Return the sheet: a line for each query, with its hits in each space and their matches."""
    font = ImageFont.load_default(10)
    sheet = Image.new("RGB", (WIDTH * (1 + 2 * HITS) + 20, (HEIGHT + TEXT) * len(results) + TEXT), "white")
    pen = ImageDraw.Draw(sheet)
    lefts = [WIDTH * (1 + number * HITS) + 10 * (number + 1) for number in range(len(SPACES))]
    for left, title in zip(lefts, SPACES.values(), strict=True):
        pen.text((left, 1), title, "black", font)
    for number, (query, lists) in enumerate(results):
        top = TEXT + number * (HEIGHT + TEXT)
        tiles = [(0, query, "query")]
        for left, hits in zip(lefts, lists, strict=True):
            tiles += [(left + WIDTH * k, folder / hit.key, f"match {hit.match:.2f}") for k, hit in enumerate(hits)]
        for left, path, text in tiles:
            picture = Image.open(path).convert("RGB")
            picture.thumbnail((WIDTH - 3, HEIGHT - 2))
            sheet.paste(picture, (left, top))
            pen.text((left, top + HEIGHT - 2), text, "black", font)
    return sheet


def main() -> None:
    """Draw the sheet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queries = list(filled(folder, Path(sys.argv[1]), np.random.default_rng(0)))
        with Home(folder / "home").create("kodak", [VIEWS[0], "sift:words=200", VIEWS[2]]) as collection:
            collection.index([folder / "items"], IndexOptions(labels="folder", workers=1))
            for space, spec in SPACES.items():
                collection.train(Recipe(spec=spec, views=VIEWS), space=space)
            drawn(list(rows(collection, queries)), folder).save(ROOT / "docs/difficult-queries.jpg", quality=82)


if __name__ == "__main__":
    main()
