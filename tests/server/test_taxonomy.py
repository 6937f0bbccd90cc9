"""A tree of classes is in a file, from the command line, here and over gRPC."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

CLASSES = ("cat", "dog", "oak", "elm")
TREE = "animal: cat, dog\ntree\n  oak\n  elm  # one of few\n"
COUNT = 15


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows``, of four labels."""
    home = Home(tmp_path / "home")
    rng = np.random.default_rng(0)
    with home.create("rows", ("view=vectors:dim=6",)) as made:
        for place, label in enumerate(CLASSES):
            rows = rng.normal([place // 2, place % 2, 0, 0, 0, 0], 0.5, size=(COUNT, 6)).astype(np.float32)
            items = [NewItem(f"{label}/{i}", rows={"view": row}, labels=[label]) for i, row in enumerate(rows)]
            made.items.put(items)
    with reached(home, request.param) as options:
        yield options


def test_votes_are_measured_by_the_tree_that_was_learned_from(where: list[str], tmp_path: Path) -> None:
    """A sibling counts half, so the figure lies between accuracy and 1; a file given later measures any space."""
    file = tmp_path / "tree.txt"
    file.write_text(TREE)
    given = ("--views", "view", "--learner", "lmnn", "--set", "max_iter=10", "--holdout", 0.4)
    done("train", "rows", *given, "--taxonomy", file, *where)
    (space, raw) = result_of("show", "rows", *where)["spaces"]
    assert (space["taxonomy"]["cat"], space["taxonomy"]["animal"], raw["taxonomy"]) == ("animal", "", {})
    assert "learned from the tree animal: cat, dog; " in done("show", "rows", *where)
    measure = ("evaluate", "rows", "--view", "view", "-k", 3, "--database", "trained")
    found = {row["metric"]: row["value"] for row in result_of(*measure, *where)["rows"]}
    assert found["accuracy"] <= found["hierarchical_accuracy"] <= (1 + found["accuracy"]) / 2 + 1e-9
    assert found["lca_loss"] == pytest.approx(1 - found["hierarchical_accuracy"])  # of a tree of height 2
    assert "hierarchical_accuracy" in done(*measure, *where)
    done("train", "rows", "--views", "view", "--learner", "pca", "--holdout", 0.4, "--activate", *where)
    assert "lca_loss" not in done(*measure, *where)
    assert "lca_loss" in done(*measure, "--taxonomy", file, *where)


def test_mistakes_are_told_in_a_line(where: list[str], tmp_path: Path) -> None:
    file = tmp_path / "tree.txt"
    file.write_text("animal: cat, dog, cat\n")
    train = ("train", "rows", "--views", "view", "--learner", "lmnn", "--taxonomy", str(file), *where)
    assert "line 1: line 1 already gives 'cat' a place" in run(*train).stderr
    file.write_text("animal: cat, dog\noak\n")
    assert "label 'elm' is not a leaf of the taxonomy (cat, dog, oak)" in run(*train).stderr
    file.write_text(TREE)
    assert "pca does not learn from a taxonomy" in run(*[part.replace("lmnn", "pca") for part in train]).stderr
