"""Many items are placed in blocks: in several threads as in one, with progress, and cancellable."""

import numpy as np
import pytest
from rows import each, fill, item
from threadpoolctl import threadpool_limits

from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.spaces import indexed
from crossview.engine.values.recipe import Recipe


@pytest.fixture
def some(home):
    with fill(home, "some", [item(*one) for one in each(20)]) as made:
        yield made


def built(collection, name, progress=None):
    """Return the ids and vectors of all targets of a space, placed again."""
    with collection._opened.read() as tx:
        space = collection._opened.loaded.get(tx, name)
        made = indexed.IndexedSpace(space, (), tx.head().history).built(tx, progress)
    return {str(target): (one.index.ids(), one.index.get(one.index.ids())) for target, one in made.indexes.items()}


@pytest.mark.parametrize("spec", ["posteriors:linear,dot", "musl:3", "cca,itq:4"])
def test_threads_place_what_one_thread_places(some, monkeypatch, spec):
    """They give the same vectors and codes of the same items, also under several metrics of a view."""
    views = ("color",) if spec == "musl:3" else ("color", "gist")
    some.train(Recipe(spec=spec, views=views), space="made")
    monkeypatch.setattr(indexed, "_PLACED_AT_ONCE", 7)
    with threadpool_limits(1, user_api="blas"):
        expected = built(some, "made")
    with threadpool_limits(2, user_api="blas"):
        found = built(some, "made")
    assert found.keys() == expected.keys()
    for target, (ids, vectors) in expected.items():
        np.testing.assert_array_equal(found[target][0], ids)
        np.testing.assert_array_equal(found[target][1], vectors)


def test_placing_tells_how_far_it_is(some, monkeypatch):
    """Progress counts the items of each view, in blocks."""
    some.train(Recipe(spec="pca", views=("color", "gist")), space="made")
    monkeypatch.setattr(indexed, "_PLACED_AT_ONCE", 25)
    steps = []
    built(some, "made", lambda *step: steps.append(step))
    assert steps == [(f"placing {view}", done, 60) for view in ("color", "gist") for done in (25, 50, 60)]


def test_placing_is_cancelled_between_two_blocks(some, monkeypatch):
    """The space that was being placed is not stored."""
    monkeypatch.setattr(indexed, "_PLACED_AT_ONCE", 7)
    placing = []

    def stop():
        if placing:
            raise KeyboardInterrupt

    def progress(what, done, total, note=""):
        placing.extend([done] if what.startswith("placing") else [])

    with cancellable(stop), pytest.raises(KeyboardInterrupt):
        some.train(Recipe(spec="pca", views=("color",)), space="made", progress=progress)
    assert [one.name for one in some.spaces()] == ["raw"]
    assert placing == [7]
