"""Spaces are measured side by side from the command line, here and through a server."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.recipe import Recipe


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows`` and the spaces ``cca`` and ``pca``."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with home.open("rows") as made:
        for learner in ("pca", "cca"):
            made.train(Recipe(spec=learner, views=("color", "gist"), dim=2, holdout=0.3), activate=True)
    with reached(home, request.param) as options:
        yield options


def test_spaces_are_measured_side_by_side(where: list[str]) -> None:
    """Each has a column, with the differences to the first; JSON and CSV hold the same figures."""
    ask = ("evaluate", "rows", "--space", "cca,pca,raw", "--view", "color", "-k", "1,5", "--database", "trained")
    found = result_of(*ask, *where)
    assert [row["space"] for row in found["rows"]] == ["cca"] * 14 + ["pca"] * 7 + ["raw"] * 7
    assert {one["baseline"] for one in found["differences"]} == {"cca"}
    assert (found["queries"], found["databases"]) == (6, {"trained": 14})
    lines = list(csv.DictReader(io.StringIO(done(*ask, "--csv", *where))))
    assert [float(line["value"]) for line in lines] == [row["value"] for row in found["rows"]]
    assert [float(line["difference"]) for line in lines[14:]] == [one["value"] for one in found["differences"]]
    assert {line["difference"] for line in lines[:14]} == {""}
    table = done(*ask, *where)
    assert table.split()[:8] == ["query", "target", "database", "metric", "k", "cca", "pca", "raw"]
    assert "in brackets the difference to cca, paired" in table
    assert "was trained on" in table


def test_one_space_is_measured_as_before(where: list[str]) -> None:
    """It is the active one or a named one."""
    found = result_of("evaluate", "rows", "--view", "color", "--targets", "gist", "-k", 5, *where)
    assert {row["space"] for row in found["rows"]} == {"cca"}
    assert (found["differences"], found["overlaps"], found["comparisons"]) == ([], [], 0)
    table = done("evaluate", "rows", "--view", "color", "--space", "raw", "-k", 5, "--test-size", 0.5, *where)
    assert table.split()[:6] == ["query", "target", "database", "metric", "k", "raw"]
    assert "means \u00b1 standard errors" in table


def test_comparisons_are_measured(where: list[str], tmp_path: Path) -> None:
    """They measure spaces and the views themselves, and the report counts those that were learned from."""
    file = tmp_path / "test.csv"
    lines = [f"cat/{i},cat/{i + 1},dog/{i}" for i in range(9)]
    file.write_text("\n".join(["anchor,near,far", *lines]) + "\n")
    ask = ("evaluate", "rows", "--space", "cca,raw", "--view", "color", "--constraints", file)
    found = result_of(*ask, *where)
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
    """They are the same here and through a server."""
    ask = ("evaluate", "rows", "--view", "color", *where)
    for options, words in (
        (("--space", "cca,cca"), "name each space once, and each learner, not cca, cca"),
        (("--space", "cca,no"), "there are: cca, pca, raw"),
        (("--constraints", tmp_path / "no.csv"), "constraints cannot be read"),
    ):
        result = run(*ask, *options)
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    assert run(*ask, "--json", "--csv").exit_code == 2


def test_every_figure_has_its_database(where: list[str]) -> None:
    """The table, JSON and CSV name it."""
    ask = ("evaluate", "rows", "--view", "color", "--targets", "gist", "-k", 5, *where)
    table = done(*ask, "--database", "trained,unseen,mixed")
    assert table.split()[:6] == ["query", "target", "database", "metric", "k", "cca"]
    assert table.count("color\tgist\t") == 5 + 8 + 9
    for database in ("trained", "unseen", "mixed"):
        assert f"color\tgist\t{database}\tmap\t" in table
    assert "6 queries; items to find: 14 trained, 6 unseen, 20 mixed; " in table
    found = result_of(*ask, "--database", "unseen,mixed")
    assert [row["database"] for row in found["rows"]] == ["unseen"] * 8 + ["mixed"] * 9
    assert found["databases"] == {"unseen": 6, "mixed": 20}
    lines = list(csv.DictReader(io.StringIO(done(*ask, "--database", "unseen,mixed", "--csv"))))
    assert [line["database"] for line in lines] == [row["database"] for row in found["rows"]]
    assert run(*ask, "--database", "none").exit_code == 1


def test_some_held_out_items_ask(where: list[str]) -> None:
    """They are as many as requested, drawn by the seed, and everything can be found; zero is refused."""
    ask = ("evaluate", "rows", "--space", "cca,raw", "--view", "color", "-k", 5, *where)
    found = result_of(*ask, "--max-queries", 3, "--seed", 1)
    assert (found["queries"], found["databases"]) == (3, {"trained": 14, "unseen": 6})
    assert "3 of 6 held-out items, drawn at random, are the query set" in found["protocol"]
    assert found["rows"] == result_of(*ask, "--max-queries", 3, "--seed", 1)["rows"]
    assert result_of(*ask)["rows"] == result_of(*ask, "--max-queries", 6)["rows"]
    for number in (0, -1):
        result = run(*ask, "--max-queries", number)
        assert result.exit_code == 1
        assert f"max_queries must be at least 1, not {number}" in result.stderr


def test_items_are_found_by_their_own_other_view(where: list[str]) -> None:
    """A request measures so despite labels; the trained items have no place in it."""
    ask = ("evaluate", "rows", "--space", "cca", "--view", "color", "--by", "items", *where)
    found = result_of(*ask)
    assert [(row["metric"], row["k"], row["database"]) for row in found["rows"]] == [
        ("recall", 1, "unseen"),
        ("recall", 10, "unseen"),
        ("median_rank", None, "unseen"),
        ("coverage", 10, "unseen"),
        ("hubness", 10, "unseen"),
    ]
    assert found["rows"][1]["value"] == 1.0  # of six items
    assert "measure unseen or mixed" in run(*ask, "--database", "trained").stderr


def test_splits_are_drawn_and_part_no_groups(where: list[str], tmp_path: Path) -> None:
    """A training and a refit read the groups from a file of keys; the protocol says how errors are corrected."""
    file = tmp_path / "pairs.csv"
    lines = [f"{group}/{number},{group}{number // 2}" for group in ("cat", "dog") for number in range(10)]
    file.write_text("\n".join(["key,group", *lines]) + "\n")
    done("train", "rows", "--learner", "cca", "--views", "color,gist", "--holdout", 0.3, "--group-by", file, *where)
    ask = ("evaluate", "rows", "--view", "color", "--space", "cca", "-k", 1, *where)
    assert f"did not part groups by {file}" in result_of(*ask)["protocol"]
    several = result_of(*ask, "--refit", "--splits", 3)
    assert f"means over 3 splits: 20% of the groups of labelled items by {file}" in several["protocol"]
    assert "Nadeau and Bengio" in several["protocol"]
    assert (several["queries"], several["databases"]["trained"]) == (4, 16)
    assert "also use --refit" in run(*ask, "--splits", 3).stderr
    assert "none of them has an attribute 'speaker'" in run(*ask, "--refit", "--group-by", "speaker").stderr
