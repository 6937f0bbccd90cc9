"""Copies among the hits of a search: pictures with nearly equal fingerprints, equal files, and judgements of people."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.features.errors import ImageError
from crossview.features.fingerprint import ORIENTATIONS, packed_fingerprints

_NEAR = 4
"""Number of differing bits of 64, in the best orientation, up to which pictures are copies: among the 499,500 pairs of
the photographs of Corel, none is as near. Edited and cropped copies can be farther."""
Codes = NDArray[np.uint8]


def first_copies(tx: Transaction, ids: Sequence[int]) -> dict[int, int]:
    """Return, for each picture among items in their order, the first of them that it is a copy of, or itself.

    Judgements of pairs come before fingerprints. Items without a picture are left out.
    """
    pictures = {one.id: one for one in tx.fingerprints.pictures(ids)}
    codes, judged = _codes(tx, pictures), _judged(tx, pictures)
    found, firsts = dict[int, int](), list[int]()
    for item in ids:
        if item not in codes:
            continue
        same = [
            judged.get((first, item), equal)
            for first, equal in zip(firsts, _equal(item, firsts, pictures, codes), strict=True)
        ]
        found[item] = firsts[same.index(True)] if True in same else item
        if found[item] == item:
            firsts.append(item)
    return found


def _equal(item: int, others: Sequence[int], pictures: dict[int, StoredPicture], codes: dict[int, Codes]) -> list[bool]:
    """Return whether other pictures have the same file or nearly the same fingerprint as a picture."""
    if not others:
        return []
    turned = np.stack([codes[other] for other in others])
    near = np.bitwise_count(turned ^ codes[item][0]).sum(axis=2).min(axis=1) <= _NEAR
    content = pictures[item].content_hash
    return [bool(one) or content == pictures[other].content_hash != "" for one, other in zip(near, others, strict=True)]


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
