"""The promises of the Index protocol, kept by every index; the exact twins are also their oracles."""

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import chunk, flat, multi_index
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


@pytest.fixture(autouse=True, params=[9, 1 << 18], ids=["short chunks", "long chunks"])
def chunk_rows(request, monkeypatch):
    """Every promise holds within a chunk and across many."""
    monkeypatch.setattr(chunk, "MOST_ROWS", request.param)


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
    return index.changed([], ids, vectors), ids, vectors


def test_an_empty_index_answers_with_nothing(kind):
    index, nothing = kind(3), vectors_of(kind, np.zeros((2, 3), bool))
    found = index.search(nothing, k=4)
    assert len(index) == 0
    assert found.ids.tolist() == [[-1] * 4] * 2
    assert np.isinf(found.distances).all()
    assert index.get([]).shape == (0, nothing.shape[1])
    assert len(index.changed([1], [], nothing[:0])) == 0
    assert len(index.compacted()) == index.waste == 0


def test_every_vector_is_its_own_nearest_at_distance_zero(kind):
    index, ids, vectors = filled(kind)
    found = index.search(vectors, k=1)
    assert found.ids[:, 0].tolist() == ids.tolist()
    assert (found.distances == 0).all()


def test_distances_are_euclidean_and_not_squared(float_kind):
    index = float_kind(2).changed([], [7], [[3.0, 4.0]])
    assert index.search([[0.0, 0.0]], k=1).distances[0, 0] == 5.0


def test_distances_are_numbers_of_differing_bits(binary_kind):
    index = binary_kind(12).changed([], [7, 8], np.packbits([[1] * 12, [0] * 11 + [1]], axis=1))
    found = index.search(np.packbits([[0] * 12], axis=1), k=3)
    assert found.ids.tolist() == [[8, 7, -1]]
    assert found.distances.tolist() == [[1.0, 12.0, np.inf]]
    assert found.distances.dtype == np.float32


def test_small_distances_far_from_the_origin_keep_their_digits(float_kind):
    index = float_kind(2).changed([], [1, 2], [[1000.0, 1000.0], [1000.5, 1000.0]])
    found = index.search(np.tile([[1000.0, 1000.0]], (64, 1)), k=2)
    assert (found.distances == [0.0, 0.5]).all()


def test_k_beyond_the_size_gives_everything_and_then_nothing(kind):
    index, ids, vectors = filled(kind)
    found = index.search(vectors[:1], k=len(ids) + 5)
    assert set(found.ids[0, : len(ids)].tolist()) == set(ids.tolist())
    assert (found.ids[0, len(ids) :] == -1).all()


def test_equal_distances_come_in_the_order_of_ids(kind):
    index = kind(1).changed([], [5, 3, 9], vectors_of(kind, np.ones((3, 1), bool)))
    assert index.search(vectors_of(kind, np.zeros((1, 1), bool)), k=3).ids[0].tolist() == [3, 5, 9]


def test_of_equally_distant_codes_the_smallest_ids_are_nearest_however_they_came(binary_kind):
    index = binary_kind(9)
    for ids in ([50, 40], [60, 10], [45]):
        index = index.changed([], ids, np.packbits(np.ones((len(ids), 9), bool), axis=1))
    index = index.changed([40], [], np.empty((0, 2), np.uint8))
    index = index.changed([], [40, 5], np.packbits(np.ones((2, 9), bool), axis=1))
    for same_ in (index, index.compacted()):
        assert same_.search(np.zeros((1, 2), np.uint8), k=4).ids.tolist() == [[5, 10, 40, 45]]


def test_removed_ids_are_never_found_and_may_come_back(kind):
    index, ids, vectors = filled(kind)
    index = index.changed([*ids[:10].tolist(), 10**9], [], vectors[:0])
    assert len(index) == 40
    assert not np.isin(index.search(vectors, k=50).ids, ids[:10]).any()
    index = index.changed([], ids[:1], vectors[:1])
    assert index.search(vectors[:1], k=1).ids[0, 0] == ids[0]
    assert index.ids().tolist() == sorted([*ids[10:].tolist(), int(ids[0])])


