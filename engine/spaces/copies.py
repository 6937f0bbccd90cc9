"""Copies among the hits of a search: pictures with nearly equal fingerprints, equal files, and judgements of people."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.engine.runtime.cancellation import checkpoint
from crossview.features.errors import ImageError
from crossview.features.fingerprint import ORIENTATIONS, packed_fingerprints

_NEAR = 4
"""Number of differing bits of 64, in the best orientation, up to which pictures are copies: among the 499,500 pairs of
the photographs of Corel, none is as near. Edited and cropped copies can be farther."""
MOST_COMPARED = 10_000
"""Maximum number of hits of a search without copies: each is compared with all before it."""
Codes = NDArray[np.uint8]


def first_copies(tx: Transaction, ids: Sequence[int]) -> dict[int, int]:
    """Return, for each picture among items in their order, the first of them that it is a copy of, or itself.

    Judgements of pairs come before fingerprints. Items without a picture are left out.
    """
    pictures = {one.id: one for one in tx.fingerprints.pictures(ids)}
    codes, judged = _codes(tx, pictures), _judged(tx, pictures)
    firsts = _Firsts(len(codes), judged)
    found = dict[int, int]()
    for item in ids:
        checkpoint()
        if item in codes:
            found[item] = firsts.of(item, codes[item], pictures[item].content_hash)
    return found


class _Firsts:
    """The first pictures of their copies so far, in their order."""

    def __init__(self, most: int, judged: Mapping[tuple[int, int], bool]) -> None:
        self._judged, self._partners = judged, defaultdict[int, list[int]](list)
        for first, second in judged:
            self._partners[second].append(first)
        self._items, self._places = list[int](), dict[int, int]()
        self._of_content: dict[str, list[int]] = defaultdict(list)
        self._turned = np.empty((most, len(ORIENTATIONS)), np.uint64)

    def of(self, item: int, codes: Codes, content: str) -> int:
        """Return the first picture of which an item with fingerprints, (8, 8), is a copy; add the item if none is."""
        turned = codes.view(np.uint64)[:, 0]
        apart = np.bitwise_count(self._turned[: len(self._items)] ^ turned[0])
        places = {*np.flatnonzero((apart <= _NEAR).any(axis=1)).tolist(), *self._of_content[content]}
        places |= {self._places[other] for other in self._partners[item] if other in self._places}
        for first in (self._items[place] for place in sorted(places)):
            if self._judged.get((first, item), True):
                return first
        self._places[item] = place = len(self._items)
        self._turned[place] = turned
        self._items.append(item)
        if content:
            self._of_content[content].append(place)
        return item


def _codes(tx: Transaction, pictures: dict[int, StoredPicture]) -> dict[int, Codes]:
    """Return the fingerprints of pictures, (8, 8) each; those that are not stored are made from the thumbnails."""
    packed = {item: one.codes for item, one in pictures.items() if one.codes}
    for item, jpeg in tx.fingerprints.thumbnails(pictures.keys() - packed.keys()):
        try:
            packed[item] = packed_fingerprints(jpeg)
        except ImageError:
            continue  # a picture that cannot be read is in no group
    return {item: np.frombuffer(one, np.uint8).reshape(len(ORIENTATIONS), -1) for item, one in packed.items()}


def _judged(tx: Transaction, pictures: dict[int, StoredPicture]) -> dict[tuple[int, int], bool]:
    """Return the judgements that count on pairs of pictures, in both orders."""
    ids = {normal(one.key): one.id for one in pictures.values()}
    found = {}
    for one in tx.pair_judgements.all():
        if one.first in ids and one.second in ids:
            first, second = ids[one.first], ids[one.second]
            found[first, second] = found[second, first] = one.same
    return found
