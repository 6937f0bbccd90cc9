"""Simulated people: how they answer, how often they err, and how long they take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Triplets = NDArray[np.int64]

LOOK, DECIDE, PICK = 0.8, 0.8, 0.4
"""Seconds to look at a picture, to decide (once a question), and to pick one with a click or key."""
_STEPS, _WIDEST, _SAMPLE, _DRAWS = 40, 20.0, 20_000, 100


@dataclass(frozen=True)
class Person:
    """A person who perceives each distance times exp(noise z), with a new standard normal z for every question.

    So close calls are hard and clear ones easy: Weber's law. In a grid the person picks a given number of candidates
    that seem nearest.
    """

    noise: float

    @classmethod
    def who_errs(cls, share: float, distances: Table, generator: np.random.Generator) -> Self:
        """Return a person who answers this share of triplets drawn at random wrongly, given (n, n) distances."""
        if not share:
            return cls(0.0)
        triplets = drawn(distances, _SAMPLE, generator)
        normal = generator.normal(size=(2, len(triplets)))
        ratios = np.log(_of(distances, triplets, 2) / np.maximum(_of(distances, triplets, 1), 1e-300))
        least, most = 0.0, _WIDEST
        for _ in range(_STEPS):
            middle = (least + most) / 2
            wrong = float(np.mean(middle * (normal[0] - normal[1]) > ratios))
            least, most = (middle, most) if wrong < share else (least, middle)
        return cls((least + most) / 2)

    def answer(
        self, distances: Table, anchor: int, candidates: Sequence[int], picks: int, generator: np.random.Generator
    ) -> Triplets:
        """Return the triplets of an answer: each pick is nearer to the anchor than each of the others."""
        perceived = distances[anchor, list(candidates)] * np.exp(self.noise * generator.normal(size=len(candidates)))
        order = np.array(candidates)[np.argsort(perceived)]
        near, far = order[:picks], order[picks:]
        return np.array([(anchor, nearer, farther) for nearer in near for farther in far], dtype=np.int64)


def seconds(candidates: int, picks: int) -> float:
    """Return how long a question takes: all pictures are looked at, the anchor too, and the near ones picked."""
    return LOOK * (candidates + 1) + DECIDE + PICK * picks


def drawn(distances: Table, count: int, generator: np.random.Generator) -> Triplets:
    """Return random triplets (a, b, c) of different items, a nearer to b than to c; ties are left out.

    Raises:
        ValueError: if all draws are ties.
    """
    untied = np.empty((0, 3), dtype=np.int64)
    for _ in range(_DRAWS):
        triplets = _ordered(distances, count, generator)
        untied = np.concatenate([untied, triplets[_of(distances, triplets, 1) < _of(distances, triplets, 2)]])
        if len(untied) >= count:
            return untied[:count]
    raise ValueError(f"{_DRAWS} draws of {count} triplets contain only {len(untied)} without ties")


def _ordered(distances: Table, count: int, generator: np.random.Generator) -> Triplets:
    size = len(distances)
    anchors = generator.integers(size, size=count)
    first = (anchors + generator.integers(1, size, size=count)) % size
    second = generator.integers(size - 2, size=count)
    for item in (np.minimum(anchors, first), np.maximum(anchors, first)):
        second += second >= item
    swapped = distances[anchors, first] > distances[anchors, second]
    near, far = np.where(swapped, second, first), np.where(swapped, first, second)
    return np.column_stack([anchors, near, far])


def wrong(distances: Table, triplets: Triplets) -> float:
    """Return the share of triplets that (n, n) distances order otherwise; ties count half."""
    gaps = _of(distances, triplets, 2) - _of(distances, triplets, 1)
    return float(np.mean(np.heaviside(-gaps, 0.5)))


def _of(distances: Table, triplets: Triplets, place: int) -> Table:
    column: Table = distances[triplets[:, 0], triplets[:, place]]
    return column
