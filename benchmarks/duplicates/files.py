"""Duplicates among people's files: rendered pages, screenshots and photographs; which files would be moved.

    python -m benchmarks duplicate-files --data DIR [--json OUT] [--trials N] [--first-seed N] [--report DIR]

DIR holds ``merged20`` (photographs) and ``webshots`` (screenshots of one web page as it changed). The collection holds
400 pages that chromium renders, 40 of each of ten kinds with one layout, the screenshots that differ visibly, and 400
photographs. Each tenth page and screenshot and each fourth photograph has seven copies: saved again as JPEG and as PNG,
half as wide, enlarged, with a white border, on the screen of a gallery and, of photographs, cropped. A hash of
``imagededup`` with the threshold of its command stands beside ``crossview duplicates``, whose rules were chosen on
pages that Pillow drew and on other photographs. Seeds below 100 are for development.
"""

import argparse
import io
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageOps

from benchmarks.duplicates.methods import by_hash
from benchmarks.duplicates.rendered import LAYOUTS, Render, gallery, letter, meme, renderer, scanned
from benchmarks.frame.benchmark import Benchmark, Document, MissingDataError, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.frame.tables import rows_with, summary, table
from benchmarks.photographs import pictures_by_class
from crossview.engine.collections.home import Home
from crossview.engine.values.duplicate import DuplicatesRequest
from crossview.engine.values.item import IndexOptions

PAGES, SCREENSHOTS, PHOTOGRAPHS = "pages", "screenshots", "photographs"
EVERY: Mapping[str, int] = {PAGES: 10, SCREENSHOTS: 10, PHOTOGRAPHS: 4}
"""One of so many files has copies."""
EACH, COUNT = 40, 400
"""Pages of each kind, and photographs."""
OURS, PEER, BITS = "crossview duplicates", "imagededup PHash, 10 bits", 10
ORIGINAL, AS_PNG, CROPPED = "original", "as PNG", "cropped by 10 %"
KINDS = ("as JPEG", AS_PNG, "half", "enlarged", "bordered", "in a gallery", CROPPED)
NAMES = ("method", "files", "kind", "metric")
_ENLARGED, _BORDER = 1.5, 0.06
_VISIBLE, _CHANGED, _BEFORE = 40, 0.001, 10
"""Levels by which a pixel of a screenshot changes visibly, share of such pixels that makes another screenshot, and
number of screenshots before it that it is compared with."""

Group = tuple[str, Sequence[str]]
"""The key of the picture to keep, and those of its copies, which a script moves."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials."""
    for name in ("merged20", "webshots"):
        if not (options.data / name).is_dir():
            raise MissingDataError.of(options.data, name)
    seeds = seeds_of(options)
    settings = {"seeds": list(seeds), "pages": EACH * 10, "photographs": COUNT}
    trials = run_trials(options, settings, by_seed(seeds), run, options.data)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def run(seed: int, data: Path) -> dict[str, Any]:
    """Return the figures of one draw, each [method, files, kind, metric, value]."""
    began = time.monotonic()
    draws = np.random.default_rng(seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        Home(Path(folder) / "home").create("files", ["color", "gist"]) as files,
    ):
        root = Path(folder) / "files"
        with renderer() as render:
            _write(root, originals(render, draws, data), render, draws)
        files.index([root], IndexOptions(seed=seed))
        groups = [group for group in files.duplicates(DuplicatesRequest()).groups if group.kind == "copies"]
        methods: dict[str, list[Group]] = {
            OURS: [(group.keeper.key, [member.key for member in group.members]) for group in groups],
            PEER: _by_hash(root),
        }
        keys = [path.relative_to(root.parent).as_posix() for path in sorted(root.rglob("*.*"))]
    figures = [[method, *figure] for method, pairs in methods.items() for figure in figures_of(pairs, keys)]
    return {"seed": seed, "figures": figures, "seconds": time.monotonic() - began}


