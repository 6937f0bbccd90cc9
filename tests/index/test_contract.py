"""The promises of the Index protocol, kept by every index; the exact twin is also their oracle."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import ExactIndex, FlatIndex, Index, SnapshotError

INDEXES = [ExactIndex, FlatIndex]


@pytest.fixture(params=INDEXES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def filled(kind: type[Index], count: int = 50, dim: int = 8, seed: int = 0) -> tuple[Index, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    index = kind(dim)
    ids = rng.permutation(10 * count)[:count].astype(np.int64)
    vectors = rng.normal(size=(count, dim)).astype(np.float32)
    index.add(ids, vectors)
    return index, ids, vectors


def test_an_empty_index_answers_with_nothing(kind):
    index = kind(3)
    found = index.search(np.zeros((2, 3)), k=4)
    assert len(index) == 0
    assert found.ids.tolist() == [[-1] * 4] * 2
    assert np.isinf(found.distances).all()
    assert [near.ids.size for near in index.range(np.zeros((2, 3)), 1.0)] == [0, 0]
    assert index.get([]).shape == (0, 3)
    assert index.remove([1]) == 0


def test_every_vector_is_its_own_nearest_at_distance_zero(kind):
    index, ids, vectors = filled(kind)
    found = index.search(vectors, k=1)
    assert found.ids[:, 0].tolist() == ids.tolist()
    assert (found.distances == 0).all()


def test_distances_are_euclidean_and_not_squared(kind):
    index = kind(2)
    index.add([7], [[3.0, 4.0]])
    assert index.search([[0.0, 0.0]], k=1).distances[0, 0] == 5.0


def test_small_distances_far_from_the_origin_keep_their_digits(kind):
    index = kind(2)
    index.add([1, 2], [[1000.0, 1000.0], [1000.5, 1000.0]])
    found = index.search(np.tile([[1000.0, 1000.0]], (64, 1)), k=2)
    assert (found.distances == [0.0, 0.5]).all()


def test_k_beyond_the_size_gives_everything_and_then_nothing(kind):
    index, ids, vectors = filled(kind)
    found = index.search(vectors[:1], k=len(ids) + 5)
    assert set(found.ids[0, : len(ids)].tolist()) == set(ids.tolist())
    assert (found.ids[0, len(ids) :] == -1).all()


def test_equal_distances_come_in_the_order_of_ids(kind):
    index = kind(1)
    index.add([5, 3, 9], [[1.0], [1.0], [1.0]])
    assert index.search([[0.0]], k=3).ids[0].tolist() == [3, 5, 9]


def test_removed_ids_are_never_found_and_may_come_back(kind):
    index, ids, vectors = filled(kind)
    assert index.remove([*ids[:10].tolist(), 10**9]) == 10
    assert len(index) == 40
    assert not np.isin(index.search(vectors, k=50).ids, ids[:10]).any()
    index.add(ids[:1], vectors[:1])
    assert index.search(vectors[:1], k=1).ids[0, 0] == ids[0]
    assert index.ids().tolist() == sorted([*ids[10:].tolist(), int(ids[0])])


def test_a_filter_limits_the_answer_to_the_ids_given(kind):
    index, ids, vectors = filled(kind)
    only = ids[::3]
    found = index.search(vectors, k=len(ids), only=only)
    assert set(found.ids[0].tolist()) == {*only.tolist(), -1}
    assert (index.search(vectors, k=3, only=[]).ids == -1).all()
    assert (index.search(vectors, k=3, only=[10**9]).ids == -1).all()


def test_the_radius_of_a_range_is_inclusive(kind):
    index = kind(2)
    index.add([1, 2, 3], [[3.0, 4.0], [0.0, 1.0], [30.0, 0.0]])
    (near,) = index.range([[0.0, 0.0]], 5.0)
    assert near.ids.tolist() == [[2, 1]]
    assert near.distances.tolist() == [[1.0, 5.0]]
    assert index.range([[0.0, 0.0]], 0.5)[0].ids.size == 0


def test_get_returns_the_vectors_in_the_order_asked(kind):
    index, ids, vectors = filled(kind)
    assert (index.get(ids[[4, 2, 9]]) == vectors[[4, 2, 9]]).all()
    with pytest.raises(KeyError):
        index.get([10**9])


@pytest.mark.parametrize(
    ("ids", "vectors"),
    [
        ([1], [[1.0, 2.0]]),
        ([1], [1.0, 2.0, 3.0]),
        ([1, 2], [[1.0, 2.0, 3.0]]),
        ([1, 1], [[1.0, 2.0, 3.0]] * 2),
        ([-1], [[1.0, 2.0, 3.0]]),
        ([1.5], [[1.0, 2.0, 3.0]]),
        ([1], [[1.0, np.nan, 3.0]]),
        ([1], [[1.0, np.inf, 3.0]]),
        ([0], [[1.0, 2.0, 3.0]]),
    ],
    ids=["dimension", "one-dimensional", "count", "repeated", "negative", "not-integer", "nan", "inf", "present"],
)
def test_bad_additions_are_refused_and_change_nothing(kind, ids, vectors):
    index = kind(3)
    index.add([0], [[0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r".+"):
        index.add(ids, vectors)
    assert index.ids().tolist() == [0]


@pytest.mark.parametrize(("vectors", "k"), [([[0.0] * 4], 1), ([[np.nan] * 3], 1), ([[0.0] * 3], 0)])
def test_bad_searches_are_refused(kind, vectors, k):
    with pytest.raises(ValueError, match=r".+"):
        kind(3).search(vectors, k)


def test_a_snapshot_brings_back_the_same_answers(kind, tmp_path: Path):
    index, _, vectors = filled(kind)
    index.save(tmp_path / "a.idx", {"sequence": 12})
    again, meta = kind.load(tmp_path / "a.idx")
    assert meta == {"sequence": 12}
    assert len(again) == len(index)
    for mine, theirs in zip(index.search(vectors, k=7), again.search(vectors, k=7), strict=True):
        assert (mine == theirs).all()
    assert again.remove(index.ids()[:3]) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.idx"]


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "header", "kind"])
def test_a_damaged_snapshot_is_refused(kind, damage, tmp_path: Path):
    index, _, _ = filled(kind)
    path = tmp_path / "a.idx"
    index.save(path, {})
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-5] ^= 1
    elif damage == "truncate":
        data = data[:-7]
    elif damage == "empty":
        data = bytearray()
    elif damage == "header":
        data[20] = 0
    else:
        next(other for other in INDEXES if other is not kind)(3).save(path, {})
        data = bytearray(path.read_bytes())
    path.write_bytes(data)
    with pytest.raises(SnapshotError):
        kind.load(path)


# Whole numbers have exact distances in any arithmetic, so ties are ties for the oracle and for FAISS alike.
_actions = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "search", "range"]), st.integers(0, 2**32 - 1)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(actions=_actions, dim=st.integers(1, 6))
def test_faiss_agrees_with_the_exact_twin_after_any_history(actions, dim):
    exact, flat = ExactIndex(dim), FlatIndex(dim)
    for action, seed in actions:
        rng = np.random.default_rng(seed)
        queries = rng.integers(-3, 4, size=(3, dim)).astype(np.float32)
        if action == "add":
            new = np.setdiff1d(rng.permutation(40)[:8], exact.ids())
            rows = rng.integers(-3, 4, size=(len(new), dim))
            exact.add(new, rows)
            flat.add(new, rows)
        elif action == "remove":
            gone = rng.permutation(40)[:10]
            assert exact.remove(gone) == flat.remove(gone)
        elif action == "search":
            k, only = int(rng.integers(1, 12)), rng.permutation(40)[:20] if seed % 2 else None
            mine, theirs = exact.search(queries, k, only), flat.search(queries, k, only)
            assert (mine.distances == theirs.distances).all()
            for row in range(len(queries)):
                inside = mine.distances[row] < mine.distances[row].max()
                assert (mine.ids[row][inside] == theirs.ids[row][inside]).all()
        else:
            radius = float(rng.integers(0, 8))
            for mine, theirs in zip(exact.range(queries, radius), flat.range(queries, radius), strict=True):
                assert (mine.ids == theirs.ids).all()
                assert (mine.distances == theirs.distances).all()
        assert (exact.ids() == flat.ids()).all()
