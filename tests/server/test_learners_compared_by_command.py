"""Learners are compared from the command line, here and through a server."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home

COMPARE = ("compare", "rows", "--learners", "cca; sqrt,cca", "--splits", 2)


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows``, which has no space."""
    home = Home(tmp_path / "home")
    fill_rows(home, 20)
    with reached(home, request.param) as options:
        yield options


def test_learners_stand_side_by_side(where: list[str], tmp_path: Path) -> None:
    """The table has both directions and their mean, JSON and CSV the same figures, and a report a page with plots."""
    table = done(*COMPARE, *where)
    assert table.split()[:8] == ["query", "target", "database", "metric", "k", "cca", "sqrt,cca", "color"]
    for words in ("gist\tcolor\tunseen", "mean\t\tunseen\tmap", "r_precision", "seconds", "means over 2 splits"):
        assert words in table
    assert "each of cca, sqrt,cca was fitted again" in table
    assert "in brackets the difference to cca, paired" in table
    found = result_of(*COMPARE, "--report", tmp_path / "report", *where)
    lines = list(csv.DictReader(io.StringIO(done(*COMPARE, "--csv", *where))))
    timed = [row for row in found["rows"] if row["metric"] != "seconds"]
    assert [float(line["value"]) for line in lines if line["metric"] != "seconds"] == [row["value"] for row in timed]
    assert "mean" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / "report" / "precision-recall.png").stat().st_size > 1000
    assert [space["name"] for space in result_of("space", "list", "rows", *where)] == ["raw"]


def test_the_table_of_one_learner_has_its_seconds(where: list[str]) -> None:
    lines = [line.split("\t") for line in done("compare", "rows", "--learners", "cca", *where).splitlines()]
    assert lines[0] == ["query", "target", "database", "metric", "k", "cca"]
    (seconds,) = [line[-1] for line in lines if "seconds" in line]
    assert float(seconds.split()[0]) > 0


def test_mistakes_are_one_line(where: list[str]) -> None:
    for options, words in (
        (("--learners", "cca,cca"), "name each space once, and each learner"),
        (("--learners", "nothing"), "nothing"),
        (("--learners", "cca", "-k", "five"), "-k takes numbers"),
    ):
        refused = run("compare", "rows", *options, *where)
        assert refused.exit_code in (1, 2)
        assert words in refused.stderr
