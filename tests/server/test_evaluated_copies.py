"""Copies of indexed pictures show how soon searches by them find the picture, here and through a server."""

from pathlib import Path

import numpy as np
import pytest
from terminal import done, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.training.copy_recall import evaluate_copies, originals, ranks
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import IndexOptions
from crossview.features.copy_kinds import KINDS
from crossview.server.commands.backend import Backend


def test_figures_are_those_of_searches(backend: Backend) -> None:
    """They cover every kind of copy, in every target; an exact copy is the first hit among the views themselves."""
    collection = backend.open("drawn")
    request = EvaluationRequest(view="color", spaces=("cca", "raw"), k=(1, 2), seed=3)
    found = evaluate_copies(collection, request, 4)
    assert found.queries == 4 * 5
    figures = {(row.space, row.database_view, row.metric, row.k): row.value for row in found.rows}
    assert {key[:2] for key in figures} == {("cca", "color"), ("cca", "sift"), ("raw", "color")}
    assert figures["raw", "color", "recall_exact", 1] == 1
    drawn = originals(collection, "color", 4, seed=3)
    for kind in KINDS:
        for space, target in (("cca", "color"), ("cca", "sift"), ("raw", "color")):
            first = [
                {hit.key for hit in hits} & picture.keys
                for picture in drawn
                for hits in collection.search(
                    view="color", image=picture.copies[kind], space=space, k=2, targets=[target]
                )
            ]
            assert figures[space, target, f"recall_{kind}", 2] == np.mean([bool(one) for one in first])
    differences = {one.metric: one for one in found.differences if one.k == 1}
    assert differences["recall_exact"].value == 1 - figures["cca", "color", "recall_exact", 1]
    assert {one.database_view for one in found.differences} == {"color"}


def test_only_unchanged_files_are_copied_and_their_twins_are_right(tmp_path: Path, pictures: Path) -> None:
    """A copy that finds another item with the very same file has found the picture."""
    files = sorted(pictures.glob("*/*.jpg"))[:4]
    folder = tmp_path / "few"
    folder.mkdir()
    for name, file in zip(("a.jpg", "b.jpg", "changed.jpg", "gone.jpg"), (files[0], files[0], *files[2:]), strict=True):
        (folder / name).write_bytes(file.read_bytes())
    with Home(tmp_path / "home").create("few", views=["color"]) as made:
        made.index([folder], IndexOptions(workers=1))
        (folder / "changed.jpg").write_bytes(files[1].read_bytes())
        (folder / "gone.jpg").unlink()
        drawn = originals(made, "color", 10, seed=0)
        assert {len(one.keys) for one in drawn} == {2}
        found = ranks(made, drawn, EvaluationRequest(view="color", k=(1,)))
        assert found["raw", "color", "exact"].tolist() == [1, 1]
        with pytest.raises(NotReadyError, match="no item of few with the view sift"):
            originals(made, "sift", 1, seed=0)


def test_a_table_shows_recall_by_kind(home: Home) -> None:
    where = ("--home", home.path)
    ask = ("evaluate", "drawn", "--view", "color", "--targets", "sift", "--copies", 2)
    table = done(*ask, *where)
    assert table.split()[:5] == ["query", "target", "metric", "k", "cca"]
    assert "copies of 2 indexed pictures" in table
    rows = result_of(*ask, "-k", 5, *where)["rows"]
    assert [(row["metric"], row["k"]) for row in rows] == [(f"recall_{kind}", 5) for kind in KINDS]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--copies", 0], "copy at least 1 picture, not 0"),
        (["--copies", 2, "--refit"], "leave out databases"),
        (["--copies", 2, "--detach"], "detach"),
    ],
)
def test_mistakes_are_one_line(home: Home, options: list[object], message: str) -> None:
    result = run("evaluate", "drawn", "--view", "color", *options, "--home", home.path)
    assert result.exit_code
    assert message in result.stderr


def test_requests_for_other_measures_are_refused(home: Home) -> None:
    with home.open("drawn") as collection, pytest.raises(InvalidInputError, match="leave out databases"):
        evaluate_copies(collection, EvaluationRequest(view="color", databases=("unseen",)), 2)