@pytest.mark.parametrize("removed", [True, False])
def test_an_id_that_comes_again_is_replaced(kind, removed):
    """Whether it is said to be removed or not; the old vector is found no more."""
    index, ids, vectors = filled(kind)
    again = index.changed(ids[:5] if removed else [], ids[:5], vectors[5:10])
    assert len(again) == 50
    assert (again.get(ids[:5]) == vectors[5:10]).all()
    assert not np.isin(again.search(vectors[:5], k=50).distances, 0).any()
    pairs = np.sort(np.stack([ids[:5], ids[5:10]], axis=1), axis=1)
    assert (again.search(vectors[5:10], k=2).ids == pairs).all()


def test_versions_of_one_index_do_not_change_each_other(kind):
    """Two that come from the same one hold their own rows; and so does what comes from these, and their parent."""
    index, ids, vectors = filled(kind, count=60)
    old = index.changed(ids[30:], [], vectors[:0])
    left = old.changed(ids[:3], ids[30:40], vectors[30:40])
    right = old.changed(ids[2:5], ids[40:50], vectors[40:50])
    lefter = left.changed([], ids[50:], vectors[50:])
    for version, present in (
        (old, range(30)),
        (left, range(3, 40)),
        (right, [0, 1, *range(5, 30), *range(40, 50)]),
        (lefter, [*range(3, 40), *range(50, 60)]),
        (left.compacted(), range(3, 40)),
    ):
        where = np.array(present)
        assert version.ids().tolist() == sorted(ids[where].tolist())
        assert (version.get(ids[where]) == vectors[where]).all()
        found = version.search(vectors, k=60)
        assert (found.ids[where, 0] == ids[where]).all()
        assert {*found.ids.ravel().tolist()} == {*ids[where].tolist(), -1}


def test_a_compacted_index_has_no_waste_and_the_same_answers(kind):
    """And goes on, beside the one that it was made from."""
    index, ids, vectors = filled(kind, count=60)
    index = index.changed(ids[:20], ids[20:30], vectors[30:40])
    compacted = index.compacted()
    assert compacted.waste < 0.07
    assert kind not in (FlatIndex, BinaryFlatIndex) or compacted.nbytes < index.nbytes
    assert compacted.ids().tolist() == index.ids().tolist()
    for version in (compacted, index.changed([], ids[:1], vectors[:1]), compacted.changed([], ids[:1], vectors[:1])):
        assert (version.get(index.ids()) == index.get(index.ids())).all()
        only = index.ids()
        for mine, theirs in zip(version.search(vectors, 40, only), index.search(vectors, 40, only), strict=True):
            assert (mine == theirs).all()


def test_threads_read_old_versions_while_new_ones_are_made(kind):
    """Every version, for as long as it is kept, answers as its vectors want."""
    _, ids, vectors = filled(kind, count=60)
    ids = np.sort(ids)
    versions, wrong, done = [kind(20).changed([], ids[:20], vectors[:20])], [], threading.Event()

    def read(seed):
        rng = np.random.default_rng(seed)
        while not done.is_set():
            known = list(versions)
            number = int(rng.integers(len(known)))
            present = np.arange(number, 20 + number)
            found = known[number].search(vectors[present], 1)
            if (found.ids[:, 0] != ids[present]).any() or found.distances.any():
                wrong.append(number)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(2)]
    for reader in readers:
        reader.start()
    for number in range(40):
        versions.append(
            versions[-1].changed(
                ids[number : number + 1], ids[20 + number : 21 + number], vectors[20 + number : 21 + number]
            )
        )
        versions[-1].compacted().changed([], [10**6], vectors[:1])
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_a_filter_limits_the_answer_to_the_ids_given(kind):
    index, ids, vectors = filled(kind)
    only = ids[::3]
    found = index.search(vectors, k=len(ids), only=only)
    assert set(found.ids[0].tolist()) == {*only.tolist(), -1}
    selected = index.search(vectors, k=len(ids), only=index.selection([*only, 10**9]))
    assert (selected.ids == found.ids).all()
    assert (index.search(vectors, k=3, only=[]).ids == -1).all()
    assert (index.search(vectors, k=3, only=index.selection([])).ids == -1).all()
    assert (index.search(vectors, k=3, only=[10**9]).ids == -1).all()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.97])
