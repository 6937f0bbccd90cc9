"""Candidates: pairs of pictures that may be copies, by their fingerprints and by their neighbours in the views."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint, report_progress
from crossview.index.all_neighbors import all_neighbors
from crossview.index.near_pairs import TooManyPairsError, near_pairs

RADII = (10, 8, 4, 0)
"""Numbers of differing bits of near fingerprints: the largest with which there are not too many pairs."""
_TURNED = 4
"""Number of differing bits of a picture and a turned or mirrored one: turning changes few bits."""
_LARGE = 30_000
"""Number of pictures from which on the first radius is left out: among so many, chance makes most of its pairs."""
MOST_NEIGHBORS = 8_000
"""Maximum number of pairs that only a view finds near, the nearest: comparing one that is not a copy takes 4 ms."""
_MOST_JOINED = 2_000_000
_FEWEST_BITS = 8
"""Number of set bits below which a fingerprint is that of a picture without content."""
_NEIGHBORS, _WIDTH = 8, 48
"""Number of neighbours in a view, and number of principal directions in which rows are compared."""
_SAMPLE, _SMALL = 2_000, 300
"""Number of random pairs, and number of rows up to which every neighbour counts: few random pairs say little."""
_NEAR = 0.005
"""Share of random pairs that are nearer than the neighbours that count as candidates."""

Rows = NDArray[np.float32]


class Candidates(NamedTuple):
    """Pairs of places of pictures, the nearest first."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    score: NDArray[np.float64]
    """From 0, equal, to 1, the farthest pairs that count, by the measure that sees the pair nearest."""
    left_out: int = 0
    """Number of further pairs that only views find near, beyond the maximum."""


class ViewNeighbors(NamedTuple):
    """The rows of some pictures in a view."""

    places: NDArray[np.int64]
    """(m,) places of the pictures."""
    rows: Rows
    """(m, d)."""


def candidates(
    codes: NDArray[np.uint8], views: Iterable[ViewNeighbors], side: NDArray[np.bool_] | None = None
) -> Candidates:
    """Return the pairs of pictures that are near by fingerprints or in a view.

    ``codes`` are the fingerprints of all pictures, (n, 8, 8) uint8. With ``side``, (n,), pairs are those of a picture
    for which it is False with one for which it is True.
    """
    by_code, by_view = _by_fingerprints(codes, side), [_by_view(view, side) for view in views]
    first, second, score = (
        np.concatenate(column) for column in zip(*(part[:3] for part in by_code + by_view), strict=True)
    )
    only_view = np.arange(len(first)) >= sum(len(part.first) for part in by_code)
    first, second = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort([score, only_view, second, first])
    first, second, score, only_view = first[order], second[order], score[order], only_view[order]
    new = np.ones(len(first), bool)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    places = np.flatnonzero(new)[np.argsort(score[new], kind="stable")]
    mask = ~only_view[places] | (np.cumsum(only_view[places]) <= MOST_NEIGHBORS)
    places = places[mask]
    return Candidates(first[places], second[places], score[places], int((~mask).sum()))


def _by_fingerprints(codes: NDArray[np.uint8], side: NDArray[np.bool_] | None) -> list[Candidates]:
    rich = np.flatnonzero(np.bitwise_count(codes[:, 0]).sum(axis=1) >= _FEWEST_BITS)
    left, right = (rich, rich) if side is None else (rich[~side[rich]], rich[side[rich]])
    radii = RADII[len(codes) > _LARGE :]
    return [
        _joined(codes[:, :1], left, right, radii),
        _joined(codes[:, 1:], left, right, [min(_TURNED, radius) for radius in radii], codes[:, 0]),
    ]


def _joined(
    turned: NDArray[np.uint8],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    radii: Sequence[int],
    upright: NDArray[np.uint8] | None = None,
) -> Candidates:
    """Return the pairs of an upright picture of the left and a turned one of the right, within the largest radius."""
    left_codes = turned[left, 0] if upright is None else upright[left]
    right_codes = None if upright is None and left is right else turned[right].reshape(-1, turned.shape[2])
    for radius in radii:
        try:
            pairs = near_pairs(left_codes, radius, right_codes, most=_MOST_JOINED, report=_joining)
        except TooManyPairsError:
            continue
        first, second = left[pairs.first], right[pairs.second // (1 if right_codes is None else turned.shape[1])]
        different = first != second
        return Candidates(first[different], second[different], pairs.distance[different] / (RADII[0] + 1))
    none = np.empty(0, np.int64)
    return Candidates(none, none, np.empty(0))


def _joining(done: int, total: int) -> None:
    checkpoint()
    report_progress(done, total)


def _by_view(view: ViewNeighbors, side: NDArray[np.bool_] | None) -> Candidates:
    """Return each picture with its nearest neighbours, as far as they are nearer than nearly all random pairs."""
    places, rows = view.places, _comparable(view.rows)
    asking = np.arange(len(places)) if side is None else np.flatnonzero(~side[places])
    database = asking if side is None else np.flatnonzero(side[places])
    if not len(asking) or not len(database):
        none = np.empty(0, np.int64)
        return Candidates(none, none, np.empty(0))
    draws = np.random.default_rng(0)
    pairs = draws.choice(asking, _SAMPLE), draws.choice(database, _SAMPLE)
    near = np.quantile(np.linalg.norm(rows[pairs[0]] - rows[pairs[1]], axis=1)[pairs[0] != pairs[1]], _NEAR)
    # Within one collection, the nearest neighbour of a picture is the picture itself: ask for one more.
    hits = all_neighbors(rows[asking], rows[database], _NEIGHBORS + (side is None), report=_joining)
    a, b, away = np.repeat(asking, hits.ids.shape[1]), database[hits.ids.ravel()], hits.distances.ravel()
    mask = (a != b) & ((away <= near) | (len(places) <= _SMALL))
    return Candidates(places[a[mask]], places[b[mask]], away[mask] / max(float(near), 1e-9))


def _comparable(rows: Rows) -> Rows:
    """Return rows of length 1 in few directions: of histograms and other rows without negative values, the roots."""
    scaled = np.sqrt(rows) if len(rows) and rows.min() >= 0 else rows
    scaled = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-12)
    if rows.shape[1] <= _WIDTH or len(rows) <= _WIDTH:
        return np.ascontiguousarray(scaled, np.float32)
    draws = np.random.default_rng(0)
    some = scaled[draws.choice(len(rows), min(len(rows), _SAMPLE), replace=False)]
    _, directions = np.linalg.eigh(np.cov(some.T))
    return np.ascontiguousarray(scaled @ directions[:, -_WIDTH:], np.float32)


def by_place(pairs: Candidates, count: int) -> Sequence[list[int]]:
    """Return the places that each of ``count`` pictures is a candidate with, the nearest first."""
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        neighbours[a].append(b)
        neighbours[b].append(a)
    return neighbours
