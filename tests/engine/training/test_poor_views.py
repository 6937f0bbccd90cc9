"""Views with little or nothing to learn: their rows are all equal, or far from 0."""

from collections.abc import Iterator

import numpy as np
import pytest

from crossview import learners
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe

N = 45
CODES = np.repeat(np.arange(3), N // 3)
RANDOM = np.random.default_rng(0)
GOOD, OTHER = (RANDOM.normal(size=(N, width)) + 2 * CODES[:, None] for width in (6, 5))
VIEWS = {"good": GOOD, "other": OTHER, "equal": np.ones((N, 4)), "remote": 1e7 + OTHER}


@pytest.fixture
def collection(home: Home) -> Iterator[Collection]:
    with home.create("odd", [f"{name}=vectors:dim={rows.shape[1]}" for name, rows in VIEWS.items()]) as made:
        made.items.put(
            [
                NewItem(f"{number:02}", labels=(f"class {CODES[number]}",), rows={v: VIEWS[v][number] for v in VIEWS})
                for number in range(N)
            ]
        )
        yield made


def test_the_default_leaves_out_equal_rows_and_says_so(collection: Collection) -> None:
    space = collection.train(Recipe())
    assert tuple(space.views) == ("good", "other", "remote")
    assert [note for note in space.notes if "equal" in note] == [
        "view 'equal' is left out: all its rows are equal, so that nothing can be learned from them"
    ]
    assert any("view 'remote' are " in note for note in space.notes)


@pytest.mark.parametrize("spec", ["cca", "csa", "multi-npp", "pca", "instances", "co-em", "posteriors", "semantic"])
def test_a_view_of_equal_rows_that_is_asked_for_is_named(collection: Collection, spec: str) -> None:
    """Some learners made a space of 0 dimensions of such a view, which became the active one."""
    with pytest.raises(InvalidInputError, match="all rows of view 'equal' are equal"):
        collection.train(Recipe(spec=spec, views=("good", "equal")))


def test_a_view_of_equal_rows_is_not_added_to_a_space(collection: Collection) -> None:
    collection.train(Recipe(spec="pca", views=("good", "other")), space="made")
    with pytest.raises(InvalidInputError, match="all rows of view 'equal' are equal"):
        collection.spaces.extend("made", ["equal"])


def test_a_collection_of_equal_rows_cannot_be_learned_from(home: Home) -> None:
    with home.create("flat", ["v=vectors:dim=2"]) as flat:
        flat.items.put([NewItem(f"{number}", rows={"v": [1.0, 2.0]}) for number in range(3)])
        with pytest.raises(NotReadyError, match="no view can be learned from: v: all its rows are equal"):
            flat.train(Recipe())


def test_the_audit_finds_both(collection: Collection) -> None:
    found = {(finding.kind, finding.view): finding for finding in collection.audit().findings}
    assert found["equal_rows", "equal"].count == N
    assert "subtract their mean" in found["remote_rows", "remote"].sentence
    assert {view for kind, view in found if kind.endswith("_rows")} == {"equal", "remote"}


@pytest.mark.parametrize("kind", [learners.MultiNPP, learners.CanonicalCorrelation, learners.PCA, learners.CoEM])
def test_a_learner_names_the_view_by_its_number(kind: type[learners.MultiViewLearner]) -> None:
    with pytest.raises(ValueError, match="all rows of view 1 are equal"):
        kind().fit([GOOD, np.zeros((N, 3))], CODES)


@pytest.mark.parametrize(
    "learner",
    [
        learners.CoEM(random_state=0),
        learners.Instances(random_state=0, scaling="none"),
        learners.KernelMap(n_landmarks=20, random_state=0),
    ],
)
def test_a_common_offset_changes_no_kernel(learner: learners.MultiViewLearner) -> None:
    """Products of rows 10 million spreads from 0 hold few digits of the differences between them."""
    learned = learner.fit([GOOD, OTHER], CODES).transform([GOOD, OTHER])
    moved = [rows + 1e7 for rows in (GOOD, OTHER)]
    again = learner.fit(moved, CODES).transform(moved)
    for one, other in zip(learned, again, strict=True):
        products = one @ one.T, other @ other.T
        assert np.corrcoef(products[0].ravel(), products[1].ravel())[0, 1] > 0.99