@pytest.mark.parametrize("queries", [1, 30])
def test_what_a_filter_allows_is_found_however_far_it_is(kind, share, queries):
    """Where everything near the queries is filtered out, or dead."""
    count, dim = 400, 16
    bits = np.random.default_rng(0).random((count, dim)) < 0.1
    far = np.arange(count) < max(1, share * count)
    bits[far, :8] = True
    bits[~far, :8] = False
    asked, everything = vectors_of(kind, np.zeros((queries, dim), bool)), vectors_of(kind, bits)
    index = kind(dim).changed([], np.arange(count), everything)
    oracle = (ExactBinaryIndex if kind in BINARY else ExactIndex)(dim)
    plain = np.packbits(bits, axis=1) if kind in BINARY else bits
    oracle = oracle.changed([], np.flatnonzero(far), plain[far])
    expected = oracle.search(np.zeros((queries, 2), np.uint8) if kind in BINARY else np.zeros((queries, dim)), 7)
    removed = index.changed(np.flatnonzero(~far), [], everything[:0])
    for found in (
        index.search(asked, 7, np.flatnonzero(far)),
        index.search(asked, 7, index.selection(np.flatnonzero(far))),
        removed.search(asked, 7),
        removed.search(asked, 7, index.selection(np.arange(count))),
    ):
        assert (found.distances == expected.distances).all()
        assert kind in FLOAT or kind is Reranked or (found.ids == expected.ids).all()


def test_a_selection_serves_later_versions_too(kind):
    """It stands for its ids, whatever has become of them."""
    index, ids, vectors = filled(kind)
    selection = index.selection(ids[:20])
    later = index.changed(ids[:5], ids[10:12], vectors[30:32]).compacted()
    assert {*later.search(vectors[:1], 30, selection).ids[0].tolist()} == {*ids[5:20].tolist(), -1}
    assert {*index.search(vectors[:1], 30, selection).ids[0].tolist()} == {*ids[:20].tolist(), -1}


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
    ],
    ids=["dimension", "one-dimensional", "count", "repeated", "negative", "not-integer", "nan", "inf"],
)
def test_bad_additions_are_refused_and_change_nothing(float_kind, ids, vectors):
    index = float_kind(3).changed([], [0], [[0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r".+"):
        index.changed([], ids, vectors)
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
    ],
)
def test_bad_codes_are_refused_and_change_nothing(binary_kind, ids, codes, message):
    index = binary_kind(12).changed([], [0], np.zeros((1, 2), np.uint8))
    with pytest.raises(ValueError, match=message):
        index.changed([], ids, codes)
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
    index = index.changed([], [1], np.zeros((1, 1), np.uint8))
    with pytest.raises(ValueError, match="at least 1"):
        index.search(np.zeros((1, 1), np.uint8), 0)


def test_a_snapshot_brings_back_the_same_answers(kind, tmp_path: Path):
    index, ids, vectors = filled(kind)
    index = index.changed(ids[:3], ids[10:12], vectors[:2])
    index.save(tmp_path / "a.idx", {"sequence": 12})
    again, meta = kind.load(tmp_path / "a.idx")
    assert meta == {"sequence": 12}
    assert len(again) == len(index)
    for mine, theirs in zip(index.search(vectors, k=7), again.search(vectors, k=7), strict=True):
        assert (mine == theirs).all()
    assert again.dim == index.dim
    assert (again.get(index.ids()) == index.get(index.ids())).all()
    assert len(again.changed(index.ids()[:3], [10**6], vectors[:1])) == len(index) - 2
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
_actions = st.lists(
    st.tuples(st.sampled_from(["change", "change", "compact", "search", "return"]), st.integers(0, 2**32 - 1)),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    actions=_actions, dim=st.integers(1, 6), rows=st.sampled_from([3, 16, 1000]), queries=st.sampled_from([1, 3, 25])
)
def test_floats_are_found_as_by_the_exact_twin_after_any_history(actions, dim, rows, queries):
    """Additions, replacements, removals, compactions, and changes of earlier versions, with and without filters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk, "MOST_ROWS", rows)
        patch.setattr(flat, "_CACHED", 50)
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
    """Equal distances, and equal ids but for those at the last distance, of which any may be answered."""
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
    """Whatever is changed and compacted, with duplicates and ties, under filters, for k beyond the size, and whether
    queries are looked up or, being too dear to look up, scanned for."""
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
