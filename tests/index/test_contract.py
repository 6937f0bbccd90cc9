"""Every index keeps the promises of the Index protocol."""

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from indexes import BINARY, FLOAT, Reranked, filled, vectors_of

from crossview.index import snapshot
from crossview.index.base import SearchCapabilities
from crossview.index.exact import ExactBinaryIndex, ExactIndex
from crossview.index.flat import FlatIndex
from crossview.index.snapshot import EarlierSnapshotError, SnapshotError


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


@pytest.mark.parametrize("count", [50, 300])
@pytest.mark.parametrize("filtered", [True, False])
def test_everything_within_a_radius_is_found(kind, count, filtered):
    """Neighbours come nearest first, the radius included; the longest list sets the number of columns."""
    index, ids, vectors = filled(kind, count)
    only = ids[::2] if filtered else None
    every = index.search(vectors[:5], count, only)
    radius = float(every.distances[0, len(ids[::2]) - 3])
    found = index.within(vectors[:5], radius, only)
    longest = 0
    for row in range(5):
        inside = (every.distances[row] <= radius) & (every.ids[row] >= 0)
        longest = max(longest, inside.sum())
        assert found.ids[row][found.ids[row] >= 0].tolist() == every.ids[row][inside].tolist()
        assert found.distances[row][found.ids[row] >= 0].tolist() == every.distances[row][inside].tolist()
    assert found.ids.shape == found.distances.shape == (5, longest)
    assert kind(20).within(vectors[:2], radius).ids.shape == (2, 0)
    with pytest.raises(ValueError, match="at least 0"):
        index.within(vectors[:1], -1.0)


def test_a_kind_states_what_its_searches_can_do(kind):
    """Every kind here accepts any filter; only re-ranking may miss a neighbour."""
    assert kind(8).capabilities == SearchCapabilities(exact=kind is not Reranked, filters="ids")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.97])
@pytest.mark.parametrize("queries", [1, 30])
def test_what_a_filter_allows_is_found_however_far_it_is(kind, share, queries):
    """Everything near the queries is filtered out, or dead."""
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


def test_get_returns_the_vectors_in_the_order_asked(kind):
    index, ids, vectors = filled(kind)
    assert (index.get(ids[[4, 2, 9]]) == vectors[[4, 2, 9]]).all()
    with pytest.raises(KeyError):
        index.get([10**9])


def test_blocks_have_every_vector_once(kind):
    """They have it also after changes; an index that re-ranks codes gives the codes."""
    index, ids, vectors = filled(kind)
    index = index.changed(ids[:7], ids[20:24][::-1], vectors[:4]).changed([], [int(ids.min())], vectors[:1])
    found = [(item, row) for some, rows in index.blocks() for item, row in zip(some.tolist(), rows, strict=True)]
    assert sorted(item for item, _ in found) == index.ids().tolist()
    for item, row in found:
        assert (row == index.get([item])[0][: len(row)]).all()


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
        ([1], np.array([[0, 0b1000]], np.uint8), "zeros after"),
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
    if message in ("shape", "uint8", "zeros after"):
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


@pytest.mark.parametrize("mapped", [True, False])
def test_a_snapshot_brings_back_the_same_answers(kind, mapped, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(snapshot, "_MAPPED", 0 if mapped else 1 << 30)
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


def test_an_index_from_a_mapped_file_changes_without_writing_to_it(kind, monkeypatch, tmp_path: Path):
    """It answers although the file is deleted, and the pages stay as they were saved."""
    monkeypatch.setattr(snapshot, "_MAPPED", 0)
    index, ids, vectors = filled(kind)
    index.save(tmp_path / "a.idx", {})
    os.link(tmp_path / "a.idx", tmp_path / "link")
    saved = (tmp_path / "link").read_bytes()
    again, _ = kind.load(tmp_path / "a.idx")
    (tmp_path / "a.idx").unlink()
    later = again.changed(ids[:20], [*ids[20:30], 10**6], vectors[:11]).changed([], [3], vectors[:1])
    assert len(later.compacted()) == len(later) == 50 - 20 + 1 + (3 not in ids[20:])
    expected = index.changed(ids[:20], [*ids[20:30], 10**6], vectors[:11]).changed([], [3], vectors[:1])
    for one, other in ((again, index), (later, expected), (later.compacted(), expected)):
        for mine, theirs in zip(one.search(vectors, k=40), other.search(vectors, k=40), strict=True):
            assert (mine == theirs).all()
    assert (tmp_path / "link").read_bytes() == saved


def test_the_arrays_of_a_snapshot_are_aligned(kind, tmp_path: Path):
    """They can therefore be mapped, and read by any instruction of the processor."""
    filled(kind)[0].save(tmp_path / "a.idx", {})
    content = (tmp_path / "a.idx").read_bytes()
    magic, _, _, length = struct.unpack_from("<16sIIQ", content)
    arrays = json.loads(content[64 : 64 + length])["arrays"]
    assert magic == b"crossview-index\0"
    assert {one["offset"] % 64 for one in arrays.values()} == {0}
    assert all(np.dtype(one["dtype"]).itemsize * np.prod(one["shape"]) > 0 for one in arrays.values())


def test_a_flipped_byte_of_any_array_is_found(kind, tmp_path: Path):
    """It may be the first or the last byte of each, or any byte of the header and the table."""
    path = tmp_path / "a.idx"
    filled(kind)[0].save(path, {})
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content, 24)
    arrays = json.loads(content[64 : 64 + length])["arrays"].values()
    places = list(range(64 + length))
    for one in arrays:
        size = int(np.dtype(one["dtype"]).itemsize * np.prod(one["shape"]))
        places += [one["offset"], one["offset"] + size - 1]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(SnapshotError):
            kind.load(path)


def test_a_snapshot_of_an_earlier_version_is_told_from_a_damaged_one(kind, tmp_path: Path):
    """The index of an earlier version is built again without a message."""
    (tmp_path / "a.idx").write_bytes(b'crossview-index 2\n01234567{"kind": "flat-l2"}\n')
    with pytest.raises(EarlierSnapshotError):
        kind.load(tmp_path / "a.idx")


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
