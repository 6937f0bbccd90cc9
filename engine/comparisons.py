"""Comparisons of items by key: which people found similar, or nearer to each other than others."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidInputError, NotFoundError
from engine.learners.comparisons import KINDS, Comparisons
from features.vectors import MAX_VALUE

_COLUMNS = ("similar", "weights", "margins")


@dataclass(frozen=True, eq=False)
class ItemComparisons:
    """Pairs, triplets or quadruplets of items, all of one kind.

    Raises InvalidInputError for arrays whose sizes disagree, repeated keys, or positions that no key has.
    """

    keys: tuple[str, ...]
    """The items that are named, each once."""
    comparisons: Comparisons
    """They name items by their positions in ``keys``."""
    lines: NDArray[np.int64] | None = None
    """Lines of the file that they were read from, (n,), for messages; None where there is none."""

    def __post_init__(self) -> None:
        items, count = self.comparisons.items, len(self)
        if items.ndim != 2 or items.shape[1] not in KINDS or not count:
            raise InvalidInputError(f"constraints are {', '.join(KINDS.values())}, and at least one, not {items.shape}")
        columns = {name: getattr(self.comparisons, name) for name in _COLUMNS} | {"lines": self.lines}
        for name, values in columns.items():
            if values is not None and values.shape != (count,):
                raise InvalidInputError(f"there are {count} {self.comparisons.kind}, but {values.shape} {name}")
        if (items.shape[1] == 2) != (self.comparisons.similar is not None):
            raise InvalidInputError("pairs, and only pairs, have a column similar: whether each is")
        if items.shape[1] == 2 and self.comparisons.margins is not None:
            raise InvalidInputError(
                "pairs have no margins: the learner's settings upper and lower bound their distances"
            )
        if len(set(self.keys)) < len(self.keys):
            raise InvalidInputError("the items that constraints name must be listed once each, by key")
        if items.min() < 0 or items.max() >= len(self.keys):
            raise InvalidInputError(f"constraints name items by their position among the {len(self.keys)} keys")

    def __len__(self) -> int:
        return len(self.comparisons)

    def check(self, known: Collection[str]) -> None:
        """Raise NotFoundError for a key that is not among the known, InvalidInputError for what makes no sense.

        Triplets and quadruplets may contradict each other, because people do. A pair may not be both similar and
        dissimilar.
        """
        unknown = np.array([key not in known for key in self.keys], bool)
        if (row := _first(unknown[self.comparisons.items].any(axis=1))) is not None:
            key = next(self.keys[item] for item in self.comparisons.items[row] if unknown[item])
            raise NotFoundError(f"{self._where(row)}: there is no item {key!r}")
        for name in ("weights", "margins"):
            values = getattr(self.comparisons, name)
            if values is not None and (row := _first(~(np.abs(values) < MAX_VALUE))) is not None:
                raise InvalidInputError(
                    f"{self._where(row)}: {name[:-1]} {values[row]:g} is no finite number below {MAX_VALUE:g}"
                )
        if (weights := self.comparisons.weights) is not None:
            if (row := _first(weights < 0)) is not None:
                raise InvalidInputError(f"{self._where(row)}: weight {weights[row]} is negative")
            if not weights.any():
                raise InvalidInputError("every constraint has weight 0: there is nothing to learn from")
        self._check_sense()

    def _check_sense(self) -> None:
        """Raise InvalidInputError for an item or a pair that is compared with itself, and pairs that contradict."""
        near, far = self.comparisons.near, self.comparisons.far
        if (row := _first((near[:, 0] == near[:, 1]) | (far[:, 0] == far[:, 1]))) is not None:
            pair = near[row] if near[row, 0] == near[row, 1] else far[row]
            raise InvalidInputError(f"{self._where(row)}: {self.keys[pair[0]]!r} is compared with itself")
        if self.comparisons.similar is not None:
            self._check_pairs(np.sort(near, axis=1), self.comparisons.similar)
        elif (row := _first((np.sort(near, axis=1) == np.sort(far, axis=1)).all(axis=1))) is not None:
            names = " and ".join(repr(self.keys[item]) for item in near[row])
            raise InvalidInputError(f"{self._where(row)}: the pair {names} is compared with itself")

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
        positions = np.array([places.get(key, -1) for key in self.keys], np.int64)
        known = positions >= 0
        found = self.comparisons.among(known, len(self.keys))
        return replace(found, items=positions[known][found.items])

    def naming(self, keys: Collection[str]) -> int:
        """Return how many name an item of these keys."""
        named = np.array([key in keys for key in self.keys], bool)
        return int(named[self.comparisons.items].any(axis=1).sum())

    def to_state(self) -> dict[str, Any]:
        """Return keys and arrays by name; lines are of use only while a file is read."""
        items = self.comparisons.items.astype(np.int32)  # half the size: of a million comparisons this is what weighs
        return {"keys": self.keys, "items": items} | {name: getattr(self.comparisons, name) for name in _COLUMNS}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the comparisons that ``to_state`` described."""
        columns = (state[name] for name in _COLUMNS)
        return cls(tuple(state["keys"]), Comparisons(state["items"].astype(np.int64), *columns))


def _first(chosen: Any) -> int | None:
    """Return the first position that a mask, (n,), chooses."""
    found = np.flatnonzero(chosen)
    return int(found[0]) if len(found) else None
