"""Comparisons of items by key: which are alike, or nearer to each other than others, as somebody said."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidInputError, NotFoundError
from engine.learners.comparisons import KINDS, Comparisons
from features.vectors import MAX_VALUE

_PARTS = ("similar", "weights", "margins")


@dataclass(frozen=True, eq=False)
class ItemComparisons:
    """Pairs, triplets or quadruplets of items, all of one kind.

    Raises InvalidInputError for arrays whose sizes disagree, repeated keys, or positions that no key has.
    """

    keys: tuple[str, ...]
    """The items that are named, each once."""
    said: Comparisons
    """What is said of them, by their positions in ``keys``."""
    lines: NDArray[np.int64] | None = None
    """Lines of the file that they were read from, (n,), for messages; None where there is none."""

    def __post_init__(self) -> None:
        items, count = self.said.items, len(self.said)
        if items.ndim != 2 or items.shape[1] not in KINDS or not count:
            raise InvalidInputError(f"constraints are {', '.join(KINDS.values())}, and at least one, not {items.shape}")
        for name, part in (*((name, getattr(self.said, name)) for name in _PARTS), ("lines", self.lines)):
            if part is not None and part.shape != (count,):
                raise InvalidInputError(f"there are {count} {self.said.kind}, but {part.shape} {name}")
        if (items.shape[1] == 2) != (self.said.similar is not None):
            raise InvalidInputError("pairs, and only pairs, say whether they are similar")
        if items.shape[1] == 2 and self.said.margins is not None:
            raise InvalidInputError(
                "pairs have no margins: the learner's settings upper and lower bound their distances"
            )
        if len(set(self.keys)) < len(self.keys):
            raise InvalidInputError("the items that constraints name are listed once each, by key")
        if items.min() < 0 or items.max() >= len(self.keys):
            raise InvalidInputError(f"constraints name items by their position among the {len(self.keys)} keys")

    def __len__(self) -> int:
        return len(self.said)

    def check(self, known: Collection[str]) -> None:
        """Raise NotFoundError for a key that is not among the known, InvalidInputError for what cannot be meant.

        Triplets and quadruplets may contradict each other, because people do; a pair may not be similar and dissimilar.
        """
        unknown = np.array([key not in known for key in self.keys], bool)
        if (row := _first(unknown[self.said.items].any(axis=1))) is not None:
            key = next(self.keys[item] for item in self.said.items[row] if unknown[item])
            raise NotFoundError(f"{self._where(row)}: there is no item {key!r}")
        for name in ("weights", "margins"):
            values = getattr(self.said, name)
            if values is not None and (row := _first(~(np.abs(values) < MAX_VALUE))) is not None:
                raise InvalidInputError(
                    f"{self._where(row)}: {name[:-1]} {values[row]:g} is no finite number below {MAX_VALUE:g}"
                )
        if (weights := self.said.weights) is not None:
            if (row := _first(weights < 0)) is not None:
                raise InvalidInputError(f"{self._where(row)}: weight {weights[row]} is negative")
            if not weights.any():
                raise InvalidInputError("every constraint has weight 0: there is nothing to learn from")
        self._check_sense()

    def _check_sense(self) -> None:
        """Raise InvalidInputError for an item or a pair that is compared with itself, and pairs that are said twice."""
        near, far = self.said.near, self.said.far
        alone = (near[:, 0] == near[:, 1]) | (far[:, 0] == far[:, 1])
        if (row := _first(alone)) is not None:
            pair = near[row] if near[row, 0] == near[row, 1] else far[row]
            raise InvalidInputError(f"{self._where(row)}: {self.keys[pair[0]]!r} is compared with itself")
        if self.said.similar is not None:
            self._check_pairs(np.sort(near, axis=1), self.said.similar)
        elif (row := _first((np.sort(near, axis=1) == np.sort(far, axis=1)).all(axis=1))) is not None:
            names = " and ".join(repr(self.keys[item]) for item in near[row])
            raise InvalidInputError(f"{self._where(row)}: {names} are said to be nearer than themselves")

    def _check_pairs(self, pairs: NDArray[np.int64], similar: NDArray[np.bool_]) -> None:
        codes = pairs[:, 0] * len(self.keys) + pairs[:, 1]
        both = np.intersect1d(codes[similar], codes[~similar])
        if len(both):
            first, second = (int(np.flatnonzero((codes == both[0]) & (similar == one))[0]) for one in (True, False))
            names = " and ".join(repr(self.keys[item]) for item in pairs[first])
            raise InvalidInputError(
                f"{names} are similar by {self._where(first)} and dissimilar by {self._where(second)}: "
                "leave one of them out"
            )

    def _where(self, row: int) -> str:
        return f"constraint {row + 1}" if self.lines is None else f"constraints, line {self.lines[row]}"

    def of(self, keys: Sequence[str]) -> Comparisons:
        """Return those that name only items of these keys, by their positions in them."""
        places = {key: place for place, key in enumerate(keys)}
        found = np.array([places.get(key, -1) for key in self.keys], np.int64)
        there = found >= 0
        said = self.said.among(there, len(self.keys))
        return Comparisons(found[there][said.items], said.similar, said.weights, said.margins)

    def naming(self, keys: Collection[str]) -> int:
        """Return how many name an item of these keys."""
        named = np.array([key in keys for key in self.keys], bool)
        return int(named[self.said.items].any(axis=1).sum())

    def to_state(self) -> dict[str, Any]:
        """Return keys and arrays by name; lines are of use only while a file is read."""
        items = self.said.items.astype(np.int32)  # half the size: of a million comparisons this is what weighs
        return {"keys": self.keys, "items": items} | {name: getattr(self.said, name) for name in _PARTS}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the comparisons that ``to_state`` described."""
        return cls(
            tuple(state["keys"]), Comparisons(state["items"].astype(np.int64), *(state[name] for name in _PARTS))
        )


def _first(chosen: Any) -> int | None:
    """Return the first position that a mask, (n,), chooses."""
    found = np.flatnonzero(chosen)
    return int(found[0]) if len(found) else None