def originals(render: Render, draws: Generator, data: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield group of files, ending and encoded picture of all that a person wants to keep."""
    pictures = pictures_by_class(data / "merged20")
    photographs = [pictures[place] for place in draws.choice(len(pictures), COUNT + 4, replace=False)]
    for layout in LAYOUTS.values():
        for _ in range(EACH - (EACH // 2) * (layout is letter)):
            yield PAGES, ".png", _encoded(render(*layout(draws)), ".png")
    for _ in range(EACH // 2):
        yield PAGES, ".jpg", _encoded(scanned(render(*letter(draws)), draws), ".jpg", 85)
    templates = [Pillow.open(path) for path in photographs[COUNT:]]
    for number in range(EACH):
        yield PAGES, ".jpg", _encoded(render(*meme(draws, templates[number % 4])), ".jpg", 90)
    for path in _changed(sorted((data / "webshots" / "images").iterdir())):
        yield SCREENSHOTS, ".jpg", path.read_bytes()
    for path in photographs[:COUNT]:
        yield PHOTOGRAPHS, ".jpg", path.read_bytes()


def _changed(screenshots: Sequence[Path]) -> Iterator[Path]:
    """Yield the screenshots that differ visibly from each of the few before."""
    before: list[NDArray[np.int16]] = []
    for path in screenshots:
        levels = np.asarray(Pillow.open(path).convert("RGB"), np.int16)
        alike = (other for other in before if other.shape == levels.shape)
        if all((np.abs(levels - other) > _VISIBLE).any(axis=2).mean() > _CHANGED for other in alike):
            yield path
        before = [*before, levels][-_BEFORE:]


def copies(original: bytes, render: Render, draws: Generator, *, cropped: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the names of files, <kind>.<ending>, and the encoded copies of a picture."""
    picture = Pillow.open(io.BytesIO(original)).convert("RGB")
    width, height = picture.size
    margin = round(_BORDER * min(width, height))
    changed = {
        "half": picture.resize((width // 2, height // 2), Pillow.Resampling.LANCZOS),
        "enlarged": picture.resize((round(_ENLARGED * width), round(_ENLARGED * height)), Pillow.Resampling.BICUBIC),
        "bordered": ImageOps.expand(picture, margin, "white"),
    }
    if cropped:
        changed[CROPPED] = picture.crop((width // 20, height // 20, width - width // 20, height - height // 20))
    yield "as JPEG.jpg", _encoded(picture, ".jpg", int(draws.integers(60, 85)))
    yield f"{AS_PNG}.png", _encoded(picture, ".png")
    yield from ((f"{kind}.jpg", _encoded(copy, ".jpg", 90)) for kind, copy in changed.items())
    yield "in a gallery.png", _encoded(render(*gallery(picture)), ".png")


def _encoded(picture: Pillow.Image, ending: str, quality: int = 90) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG") if ending == ".png" else picture.save(file, "JPEG", quality=quality)
    return file.getvalue()


def _write(root: Path, files: Iterator[tuple[str, str, bytes]], render: Render, draws: Generator) -> None:
    """Write files as files/<group>/<number>/<kind>.<ending>, with times by chance: age tells nothing."""
    for number, (group, ending, original) in enumerate(files):
        folder = root / group / f"{number:04d}"
        folder.mkdir(parents=True)
        altered = copies(original, render, draws, cropped=group == PHOTOGRAPHS) if number % EVERY[group] == 0 else ()
        for name, data in [(ORIGINAL + ending, original), *altered]:
            path = folder / name
            path.write_bytes(data)
            changed = 1.7e9 + float(draws.integers(10**7))
            os.utime(path, (changed, changed))


def _by_hash(root: Path) -> list[Group]:
    """Return groups as imagededup's ``find_duplicates_to_remove`` forms them: the first picture in order is kept."""
    paths = sorted(root.rglob("*.*"))
    keys = [path.relative_to(root.parent).as_posix() for path in paths]
    near = by_hash("imagededup PHash", [path.read_bytes() for path in paths]) <= BITS
    removed, groups = set[int](), list[Group]()
    for place in range(len(keys)):
        if place in removed:
            continue
        members = [int(other) for other in np.flatnonzero(near[place]) if other != place and other not in removed]
        removed |= set(members)
        if members:
            groups.append((keys[place], [keys[other] for other in members]))
    return groups


def figures_of(groups: Sequence[Group], keys: Sequence[str]) -> Iterator[tuple[str, str, str, float]]:
    """Yield files, kind, metric and value.

    ``lost`` counts originals that would be moved although nothing of the same content is kept. ``recall`` is the share
    of the copies of a kind that are in one group with their original. ``keeper`` is the share of the groups with an
    original that keep it, or the PNG with the same pixels. ``mixed`` counts copies beside a keeper of other content.
    """
    home = {key: keeper for keeper, members in groups for key in (keeper, *members)}
    kept_contents = {_content(keeper) for keeper, _ in groups} | {_content(key) for key in keys if key not in home}
    for files in EVERY:
        own = [key for key in keys if PurePosixPath(key).parts[1] == files]
        moved = [key for key in own if home.get(key, key) != key]
        yield (
            files,
            "all",
            "lost",
            float(sum(_kind(key) == ORIGINAL and _content(key) not in kept_contents for key in moved)),
        )
        yield files, "all", "mixed", float(sum(_content(home[key]) != _content(key) for key in moved))
        first = {_content(key): key for key in own if _kind(key) == ORIGINAL}
        for kind in KINDS:
            pairs = [(key, first[_content(key)]) for key in own if _kind(key) == kind]
            if pairs:
                together = [home.get(copy, copy) == home.get(original, original) for copy, original in pairs]
                yield files, kind, "recall", float(np.mean(together))
        keepers = [home[key] for key in first.values() if key in home]
        right = [_kind(key) == ORIGINAL or (_kind(key) == AS_PNG and _lossless(key, first)) for key in keepers]
        yield files, "all", "keeper", float(np.mean(right)) if right else 1.0


def _content(key: str) -> str:
    return PurePosixPath(key).parent.name


def _kind(key: str) -> str:
    return PurePosixPath(key).stem


def _lossless(key: str, first: Mapping[str, str]) -> bool:
    """Return whether the original of a PNG is itself one."""
    return first.get(_content(key), "").endswith(".png")


def rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and deviation over the trials of every figure."""
    values: dict[tuple[str, ...], list[float]] = {}
    for trial in trials:
        for *key, value in trial["figures"]:
            values.setdefault(tuple(key), []).append(value)
    return [{**dict(zip(NAMES, key, strict=True)), **summary(figures)} for key, figures in values.items()]


def markdown(document: Document) -> str:
    """Return the report: what would be lost, what is found and what is kept."""
    settings, figures = document["settings"], document["rows"]
    text = (
        f"{settings['pages']} rendered pages of ten layouts, screenshots of one web page and {settings['photographs']} "
        "photographs, some of them with copies. *Lost* are wanted files that the script would move although no file of "
        "the same content stays; *mixed* are moved files whose keeper has other content. A keeper is right if it is "
        f"the original. The other columns are recalls of kinds of copies. Means over {len(settings['seeds'])} draw(s)."
    )
    lines = [["method", "files", "lost", "mixed", "right keeper", *KINDS]]
    for method in (OURS, PEER):
        for files in EVERY:
            own = [("all", "lost", ".1f"), ("all", "mixed", ".1f"), ("all", "keeper", ".1%")]
            cells = [*own, *((kind, "recall", ".3f") for kind in KINDS)]
            lines.append([method, files, *(_cell(figures, method, files, *cell) for cell in cells)])
    return "\n\n".join(["# Duplicates among people's files", text, table(lines)])


def _cell(figures: Sequence[Any], method: str, files: str, kind: str, metric: str, form: str) -> str:
    values = rows_with(figures, method=method, files=files, kind=kind, metric=metric)
    return f"{values[0]['value']:{form}}" if values else ""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with merged20 and webshots")
    trial_arguments(parser, trials=1, workers=1)


BENCHMARK = Benchmark(
    "duplicate-files",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Move the copies among people's files: wanted pages that are lost, of 400",
        "{0:.0f}",
        "{1:.0f} (imagededup PHash)",
        {"method": OURS, "files": PAGES, "metric": "lost"},
        {"method": PEER, "files": PAGES, "metric": "lost"},
    ),
)
