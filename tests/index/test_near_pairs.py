"""A join of codes finds every near pair, and no other: by substrings and by scans, within a set and between two."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.index import near_pairs as module
from crossview.index.near_pairs import TooManyPairsError, distinct, near_pairs


@pytest.fixture(autouse=True)
def chunk_rows():
    """Replace the lengths of chunks: a join has none."""


def by_force(codes, radius, others=None):
    """Return the rows (first, second, distance), by comparing everything."""
    right = codes if others is None else others
    away = np.zeros((len(codes), len(right)), np.int64)
    for byte in range(codes.shape[1]):
        away += np.bitwise_count(codes[:, None, byte] ^ right[None, :, byte])
    near = away <= radius
    first, second = np.nonzero(np.triu(near, 1) if others is None else near)
    return np.column_stack([first, second, away[first, second]])


def clustered(count, width, centres, flips, seed):
    """Draw codes of ``width`` bytes, each bit differing with probability ``flips`` from one of the centres."""
    rng = np.random.default_rng(seed)
    bits = rng.random((centres, 8 * width)) < 0.5
    return np.packbits(bits[rng.integers(centres, size=count)] ^ (rng.random((count, 8 * width)) < flips), axis=1)


@st.composite
def sets(draw, width):
    """Codes near few centres, with many duplicates if no bit differs; sometimes none."""
    return clustered(
        draw(st.integers(0, 60)),
        width,
        draw(st.integers(1, 8)),
        draw(st.sampled_from([0.0, 0.01, 0.1, 0.5])),
        draw(st.integers(0, 2**31)),
    )


@settings(max_examples=300, deadline=None)
@given(data=st.data(), width=st.integers(1, 32), radius=st.integers(0, 16), substrings=st.booleans())
def test_the_pairs_are_those_of_brute_force(data, width, radius, substrings):
    codes = data.draw(sets(width))
    others = data.draw(st.none() | sets(width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", data.draw(st.sampled_from([1, 7, 1 << 20])))
        if substrings:
            parts = module._parts(8 * width, radius, data.draw(st.integers(-(-width // 2), min(8 * width, 17))))
            if sum(part.lookups for part in parts) < 5000:
                patch.setattr(module, "_plan", lambda *_: parts)
        found = near_pairs(codes, radius, others)
    assert (np.column_stack(found) == by_force(codes, radius, others)).all()
    assert len(found.first) == len(by_force(codes, radius, others))
    assert [column.dtype for column in found] == [np.int64, np.int64, np.int32]


@pytest.mark.parametrize(("width", "radius"), [(8, 0), (8, 8), (32, 12), (3, 2)])
@pytest.mark.parametrize("flips", [0.02, 0.5])
def test_large_sets_are_joined_as_exactly(width, radius, flips):
    """The join itself chooses between substrings and a scan, for more codes than the property tests take."""
    codes, others = (clustered(2500, width, 500, flips, seed) for seed in (1, 2))
    for right in (None, others[:900]):
        assert np.array_equal(np.column_stack(near_pairs(codes, radius, right)), by_force(codes, radius, right))


def test_the_choice_counts_the_work():
    """Substrings of a large uniform set are looked up; scans serve few, far and similar codes."""
    uniform = np.random.default_rng(0).integers(0, 256, (50_000, 8), np.uint8)
    same = uniform.copy()
    same[:, :6] = 0

    def plan(codes, radius):
        groups = module._Groups(codes)
        return module._plan(groups, groups, radius)

    assert {part.radius for part in plan(uniform, 8)} <= {1, 2}
    assert plan(uniform[:500], 8) is None
    assert plan(uniform, 30) is None
    assert plan(same, 20) is None


def test_distinct_codes_stand_for_equal_ones():
    codes = clustered(300, 8, 10, 0.01, seed=0)
    places, numbers = distinct(codes)
    assert (np.diff(places) > 0).all()
    assert (codes[places][numbers] == codes).all()
    assert len(np.unique(codes, axis=0)) == len(places)
    assert (numbers[places] == np.arange(len(places))).all()
    empty, none = distinct(codes[:0])
    assert len(empty) == len(none) == 0


@pytest.mark.parametrize("codes", [np.zeros((1001, 8), np.uint8), clustered(1001, 8, 1, 0.01, seed=0)])
def test_too_many_pairs_are_an_error_and_not_a_full_memory(codes):
    with pytest.raises(TooManyPairsError, match=r"more than 1,000 pairs of codes within \d bits: choose"):
        near_pairs(codes, 8, most=1000)
    million = np.zeros((1_000_000, 8), np.uint8)
    with pytest.raises(TooManyPairsError):
        near_pairs(million, 8)
    assert len(distinct(million)[0]) == 1


def test_the_limit_itself_is_allowed():
    assert len(near_pairs(np.zeros((5, 8), np.uint8), 0, most=10).first) == 10


@pytest.mark.parametrize("radius", [4, 20])
def test_the_report_counts_the_steps_and_can_end_the_work(radius):
    codes = np.random.default_rng(0).integers(0, 256, (10_000, 8), np.uint8)
    steps = []
    near_pairs(codes, radius, most=10**9, report=lambda *step: steps.append(step))
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > 1

    def leave(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        near_pairs(codes, radius, report=leave)


@pytest.mark.parametrize(
    ("codes", "radius", "others", "message"),
    [
        (np.zeros((2, 8)), 1, None, "codes must be uint8, packed as by np.packbits, not float64"),
        (np.zeros(8, np.uint8), 1, None, r"codes must have shape \(n, bytes\), not \(8,\)"),
        (np.zeros((2, 0), np.uint8), 1, None, r"codes must have shape \(n, bytes\), not \(2, 0\)"),
        (np.zeros((2, 8), np.uint8), -1, None, "the radius must be at least 0, not -1"),
        (np.zeros((2, 8), np.uint8), 1, np.zeros((2, 4), np.uint8), "codes of 8 bytes do not compare with codes of 4"),
    ],
)
def test_wrong_input_is_refused(codes, radius, others, message):
    with pytest.raises(ValueError, match=message):
        near_pairs(codes, radius, others)
