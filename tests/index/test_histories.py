"""After any history, an index answers as its exact twin does."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from indexes import BINARY

from crossview.index import chunk, float_scan, multi_index
from crossview.index.exact import ExactBinaryIndex, ExactIndex
from crossview.index.flat import FlatIndex

# Whole numbers have exact distances in any arithmetic, so ties are ties for the oracle and for FAISS alike.
_actions = st.lists(
    st.tuples(st.sampled_from(["change", "change", "compact", "search", "return"]), st.integers(0, 2**32 - 1)),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    actions=_actions, dim=st.integers(1, 6), rows=st.sampled_from([3, 16, 1000]), queries=st.sampled_from([1, 3, 25])
)
def test_floats_are_found_as_by_the_exact_twin_after_any_history(actions, dim, rows, queries):
    """The histories have additions, replacements, removals, compactions and changes of earlier versions, with filters
    and without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk, "MOST_ROWS", rows)
        patch.setattr(float_scan, "_CACHED", 50)
        versions = [(ExactIndex(dim), FlatIndex(dim))]
        for action, seed in actions:
            rng = np.random.default_rng(seed)
            exact, mine = versions[-1]
            if action == "change":
                new, gone = rng.permutation(60)[: rng.integers(20)], rng.permutation(60)[: rng.integers(20)]
                vectors = rng.integers(-3, 4, size=(len(new), dim))
                versions.append((exact.changed(gone, new, vectors), mine.changed(gone, new, vectors)))
            elif action == "compact":
                versions.append((exact, mine.compacted()))
            elif action == "return":
                versions.append(versions[rng.integers(len(versions))])
            else:
                asked, k = rng.integers(-3, 4, size=(queries, dim)), int(rng.integers(1, 12))
                only = rng.permutation(60)[: rng.integers(60)] if seed % 2 else None
                prepared = only if only is None or seed % 3 else mine.selection(only)
                agree(exact.search(asked, k, only), mine.search(asked, k, prepared))
        for exact, mine in versions:
            assert (exact.ids() == mine.ids()).all()
            assert (exact.get(exact.ids()) == mine.get(exact.ids())).all()


def agree(mine, theirs):
    """Check for equal distances, and equal ids except those at the last distance, any of which may be answered."""
    assert (mine.distances == theirs.distances).all()
    inside = mine.distances < mine.distances.max(axis=1, keepdims=True)
    assert (mine.ids[inside] == theirs.ids[inside]).all()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    actions=_actions,
    dim=st.sampled_from([1, 5, 8, 16, 20, 33, 64, 100, 128, 256]),
    spread=st.sampled_from([0.0, 0.05, 0.5]),
    scan_words=st.sampled_from([0.25, 16]),
    rows=st.sampled_from([10, 64, 1000]),
)
def test_every_binary_index_gives_the_answers_of_the_exact_twin_after_any_history(
    actions, dim, spread, scan_words, rows
):
    """Histories change and compact, with duplicates and ties, under filters, for k beyond the size. Queries are looked
    up or, if that costs too much, scanned for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk, "MOST_ROWS", rows)
        patch.setattr(multi_index, "_LOOKUP", scan_words)
        patch.setattr(multi_index, "_LARGE", 50)
        versions = [(ExactBinaryIndex(dim), *(kind(dim) for kind in BINARY[1:]))]
        centers = np.random.default_rng(0).random((4, dim)) < 0.5

        def codes(rng, count):
            return np.packbits(centers[rng.integers(4, size=count)] ^ (rng.random((count, dim)) < spread), axis=1)

        for action, seed in actions:
            rng = np.random.default_rng(seed)
            exact, *others = versions[-1]
            if action == "change":
                new, gone = rng.permutation(200)[: rng.integers(60)], rng.permutation(200)[: rng.integers(60)]
                vectors = codes(rng, len(new))
                versions.append(tuple(index.changed(gone, new, vectors) for index in versions[-1]))
            elif action == "compact":
                versions.append(tuple(index.compacted() for index in versions[-1]))
            elif action == "return":
                versions.append(versions[rng.integers(len(versions))])
            else:
                queries, k = codes(rng, int(rng.choice([1, 3]))), int(rng.choice([1, 4, 30, 250]))
                only = rng.permutation(200)[: rng.integers(200)] if seed % 2 == 0 else None
                for index in others:
                    prepared = only if only is None or seed % 3 else index.selection(only)
                    same(exact.search(queries, k, only), index.search(queries, k, prepared))
        for exact, *others in versions:
            for index in others:
                assert (index.ids() == exact.ids()).all()
                assert (index.get(exact.ids()) == exact.get(exact.ids())).all()


def same(mine, theirs):
    assert (mine.ids == theirs.ids).all()
    assert (mine.distances == theirs.distances).all()
