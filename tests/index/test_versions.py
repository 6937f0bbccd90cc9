"""An index is a value: versions that come from each other answer for themselves, for ever, in any thread."""

import threading

import numpy as np
import pytest
from indexes import filled

from crossview.index.binary_flat import BinaryFlatIndex
from crossview.index.flat import FlatIndex


@pytest.mark.parametrize("removed", [True, False])
def test_an_id_that_comes_again_is_replaced(kind, removed):
    """The change may name the id as removed or not; the old vector is found no more."""
    index, ids, vectors = filled(kind)
    again = index.changed(ids[:5] if removed else [], ids[:5], vectors[5:10])
    assert len(again) == 50
    assert (again.get(ids[:5]) == vectors[5:10]).all()
    assert not np.isin(again.search(vectors[:5], k=50).distances, 0).any()
    pairs = np.sort(np.stack([ids[:5], ids[5:10]], axis=1), axis=1)
    assert (again.search(vectors[5:10], k=2).ids == pairs).all()


def test_versions_of_one_index_do_not_change_each_other(kind):
    """Two versions of the same one hold their own rows, and so do their descendants and their parent."""
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
    """It goes on, beside the one that it was made from."""
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
    """Every version that is kept answers from its own vectors."""
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


def test_a_selection_serves_later_versions_too(kind):
    """It stands for its ids, for any later change of their items."""
    index, ids, vectors = filled(kind)
    selection = index.selection(ids[:20])
    later = index.changed(ids[:5], ids[10:12], vectors[30:32]).compacted()
    assert {*later.search(vectors[:1], 30, selection).ids[0].tolist()} == {*ids[5:20].tolist(), -1}
    assert {*index.search(vectors[:1], 30, selection).ids[0].tolist()} == {*ids[:20].tolist(), -1}
