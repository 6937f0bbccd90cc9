"""The promises of the Index protocol, kept by every index; the exact twins are also their oracles."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import multi_index
from index.base import Index
from index.binary_flat import BinaryFlatIndex
from index.exact import ExactBinaryIndex, ExactIndex
from index.flat import FlatIndex
from index.multi_index import AutoBinaryIndex, MultiIndexHashing
from index.reranked import RerankedIndex, with_floats
from index.snapshot import SnapshotError


class Reranked(RerankedIndex):
    """Re-ranks everything, by as many floats as a code has bits: then it is exact, and keeps all promises."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim, dim, 1000)


FLOAT = [ExactIndex, FlatIndex]
BINARY = [ExactBinaryIndex, BinaryFlatIndex, MultiIndexHashing, AutoBinaryIndex]
INDEXES = [*FLOAT, *BINARY, Reranked]


@pytest.fixture(params=INDEXES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(params=FLOAT, ids=lambda kind: kind.__name__)
def float_kind(request):
    return request.param


@pytest.fixture(params=BINARY, ids=lambda kind: kind.__name__)
def binary_kind(request):
    return request.param


def vectors_of(kind: type[Index], bits: np.ndarray) -> np.ndarray:
    """Vectors for an index from rows of zeros and ones."""
    return rows_of(kind, np.packbits(bits, axis=1), np.asarray(bits, np.float32))


def rows_of(kind: type[Index], codes: np.ndarray, floats: np.ndarray) -> np.ndarray:
    """What an index holds, of codes and the floats that they stand for."""
    return with_floats(codes, floats) if kind is Reranked else codes if kind in BINARY else floats


def filled(kind: type[Index], count: int = 50, dim: int = 20, seed: int = 0) -> tuple[Index, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    index = kind(dim)
    ids = rng.permutation(10 * count)[:count].astype(np.int64)
    floats = rng.normal(size=(count, dim)).astype(np.float32)
    vectors = rows_of(kind, np.packbits(floats > 0, axis=1), floats)
    assert len(np.unique(vectors, axis=0)) == count
    index.add(ids, vectors)
    return index, ids, vectors


def test_an_empty_index_answers_with_nothing(kind):
    index, nothing = kind(3), vectors_of(kind, np.zeros((2, 3), bool))
    found = index.search(nothing, k=4)
    assert len(index) == 0
    assert found.ids.tolist() == [[-1] * 4] * 2
    assert np.isinf(found.distances).all()
    assert index.get([]).shape == (0, nothing.shape[1])
    assert index.remove([1]) == 0


def test_every_vector_is_its_own_nearest_at_distance_zero(kind):
    index, ids, vectors = filled(kind)
    found = index.search(vectors, k=1)
    assert found.ids[:, 0].tolist() == ids.tolist()
    assert (found.distances == 0).all()


def test_distances_are_euclidean_and_not_squared(float_kind):
    index = float_kind(2)
    index.add([7], [[3.0, 4.0]])
    assert index.search([[0.0, 0.0]], k=1).distances[0, 0] == 5.0


def test_distances_are_numbers_of_differing_bits(binary_kind):
    index = binary_kind(12)
    index.add([7, 8], np.packbits([[1] * 12, [0] * 11 + [1]], axis=1))
    found = index.search(np.packbits([[0] * 12], axis=1), k=3)
    assert found.ids.tolist() == [[8, 7, -1]]
    assert found.distances.tolist() == [[1.0, 12.0, np.inf]]
    assert found.distances.dtype == np.float32


def test_small_distances_far_from_the_origin_keep_their_digits(float_kind):
    index = float_kind(2)
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
    index.add([5, 3, 9], vectors_of(kind, np.ones((3, 1), bool)))
    assert index.search(vectors_of(kind, np.zeros((1, 1), bool)), k=3).ids[0].tolist() == [3, 5, 9]


def test_of_equally_distant_codes_the_smallest_ids_are_nearest_however_they_came(binary_kind):
    index = binary_kind(9)
    for ids in ([50, 40], [60, 10], [45]):
        index.add(ids, np.packbits(np.ones((len(ids), 9), bool), axis=1))
    index.remove([40])
    index.add([40, 5], np.packbits(np.ones((2, 9), bool), axis=1))
    assert index.search(np.zeros((1, 2), np.uint8), k=4).ids.tolist() == [[5, 10, 40, 45]]


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
def test_bad_additions_are_refused_and_change_nothing(float_kind, ids, vectors):
    index = float_kind(3)
    index.add([0], [[0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r".+"):
        index.add(ids, vectors)
    assert index.ids().tolist() == [0]


@pytest.mark.parametrize(
    ("ids", "codes", "message"),
    [
        ([1], np.zeros((1, 3), np.uint8), "shape"),
        ([1], np.zeros(2, np.uint8), "shape"),
        ([1], np.zeros((1, 2)), "uint8"),
        ([1], np.zeros((1, 2), np.int8), "uint8"),
        ([1], np.zeros((1, 12), bool), "uint8"),
        ([1], np.array([[0, 0b1000]], np.uint8), "zeros behind"),
        ([1, 2], np.zeros((1, 2), np.uint8), "2 ids but 1"),
        ([1, 1], np.zeros((2, 2), np.uint8), "distinct"),
        ([-1], np.zeros((1, 2), np.uint8), "negative"),
        ([0], np.zeros((1, 2), np.uint8), "present"),
    ],
)
def test_bad_codes_are_refused_and_change_nothing(binary_kind, ids, codes, message):
    index = binary_kind(12)
    index.add([0], np.zeros((1, 2), np.uint8))
    with pytest.raises(ValueError, match=message):
        index.add(ids, codes)
    assert index.ids().tolist() == [0]
    if message in ("shape", "uint8", "zeros behind"):
        with pytest.raises(ValueError, match=message):
            index.search(codes, 1)


@pytest.mark.parametrize(("vectors", "k"), [([[0.0] * 4], 1), ([[np.nan] * 3], 1), ([[0.0] * 3], 0)])
def test_bad_searches_are_refused(float_kind, vectors, k):
    with pytest.raises(ValueError, match=r".+"):
        float_kind(3).search(vectors, k)


def test_no_neighbours_cannot_be_asked_for(binary_kind):
    index = binary_kind(8)
    with pytest.raises(ValueError, match="at least 1"):
        index.search(np.zeros((1, 1), np.uint8), 0)
    index.add([1], np.zeros((1, 1), np.uint8))
    with pytest.raises(ValueError, match="at least 1"):
        index.search(np.zeros((1, 1), np.uint8), 0)


def test_a_snapshot_brings_back_the_same_answers(kind, tmp_path: Path):
    index, _, vectors = filled(kind)
    index.save(tmp_path / "a.idx", {"sequence": 12})
    again, meta = kind.load(tmp_path / "a.idx")
    assert meta == {"sequence": 12}
    assert len(again) == len(index)
    for mine, theirs in zip(index.search(vectors, k=7), again.search(vectors, k=7), strict=True):
        assert (mine == theirs).all()
    assert again.dim == index.dim
    assert (again.get(index.ids()) == index.get(index.ids())).all()
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
        (ExactIndex if kind is FlatIndex else FlatIndex)(3).save(path, {})
        data = bytearray(path.read_bytes())
    path.write_bytes(data)
    with pytest.raises(SnapshotError):
        kind.load(path)


# Whole numbers have exact distances in any arithmetic, so ties are ties for the oracle and for FAISS alike.
_actions = st.lists(st.tuples(st.sampled_from(["add", "remove", "search"]), st.integers(0, 2**32 - 1)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(actions=_actions, dim=st.integers(1, 6))
def test_faiss_agrees_with_the_exact_twin_after_any_history_of_floats(actions, dim):
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
        else:
            k, only = int(rng.integers(1, 12)), rng.permutation(40)[:20] if seed % 2 else None
            mine, theirs = exact.search(queries, k, only), flat.search(queries, k, only)
            assert (mine.distances == theirs.distances).all()
            for row in range(len(queries)):
                inside = mine.distances[row] < mine.distances[row].max()
                assert (mine.ids[row][inside] == theirs.ids[row][inside]).all()
        assert (exact.ids() == flat.ids()).all()


@settings(max_examples=40, deadline=None)
@given(
    actions=st.lists(
        st.tuples(st.sampled_from(["add", "add", "remove", "search"]), st.integers(0, 2**32 - 1)), max_size=12
    ),
    dim=st.sampled_from([1, 5, 8, 16, 20, 33, 64, 100, 128, 256]),
    spread=st.sampled_from([0.0, 0.05, 0.5]),
    scan_words=st.sampled_from([0.25, 16]),
)
def test_every_binary_index_gives_the_answers_of_the_exact_twin_after_any_history(actions, dim, spread, scan_words):
    """Whatever is added and removed, with duplicates and ties, under filters, for k beyond the size, and whether
    queries are looked up or, being too dear to look up, scanned for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multi_index, "_LOOKUP", scan_words)
        patch.setattr(multi_index, "_LARGE", 50)
        exact, others = ExactBinaryIndex(dim), [kind(dim) for kind in BINARY[1:]]
        centers = np.random.default_rng(0).random((4, dim)) < 0.5

        def codes(rng, count):
            return np.packbits(centers[rng.integers(4, size=count)] ^ (rng.random((count, dim)) < spread), axis=1)

        for action, seed in actions:
            rng = np.random.default_rng(seed)
            if action == "add":
                new = rng.permutation(np.setdiff1d(rng.permutation(200)[:60], exact.ids()))
                rows = codes(rng, len(new))
                for index in [exact, *others]:
                    index.add(new, rows)
            elif action == "remove":
                gone = rng.permutation(200)[: rng.integers(1, 60)]
                assert len({index.remove(gone) for index in [exact, *others]}) == 1
            else:
                queries, k = codes(rng, 3), int(rng.choice([1, 4, 30, 250]))
                only = rng.permutation(200)[:80] if seed % 3 == 0 else None
                for index in others:
                    same(exact.search(queries, k, only), index.search(queries, k, only))
            for index in others:
                assert (index.ids() == exact.ids()).all()
                assert (index.get(exact.ids()) == exact.get(exact.ids())).all()


def same(mine, theirs):
    assert (mine.ids == theirs.ids).all()
    assert (mine.distances == theirs.distances).all()
