"""The benchmark of changes knows what its pages show and writes every figure, without a browser and with one."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from benchmarks.changes import benchmark as changes
from benchmarks.changes import methods, pages, report
from benchmarks.changes.designs import DESIGNS, DEVELOPMENT, HELD_OUT, IMPORTANT, STILL
from benchmarks.changes.history import AMBIGUOUS, DISSIMILAR, HOURS_A_DAY, IDENTICAL, SIMILAR, History
from benchmarks.changes.markup import page, pictures
from benchmarks.changes.methods import METHODS, Split, by_labels, precisions
from benchmarks.changes.rendering import BROWSERS, KEPT, render
from benchmarks.registry import benchmark
from crossview.features.page import addresses

DAYS, FEW, SIDE = 12, (2, 3), 120


def paint(history: History, folder: Path) -> list[Path]:
    """Draw a page as rectangles of what its blocks show, instead of a browser."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for hour in range(history.versions):
        path = folder / f"{hour:04}.jpg"
        paths.append(path)
        if path.exists():
            continue
        image = Image.new("L", (64, 64), 255)
        draw = ImageDraw.Draw(image)
        for place, block in enumerate(history.blocks):
            generator = np.random.default_rng([place, *history.shown(place, hour)])
            left, top = 0.64 * block.left, 0.64 * block.top
            for _ in range(12):
                x, y = left + 0.6 * block.width * generator.random(), top + 0.6 * block.height * generator.random()
                grey = int(generator.integers(0, 220))
                draw.rectangle((x, y, x + 0.1 * block.width, y + 0.1 * block.height), fill=grey)
        image.convert("RGB").save(path, quality=90)
        path.with_suffix(".html").write_text(page(history, hour), encoding="utf-8")
    return paths


def test_designs_for_development_and_reports_are_apart() -> None:
    assert set(DEVELOPMENT) | set(HELD_OUT) == set(DESIGNS)
    assert not set(DEVELOPMENT) & set(HELD_OUT)
    for blocks in DESIGNS.values():
        assert sum(block.width * block.height for block in blocks) == pytest.approx(100 * 100)
        assert any(block.kind in IMPORTANT for block in blocks)


@pytest.mark.parametrize("design", DESIGNS)
def test_labels_are_what_the_blocks_show(design: str) -> None:
    history = History(design, 100, 10 * HOURS_A_DAY)
    labels = history.labels()
    assert {SIMILAR, DISSIMILAR} <= set(labels) <= {SIMILAR, DISSIMILAR, AMBIGUOUS, IDENTICAL}
    for hour, label in enumerate(labels):
        changed = {
            block.kind
            for place, block in enumerate(history.blocks)
            if history.shown(place, hour) != history.shown(place, hour + 1)
        }
        assert not changed & set(STILL)
        assert bool(changed & set(IMPORTANT)) == (label in (DISSIMILAR, AMBIGUOUS))
        assert bool(changed) == (label != IDENTICAL)


def test_a_page_names_its_pictures_and_its_news(tmp_path: Path) -> None:
    history = History("newspaper", 100)
    (tmp_path / "page.html").write_text(page(history, 30), encoding="utf-8")
    found = addresses(tmp_path / "page.html")
    assert found.images == {f"pictures/{name}" for name in pictures(history, 30)}
    assert any(link.startswith("/news/") for link in found.links)
    assert page(history, 30) == page(History("newspaper", 100), 30)


def test_the_share_of_a_block_is_that_of_its_cells() -> None:
    drawn = pages.Page(History("newspaper", 100), {}, np.empty(0), np.empty(0))
    shares = drawn.shares(np.full(100, 0.01))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["story"] == pytest.approx(0.27, abs=0.06)


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw small pages of twelve days without a browser, on two grids; each of the few labels is a metric to learn."""
    monkeypatch.setattr(pages, "render", paint)
    monkeypatch.setattr(pages, "KEPT", SIDE)
    for module in (changes, methods, report):
        monkeypatch.setattr(module, "COUNTS", FEW)
    monkeypatch.setattr(pages, "History", lambda design, seed: History(design, seed, DAYS * HOURS_A_DAY))
    monkeypatch.setattr(pages, "GRIDS", (2, 10))
    monkeypatch.setattr(changes, "GRIDS", (2, 10))


@pytest.mark.long
@pytest.mark.usefixtures("painted")
def test_every_figure_is_written(tmp_path: Path) -> None:
    out = tmp_path / "changes.json"
    arguments = ["--designs", "newspaper", "--trials", "1", "--first-seed", "100", "--workers", "1"]
    assert benchmark("changes").main([*arguments, "--json", str(out), "--report", str(tmp_path)]) in (0, None)
    document: dict[str, Any] = json.loads(out.read_text())
    (trial,) = document["trials"]
    assert set(trial["precision"]) == set(METHODS)
    assert trial["precision"]["diagonal"]["MAP"] > trial["precision"]["Euclidean"]["MAP"]
    assert document["settings"]["designs tuned on"] == ["newspaper"]
    text = report.markdown(document)
    for heading in ("Mean average precision", "Share of the map", "cells a side", "table 2", "table 3", "with labels"):
        assert heading in text
    assert (tmp_path / "changes.png").exists()


@pytest.mark.long
@pytest.mark.usefixtures("painted")
def test_days_that_are_learned_from_are_not_judged_by(tmp_path: Path) -> None:
    split = Split(pages.page("newspaper", 100, tmp_path), 1)
    assert not set(split.own.tolist()) & set(split.judged.tolist())
    assert not np.isin(split.labels[split.judged], (AMBIGUOUS, IDENTICAL)).any()
    found = precisions(split)
    assert all(0 <= one["MAP"] <= 1 for one in found.values())
    labelled = by_labels(split)
    assert all(set(counts) == set(FEW) for counts in labelled.values())


@pytest.mark.long
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="there is no browser to draw pages with")
def test_a_browser_draws_a_page(tmp_path: Path) -> None:
    """It draws what the blocks show, and draws again only a page that is missing."""
    history = History("portal", 100, 3)
    paths = render(history, tmp_path / "portal")
    for path in paths:
        with Image.open(path) as drawn:
            assert drawn.size == (KEPT, KEPT)
            assert len(set(np.asarray(drawn.convert("L")).ravel().tolist())) > 20
    made = [path.stat().st_mtime_ns for path in paths]
    paths[1].unlink()
    assert [
        path.stat().st_mtime_ns == one for path, one in zip(render(history, tmp_path / "portal"), made, strict=True)
    ] == [
        True,
        False,
        True,
    ]
