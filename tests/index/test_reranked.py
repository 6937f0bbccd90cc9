"""Re-ranked codes: exact if everything is a candidate, and otherwise true distances of the nearest codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.index.exact import ExactBinaryIndex, ExactIndex
from crossview.index.reranked import RerankedIndex, with_floats

BITS, FLOATS = 12, 5


def rows(rng, count):
    """Return codes without a relation to the floats, which are whole numbers, so that ties are ties."""
    codes = np.packbits(rng.random((count, BITS)) < 0.5, axis=1)
    floats = rng.integers(-3, 4, size=(count, FLOATS)).astype(np.float32)
    return codes, floats, with_floats(codes, floats)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 12), factor=st.integers(1, 8), filtered=st.booleans())
def test_the_nearest_floats_of_the_nearest_codes(seed, k, factor, filtered):
    """The answer is the oracle's among the factor x k nearest by the oracle of codes; ties by id in both."""
    rng = np.random.default_rng(seed)
    index, by_codes, by_floats = RerankedIndex(BITS, FLOATS, factor), ExactBinaryIndex(BITS), ExactIndex(FLOATS)
    ids = rng.permutation(100)[:40]
    codes, floats, both = rows(rng, 40)
    index, by_codes, by_floats = (
        one.changed([], ids, what).changed(ids[:5], [], what[:0])
        for one, what in ((index, both), (by_codes, codes), (by_floats, floats))
    )
    asked, exactly, queries = rows(rng, 3)
    only = ids[::2] if filtered else None
    found = index.search(queries, k, only)
    for row in range(3):
        candidates = by_codes.search(asked[row : row + 1], factor * k, only).ids[0]
        expected = by_floats.search(exactly[row : row + 1], k, candidates[candidates >= 0])
        assert found.ids[row].tolist() == expected.ids[0].tolist()
        assert found.distances[row].tolist() == expected.distances[0].tolist()
        if factor * k >= (len(ids) if only is None else len(only)):
            everything = by_floats.search(exactly[row : row + 1], k, only)
            assert found.ids[row].tolist() == everything.ids[0].tolist()


def test_bad_rows_are_refused_and_change_nothing():
    """Floats without codes, other widths, NaN among the floats, and bits behind the code."""
    codes, floats, both = rows(np.random.default_rng(0), 2)
    index = RerankedIndex(BITS, FLOATS, 2).changed([], [0], both[:1])
    nan, bit = floats.copy(), codes.copy()
    nan[0, 0], bit[0, 1] = np.nan, 0b1000
    for bad, words in (
        (floats, "must be uint8"),
        (codes, "shape"),
        (both[0], "shape"),
        (with_floats(codes, nan), "finite"),
        (with_floats(bit, floats), "zeros after"),
        (both[:1], "2 ids but 1"),
    ):
        with pytest.raises(ValueError, match=words):
            index.changed([], [1, 2], bad)
    with pytest.raises(ValueError, match="at least 1"):
        index.search(both, 0)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        RerankedIndex(BITS, FLOATS, 0)
    assert index.ids().tolist() == [0]


def test_a_snapshot_keeps_the_factor(tmp_path):
    """The loaded index therefore answers as the saved one did."""
    *_, both = rows(np.random.default_rng(0), 30)
    index = RerankedIndex(BITS, FLOATS, 3).changed([], np.arange(30), both)
    index.save(tmp_path / "a.idx", {})
    again, _ = RerankedIndex.load(tmp_path / "a.idx")
    assert again.factor == 3
    assert again.search(both, 2).ids.tolist() == index.search(both, 2).ids.tolist()
