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
from PIL import Image, ImageChops, ImageEnhance
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from crossview import Collection, Hit, Home, Query, QuestionRequest, Recipe, SearchRequest  # noqa: E402
from crossview.server.commands.demo import notions  # noqa: E402
from crossview.server.commands.drawing.search_results import Strip, strips  # noqa: E402
from crossview.server.commands.drawing.sheet import MARGIN, PAPER, contact_sheet  # noqa: E402
from crossview.server.edge.listen import RunningServer  # noqa: E402
from crossview.server.wire.settings import ServerSettings  # noqa: E402

OUT = ROOT / "docs/readme"
NAME, EXAMPLE, COPIED, WORDS = "photos", "kodim16.jpg", "kodim23.jpg", "houses"
"""The collection, the photograph to query by, the one to change before the query, and the words to query by."""
COPY = "A cropped, smaller, darker copy finds its original"
SCREEN = (1280, 800)
"""Width and height of the screenshots in pixels."""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
TAUGHT, SHOWN = "texture", ("weave", "red")
"""The notion that is taught, and the texture and colour of the query that is drawn."""


def photographs(home: Home, kodak: Path, models: Path) -> Iterator[Strip]:
    """Index the photographs, and yield a row for each way to query them; only words need the models."""
    with home.create("plain", ("color", "sift", "gist")) as plain:
        plain.index([kodak])
        queries = {"A photograph finds similar ones": (kodak / EXAMPLE).read_bytes(), COPY: changed(kodak / COPIED)}
        similar, copy = (
            row(plain, SearchRequest([Query(image=image)], k=5 if title != COPY else 1, space="raw"), title, "")
            for title, image in queries.items()
        )
    for model in ("lite0", "minilm"):
        home.models.add(model, models / model)
    with home.create(NAME, ("color", "names=conse:lite0:minilm")) as collection:
        collection.index([kodak])
        request = SearchRequest([Query("names", text=WORDS)], targets=["names"], k=4, space="raw")
        yield from (similar, row(collection, request, "Words find photographs that have no caption", ""), copy)


def changed(photograph: Path) -> bytes:
    """Return a photograph cropped, smaller and darker, as JPEG of low quality."""
    data = io.BytesIO()
    with Image.open(photograph) as picture:
        width, height = picture.size
        part = picture.crop((width // 8, height // 10, width * 19 // 20, height * 19 // 20)).resize((300, 220))
        ImageEnhance.Brightness(part).enhance(0.7).save(data, "JPEG", quality=50)
    return data.getvalue()


def row(collection: Collection, request: SearchRequest, title: str, truth: str | None) -> Strip:
    """Return the row of a search, without the item that is the query itself; ``truth`` marks hits of this texture."""
    (hit_list,) = collection.search(request)
    hits = [_textured(hit) if truth else hit for hit in hit_list.hits if hit.distance > 1e-6]
    (strip,) = strips(collection.items, request.queries, [replace(hit_list, hits=tuple(hits))], truth or None)
    return replace(strip, title=title, hits=[replace(tile, match=None, distance=None) for tile in strip.hits])


def _textured(hit: Hit) -> Hit:
    return replace(hit, labels=(notions.feature_of(hit.key, TAUGHT),))


def taught(home: Home, pictures: Path) -> Iterator[Strip]:
    """Teach a notion by answers, and yield one query before and after; print the shares over all new pictures."""
    notions.write_combinations(pictures, notions.EACH)
    random = np.random.default_rng(0)
    with home.create("patterns", notions.EXTRACTORS) as collection:
        collection.index([pictures])
        for seed in range(notions.GRIDS):
            question = collection.questions.next(QuestionRequest(notion=TAUGHT, person="ann", seed=seed))
            collection.questions.answer(notions.answer_to(question, "ann", random))
        recipe = Recipe(views=(notions.VIEW,), answers=True, settings={"alpha": notions.ALPHA})
        collection.train(recipe, space="taught")
        yield asked(collection, "Before: by every view", SearchRequest([Query()], k=notions.HITS, space="raw"))
        request = SearchRequest([Query(notions.VIEW)], targets=[TAUGHT], k=notions.HITS, space="taught")
        yield asked(collection, f"After {notions.GRIDS} answers about {TAUGHT}", request)


def asked(collection: Collection, title: str, request: SearchRequest) -> Strip:
    """Return the row of the query that is drawn; print the share of hits with its texture over all new pictures."""
    shares = []
    for texture, color, picture in new_pictures():
        own = replace(request, queries=[replace(request.queries[0], image=picture)])
        (hit_list,) = collection.search(own)
        shares.append(np.mean([notions.feature_of(hit.key, TAUGHT) == texture for hit in hit_list.hits]))
        if (texture, color) == SHOWN:
            strip = row(collection, own, title, texture)
    print(f"{title}: {np.mean(shares):.0%} of {notions.HITS} hits of {len(shares)} new pictures have the texture")
    return strip


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
