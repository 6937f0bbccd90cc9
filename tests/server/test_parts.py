"""Several metrics of one view, from the command line, here and over gRPC: filed by label, merged, listed apart."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from terminal import BACKENDS, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

LABELS = ("ash", "elm", "fir")
TARGETS = ["view:1", "view:2", "view:3"]


def items(label: str, numbers: range, tag: str) -> list[NewItem]:
    """Return rows that are large in the columns of their label."""
    made = []
    for number in numbers:
        row = np.random.default_rng([LABELS.index(label), number]).normal(size=9).astype(np.float32)
        row[3 * LABELS.index(label) :][:3] += 4
        made.append(NewItem(f"{label}/{number}", rows={"view": row}, labels=(tag,)))
    return made


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``trees``."""
    home = Home(tmp_path / "home")
    with home.create("trees", ("view=vectors:dim=9",)) as made:
        for label in LABELS:
            made.items.put(items(label, range(10), label))
    with reached(home, request.param) as options:
        yield options


def test_several_metrics_over_the_command_line(where, tmp_path):
    """They are trained, shown, searched as one list and as three, and one of them is given to a later label."""
    setting = ["--set", "n_metrics=class"]
    trained = result_of("train", "trees", "--learner", "musl:16", "--views", "view", *setting, *where)
    assert trained["targets"] == TARGETS
    assert "view:1 (16 bits)" in run("show", "trees", *where).output
    search = ("search", "trees", "--view", "view", "--key", "ash/1", *where)
    (merged,) = result_of(*search)
    assert merged["hits"][0]["key"].startswith("ash")
    assert [found["target"] for found in result_of(*search, "--no-merge")] == TARGETS
    assert "give it once" in run(*search, "--merge", "--no-merge").output
    with Home(tmp_path / "home").open("trees") as made:
        made.items.put(items("elm", range(20, 24), "oak"))
    assert result_of("space", "assign", "trees", "musl", "oak", *where)["generation"] == 2
    assert "'ash' was learned" in run("space", "assign", "trees", "musl", "ash", *where).output
    assert (
        "no item with view view has only the label 'yew'"
        in run("space", "assign", "trees", "musl", "yew", *where).output
    )
    filed = result_of(*search, "--no-merge", "--where", "label = oak")
    assert sorted(len(found["hits"]) for found in filed) == [0, 0, 4]
