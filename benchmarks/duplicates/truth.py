"""Which pictures are copies of one photograph, and how right the pairs of a method are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.duplicates.bursts import BURSTS
from benchmarks.duplicates.kinds import KINDS

ORIGINAL = "original"
PRECISION = 0.998
ALL = "all"
"""Instead of a kind: of all pairs."""


@dataclass(frozen=True)
class Found:
    """The pairs that a method finds."""

    pairs: NDArray[np.bool_]
    """(n, n), symmetric."""
    threshold: float | None = None
    """The greatest distance of a pair, if the method has distances."""


class Truth:
    """The photograph and the kind of every picture.

    Pairs are right if they come from one photograph. Pairs from the two photographs of a burst count neither way.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        """Read them from keys that end with <number of the photograph>/<kind>.jpg."""
        self._keys = tuple(keys)
        self._of = np.array([int(PurePosixPath(key).parent.name) for key in keys])
        self._kinds = np.array([PurePosixPath(key).stem for key in keys])
        size = max(int(self._of.max()), *(max(pair) for pair in BURSTS)) + 1
        burst = np.zeros((size, size), bool)
        for first, second in BURSTS:
            burst[first, second] = burst[second, first] = True
        self._burst = burst[self._of[:, None], self._of]
        self._right = self._of[:, None] == self._of
        self._counted = np.triu(~self._burst, 1)

    def grouped(self, groups: Iterable[Sequence[str]]) -> Found:
        """Return the pairs within groups of keys."""
        place_of = {key: place for place, key in enumerate(self._keys)}
        pairs = np.zeros(self._right.shape, bool)
        for group in groups:
            places = [place_of[key] for key in group]
            pairs[np.ix_(places, places)] = True
        return Found(pairs)

    def at_precision(self, distances: NDArray[np.float32], precision: float = PRECISION) -> Found:
        """Return the pairs up to the greatest distance with at least a precision; equal distances stay together."""
        away, right = distances[self._counted], self._right[self._counted]
        order = np.argsort(away, kind="stable")
        away, hits = away[order], np.cumsum(right[order])
        last = np.append(away[1:] != away[:-1], True)
        good = np.flatnonzero(last & (hits >= precision * np.arange(1, len(away) + 1)))
        threshold = float(away[good[-1]]) if len(good) else -1.0
        return Found(distances <= threshold, threshold)

    def figures(self, result: Found) -> Iterator[tuple[str, str, Any]]:
        """Yield kind, metric and value: the share of the copies of each kind that are paired with their photograph, the
        precision of all pairs, the number of different photographs that any of their copies confuse, and the number of
        bursts whose photographs are a pair."""
        original = {of: place for place, of in enumerate(self._of) if self._kinds[place] == ORIGINAL}
        recalls = []
        for kind in KINDS:
            places = np.flatnonzero(self._kinds == kind)
            if len(places):
                recalls.append(float(np.mean([result.pairs[place, original[self._of[place]]] for place in places])))
                yield kind, "recall", recalls[-1]
        yield ALL, "recall", float(np.mean(recalls))
        counted = result.pairs & self._counted
        yield ALL, "precision", float((counted & self._right).sum() / max(1, counted.sum()))
        wrong = np.argwhere(counted & ~self._right)
        yield ALL, "confused", len({tuple(sorted(pair)) for pair in self._of[wrong].tolist()})
        photographs = self._kinds == ORIGINAL
        bursts = np.triu(result.pairs & self._burst, 1)[np.ix_(photographs, photographs)]
        yield ALL, "bursts", int(bursts.sum())
        if result.threshold is not None:
            yield ALL, "threshold", result.threshold
