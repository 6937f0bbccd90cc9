"""Draws the pictures of README.md: searches among photographs, the page, and one query before and after teaching.

Usage: python tools/readme_pictures.py KODAK MODELS, the folders of the 24 photographs of the Kodak suite, and of the
models lite0 and minilm. It prints the figures of the query before and after teaching.
"""

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageChops, ImageOps
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from crossview import Collection, Hit, Home, Query, QuestionRequest, Recipe, SearchRequest  # noqa: E402
from crossview.server.demo import notions  # noqa: E402
from crossview.server.drawing.search_results import strips  # noqa: E402
from crossview.server.drawing.sheet import MARGIN, PAPER, contact_sheet  # noqa: E402
from crossview.server.drawing.strip import Strip  # noqa: E402
from crossview.server.listen import RunningServer  # noqa: E402
from crossview.server.settings import ServerSettings  # noqa: E402

OUT = ROOT / "docs/readme"
VIEWS = ("color", "sift", "gist", "lite0=onnx:lite0", "names=conse:lite0:minilm")
NAME, EXAMPLE, COPIED, WORDS = "photos", "kodim12.jpg", "kodim23.jpg", "houses"
"""The collection, the photograph to query by, the one to change before the query, and the words to query by."""
SCREEN = (1280, 800)
"""Width and height of the screenshots in pixels."""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
TAUGHT, SHOWN = "texture", ("weave", "red")
"""The notion that is taught, and the texture and colour of the query that is drawn."""


def photographs(home: Home, kodak: Path, models: Path) -> Iterator[Strip]:
    """Index the photographs, and yield a row for each way to query them."""
    for model in ("lite0", "minilm"):
        home.models.add(model, models / model)
    with home.create(NAME, VIEWS) as made:
        made.index([kodak])
        example, copy = (kodak / EXAMPLE).read_bytes(), changed(kodak / COPIED)
        yield row(made, SearchRequest([Query(image=example)], k=5, space="raw"), "A photograph finds similar ones", "")
        words = SearchRequest([Query("names", text=WORDS)], targets=["names"], k=4, space="raw")
        yield row(made, words, "Words find photographs that have no caption", "")
        request = SearchRequest([Query(image=copy)], k=1, space="raw")
        yield row(made, request, "A cropped, mirrored, grey copy finds its original", "")


def changed(photograph: Path) -> bytes:
    """Return a photograph cropped, mirrored and in grey, as JPEG of low quality."""
    data = io.BytesIO()
    with Image.open(photograph) as picture:
        width, height = picture.size
        part = picture.crop((width // 12, height // 12, width * 11 // 12, height * 11 // 12))
        ImageOps.mirror(ImageOps.grayscale(part)).save(data, "JPEG", quality=50)
    return data.getvalue()


def row(collection: Collection, request: SearchRequest, title: str, truth: str | None) -> Strip:
    """Return the row of a search, without the item that is the query itself; ``truth`` marks hits of this texture."""
    (found,) = collection.search(request)
    hits = [_textured(hit) if truth else hit for hit in found.hits if hit.distance > 1e-6]
    (strip,) = strips(collection.items, request.queries, [replace(found, hits=tuple(hits))], truth or None)
    return replace(strip, title=title, hits=[replace(tile, match=None, distance=None) for tile in strip.hits])


def _textured(hit: Hit) -> Hit:
    return replace(hit, labels=(notions.feature_of(hit.key, TAUGHT),))


def taught(home: Home, pictures: Path) -> Iterator[Strip]:
    """Teach a notion by answers, and yield one query before and after; print the shares over all new pictures."""
    notions.write_combinations(pictures, notions.EACH)
    random = np.random.default_rng(0)
    with home.create("patterns", notions.EXTRACTORS) as made:
        made.index([pictures])
        for seed in range(notions.GRIDS):
            question = made.questions.next(QuestionRequest(notion=TAUGHT, person="ann", seed=seed))
            made.questions.answer(notions.answer_to(question, "ann", random))
        recipe = Recipe(views=(notions.VIEW,), answers=True, settings={"alpha": notions.ALPHA})
        made.train(recipe, space="taught")
        yield asked(made, "Before: by every view", SearchRequest([Query()], k=notions.HITS, space="raw"))
        request = SearchRequest([Query(notions.VIEW)], targets=[TAUGHT], k=notions.HITS, space="taught")
        yield asked(made, f"After {notions.GRIDS} answers about {TAUGHT}", request)


def asked(collection: Collection, title: str, request: SearchRequest) -> Strip:
    """Return the row of the query that is drawn; print the share of hits with its texture over all new pictures."""
    shares = []
    for texture, color, picture in new_pictures():
        one = replace(request, queries=[replace(request.queries[0], image=picture)])
        (found,) = collection.search(one)
        shares.append(np.mean([notions.feature_of(hit.key, TAUGHT) == texture for hit in found.hits]))
        if (texture, color) == SHOWN:
            shown = row(collection, one, title, texture)
    print(f"{title}: {np.mean(shares):.0%} of {notions.HITS} hits of {len(shares)} new pictures have the texture")
    return shown


def new_pictures() -> Iterator[tuple[str, str, bytes]]:
    """Yield texture, colour and JPEG of a picture of each kind that is not in the collection."""
    for texture in notions.TEXTURES:
        for color in notions.HUES:
            data = io.BytesIO()
            notions.drawn(texture, color, notions.EACH).save(data, "JPEG", quality=90)
            yield texture, color, data.getvalue()


def write(rows: Sequence[Strip], name: str) -> None:
    """Write a sheet into the folder of README's pictures, without the space for further lines of captions."""
    sheet = contact_sheet(rows)
    paper = Image.new("RGB", sheet.size, PAPER)
    *_, bottom = ImageChops.difference(sheet, paper).getbbox() or (sheet.height,)
    sheet.crop((0, 0, sheet.width, bottom + MARGIN)).save(OUT / name, quality=85)


def screenshots(home: Home) -> None:
    """Write the page of a search among the photographs, light and dark."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with RunningServer(ServerSettings(home=home.path, port=0, web=True)) as running:
            for theme in THEMES:
                width, height = SCREEN
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                page = context.new_page()
                page.goto(f"http://127.0.0.1:{running.http_port}/c/{NAME}?q={WORDS}", wait_until="networkidle")
                page.wait_for_timeout(400)  # transitions end
                with Image.open(io.BytesIO(page.screenshot())) as shot:
                    shot.convert("RGB").save(OUT / f"page-{theme}.webp", quality=80, method=6)
        browser.close()


def main(kodak: Path, models: Path) -> None:
    """Draw all pictures of README."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        home = Home(Path(scratch) / "home")
        write(list(photographs(home, kodak, models)), "photographs.jpg")
        screenshots(home)
        write(list(taught(Home(Path(scratch) / "taught"), Path(scratch) / "pictures")), "taught.webp")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
