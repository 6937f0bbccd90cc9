"""Spaces are measured side by side from the command line, here and through a server."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, run, told

from engine.home import Home
from engine.recipe import Recipe


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows`` and the spaces ``cca`` and ``pca``."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with home.open("rows") as made:
        for learner in ("pca", "cca"):
            made.train(Recipe(spec=learner, views=("color", "gist"), dim=2, holdout=0.3))
    with reached(home, request.param) as options:
        yield options


def test_spaces_are_measured_side_by_side(where: list[str]) -> None:
    """One column each, with the differences to the first; JSON and CSV hold the same figures."""
    ask = ("evaluate", "rows", "--space", "cca,pca,raw", "--view", "color", "-k", "1,5")
    found = told(*ask, *where)
    assert [row["space"] for row in found["rows"]] == ["cca"] * 10 + ["pca"] * 5 + ["raw"] * 5
    assert {one["baseline"] for one in found["differences"]} == {"cca"}
    assert (found["queries"], found["database"]) == (6, 14)
    lines = list(csv.DictReader(io.StringIO(done(*ask, "--csv", *where))))
    assert [float(line["value"]) for line in lines] == [row["value"] for row in found["rows"]]
    assert [float(line["difference"]) for line in lines[10:]] == [one["value"] for one in found["differences"]]
    assert {line["difference"] for line in lines[:10]} == {""}
    table = done(*ask, *where)
    assert table.split()[:7] == ["query", "database", "metric", "k", "cca", "pca", "raw"]
    assert "in brackets the difference to cca, paired" in table
    assert "was trained on" in table


def test_one_space_is_measured_as_before(where: list[str]) -> None:
    """By the active one or a named one."""
    found = told("evaluate", "rows", "--view", "color", "--targets", "gist", "-k", 5, *where)
    assert {row["space"] for row in found["rows"]} == {"cca"}
    assert (found["differences"], found["overlaps"], found["comparisons"]) == ([], [], 0)
    table = done("evaluate", "rows", "--view", "color", "--space", "raw", "-k", 5, *where)
    assert table.split()[:5] == ["query", "database", "metric", "k", "value"]
    assert "\u00b1" not in table


def test_comparisons_are_measured(where: list[str], tmp_path: Path) -> None:
    """Spaces and the views themselves, with what was learned from."""
    file = tmp_path / "test.csv"
    lines = [f"cat/{i},cat/{i + 1},dog/{i}" for i in range(9)]
    file.write_text("\n".join(["anchor,near,far", *lines]) + "\n")
    ask = ("evaluate", "rows", "--space", "cca,raw", "--view", "color", "--constraints", file)
    found = told(*ask, *where)
    assert [(row["space"], row["metric"], row["value"]) for row in found["rows"]] == [
        ("cca", "order", 1.0),
        ("raw", "order", 1.0),
    ]
    assert found["comparisons"] == 9
    assert found["overlaps"][0]["trained_items"] > 0 == found["overlaps"][0]["learned_from"]
    table = done(*ask, *where)
    assert "1.000 \u00b1 0.000 (+0.000 \u00b1 0.000)" in table
    assert "the share of 9 triplets" in table


def test_mistakes_are_one_line(where: list[str], tmp_path: Path) -> None:
    """The same here and through a server."""
    ask = ("evaluate", "rows", "--view", "color", *where)
    for options, words in (
        (("--space", "cca,cca"), "name each space once, not cca, cca"),
        (("--space", "cca,no"), "there are: cca, pca, raw"),
        (("--constraints", tmp_path / "no.csv"), "constraints cannot be read"),
    ):
        result = run(*ask, *options)
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    assert run(*ask, "--json", "--csv").exit_code == 2
