"""Explanations from the command line, here and through a server, and as drawings."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.explanation import AgreeingPart, Agreement, Contribution, Explanation, Place
from crossview.engine.values.query import Query
from crossview.server.commands.drawing.explanation_sheet import PALETTE, WIDTH, explanation_sheet
from crossview.server.commands.drawing.sheet import PAPER

DOTS, OTHER, WAVES = "pictures/dots/dots-00.jpg", "pictures/dots/dots-01.jpg", "pictures/waves/waves-00.jpg"


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, home: Home) -> Iterator[list[str]]:
    """The options that reach the collection ``drawn``."""
    with reached(home, request.param) as options:
        yield options


def test_the_table_has_a_row_for_each_view_and_target(where: list[str]) -> None:
    """It has ranks, distances, shares of contributions, and the parts that agree most."""
    output = done("explain", "drawn", "--key", DOTS, "--space", "raw", "--hit", OTHER, *where)
    title, header, color, sift, sums = output.splitlines()
    assert title == "explanation of color, sift"
    assert header.split("\t")[:4] == ["hit", "key", "view", "target"]
    cells = [line.split("\t") for line in (color, sift)]
    assert [one[1:4] for one in cells] == [[OTHER, "color", "color"], ["", "sift", "sift"]]
    assert all(one[5] == "17" for one in cells)
    assert sum(int(one[8].removesuffix(" %")) for one in cells) in (99, 100, 101)
    assert " %: " in cells[0][9]
    assert "word " in cells[1][9]
    assert sums.startswith("contributions: shares of the score that orders the list")


def test_search_explains_the_first_hits_of_each_list(where: list[str]) -> None:
    """They come after the list; with --json they are objects."""
    options = ("search", "drawn", "--key", DOTS, "--view", "color", "-k", 5, "--explain")
    lines = done(*options, *where).splitlines()
    titles = [line for line in lines if line.startswith(("color query", "explanation of"))]
    assert titles == ["color query -> color", "explanation of color", "color query -> sift", "explanation of sift"]
    found = result_of(*options, *where)
    hits = {(one["target"], hit["key"]): hit for one in found["results"] for hit in one["hits"][:3]}
    assert [(one["target"], one["key"]) for one in found["explanations"]] == list(hits)
    for one in found["explanations"]:
        hit = hits[one["target"], one["key"]]
        assert sum(part["contribution"] for part in one["contributions"]) == pytest.approx(hit["distance"] ** 2)


def test_what_a_server_explains_is_what_a_collection_does(home: Home) -> None:
    words = ("explain", "drawn", "--key", DOTS, "--space", "raw", "--hits", 5)
    answers = []
    for backend in ("local", "remote"):
        with reached(home, backend) as options:
            answers.append(result_of(*words, *options))
    assert answers[0] == answers[1]
    assert len(answers[0]) == 5


@pytest.mark.parametrize("command", ["explain", "search"])
def test_both_pictures_are_drawn(where: list[str], pictures: Path, tmp_path: Path, command: str) -> None:
    """They have key points in the colours of words; a query by text or vector has a box instead."""
    sheet, flag = tmp_path / "why.png", ["--explain"] if command == "search" else []
    picture = pictures / "dots" / "dots-03.jpg"
    assert f"wrote {sheet}" in done(command, "drawn", picture, "--space", "raw", *flag, "--out", sheet, *where)
    with Image.open(sheet) as drawn:
        assert drawn.width == WIDTH
        pixels = np.asarray(drawn.convert("RGB")).reshape(-1, 3)
    assert (pixels == PAPER).all(axis=1).mean() > 0.2
    assert any((np.abs(pixels.astype(int) - colour).max(axis=1) < 12).sum() > 40 for colour in PALETTE[:3])
    np.save(tmp_path / "row.npy", np.ones(64, np.float32) / 64)
    vector = ("--vector", tmp_path / "row.npy", "--view", "color", "--targets", "color")
    assert f"wrote {sheet}" in done(command, "drawn", *vector, *flag, "--out", sheet, *where)


def test_mistakes_name_the_remedy(where: list[str], tmp_path: Path) -> None:
    for words, message in (
        (("explain", "drawn", "--key", DOTS, "--hit", "nowhere"), "no item 'nowhere'"),
        (("explain", "drawn", "--key", DOTS, "--hit", DOTS), "which is never its own hit"),
        (("explain", "drawn", "--key", DOTS, "--hits", "0"), "from 1 to 100, not 0"),
        (("explain", "drawn", "--key", DOTS, "--out", tmp_path / "a.xyz"), "end the name in"),
        (("explain", "drawn"), "give exactly one of"),
        (("explain", "drawn", "--key", DOTS, "--hit", WAVES, "--where", "label = dots"), "does not fulfil"),
        (("search", "drawn", "--key", DOTS, "--explain", "--csv"), "--explain goes with no --csv"),
        (("search", "drawn", "--like", DOTS, "--explain"), "only searches for the nearest items"),
    ):
        wrong = run(*words, *where)
        assert wrong.exit_code in (1, 2), words
        assert message in " ".join(wrong.stderr.replace("\u2502", " ").split()), wrong.stderr


class Bare:
    """Items without pictures."""

    def get(self, key: str) -> object:
        return type("Item", (), {"source": ""})()

    def thumbnail(self, key: str) -> bytes:
        return b"no picture"


@pytest.mark.parametrize("query", [Query("text", text="sea " * 500), Query("v", vector=[1.0])])
def test_odd_explanations_are_drawn(query: Query) -> None:
    """They lack pictures, agreements or contributions, have a copy, long names, or places at the edges."""
    place = Place(x=1.0, y=0.0, size=1.0)
    part = AgreeingPart(name="w" * 400, query=0.0, item=0.0, agreement=0.0, query_places=(place,), item_places=(place,))
    bin_ = AgreeingPart(name="b", query=1.0, item=1.0, agreement=1.0, color="#ffffff")
    cell = AgreeingPart(name="c", query=0.0, item=0.0, agreement=0.0, box=(0.0, 0.0, 1.0, 1.0))
    agreements = tuple(Agreement(view="v", agreement=0.5, parts=(one,)) for one in (part, bin_, cell))
    row = Contribution(view="v", target="w", distance=0.0, rank=1, items=1, copy=True, contribution=800.0)
    found = [
        Explanation(key="k" * 500, target="", rank=None, measure="match", total=800.0, contributions=(row,)),
        Explanation(
            key="k", target="v", rank=1, measure="match", total=-800.0, contributions=(), agreements=agreements
        ),
    ]
    sheet = explanation_sheet(Bare(), query, found)  # type: ignore[arg-type]
    assert sheet.width == WIDTH
    assert explanation_sheet(Bare(), query, []).height > 0  # type: ignore[arg-type]
