"""States of a collection whose rows say whose they are: the model that answers are compared with.

An item is a number, and each write of a row has a count of its own. The row encodes both, and they draw its
other numbers, so that a check of the row finds a row on the wrong item.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.description import RAW
from crossview.engine.values.any_collection import AnyCollection

VIEWS: Mapping[str, int] = {"v": 8, "w": 6}
"""Views of vectors, and how long their rows are."""
NUMBERS = 240
"""Items that there can be."""
LEARNED: Mapping[str, Mapping[str, Any]] = {
    "pca": {"spec": "pca", "views": ("v",), "dim": 8},
    "cca": {"spec": "cca", "views": ("v", "w")},
}
"""Recipes by space. PCA of all dimensions keeps distances, so it is known what it answers."""
_KEPT = 3  # generations of a space, as engine.spaces.generations keeps them
_NUMBER, _COUNT = 2**8, 2**20  # powers of 2, by which float32 divides exactly

Row = NDArray[np.float32]


class ForeignRowError(Exception):
    """An item has a row that was never written under its key."""


def key_of(number: int) -> str:
    """Return the key of an item."""
    return f"item-{number:03d}"


def number_of(key: str) -> int:
    """Return the number of an item's key."""
    return int(key.removeprefix("item-"))


@lru_cache(1 << 18)
def row(view: str, number: int, count: int) -> Row:
    """Return the row of a view that one write gives one item."""
    values = np.random.default_rng((list(VIEWS).index(view), number, count)).standard_normal(VIEWS[view])
    values[:2] = number / _NUMBER, count / _COUNT
    narrow = values.astype(np.float32)
    narrow.setflags(write=False)
    return narrow


def count_of(view: str, key: str, stored: Row) -> int:
    """Return the count of a stored row; ForeignRowError where it is not one of the item that has it."""
    count = round(float(stored[1]) * _COUNT)
    if count < 0 or not np.array_equal(stored, row(view, number_of(key), count)):
        item, write = float(stored[0]) * _NUMBER, float(stored[1]) * _COUNT
        raise ForeignRowError(f"{key} has a row of view {view} of item {item:g}, write {write:g}")
    return count


class Record(NamedTuple):
    """One item: the counts of the writes that gave it its rows and its attribute, and its labels."""

    v: int | None = None
    w: int | None = None
    written: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes."""
        return {} if self.written is None else {"count": self.written}

    @property
    def views(self) -> tuple[str, ...]:
        """The views that it has a row of."""
        return tuple(view for view in VIEWS if getattr(self, view) is not None)


class SpaceState(NamedTuple):
    """A space: the generation that answers for it, and which training made each generation."""

    answering: int
    trainings: tuple[tuple[int, int], ...]

    @classmethod
    def trained(cls, before: Self | None, training: int) -> "SpaceState":
        """Return the space after another training, which answers for it."""
        earlier = before.trainings if before else ()
        number = 1 + max((generation for generation, _ in earlier), default=0)
        old = earlier[: max(0, len(earlier) + 1 - _KEPT)]
        remaining = [entry for entry in earlier if entry not in old or (before and entry[0] == before.answering)]
        return cls(number, (*remaining, (number, training)))

    @property
    def training(self) -> int:
        """The training that made the answering generation."""
        return dict(self.trainings)[self.answering]


class SpaceSeen(NamedTuple):
    """The content of a description of a space."""

    answering: int
    generations: tuple[int, ...]
    training: int


@dataclass(frozen=True)
class Seen:
    """A whole collection as a reader sees it."""

    items: Mapping[int, Record]
    spaces: Mapping[str, SpaceSeen]
    active: str

    @classmethod
    def by(cls, reader: AnyCollection) -> Self:
        """Read everything; ForeignRowError where a row is of another item."""
        rows: dict[str, dict[str, int]] = {}
        for view in VIEWS:
            page = reader.items.embed(view, space=RAW)
            rows[view] = {key: count_of(view, key, vector) for key, vector in zip(page.keys, page.vectors, strict=True)}
        items = {
            number_of(item.key): Record(
                rows["v"].get(item.key), rows["w"].get(item.key), item.attributes.get("count"), item.labels
            )
            for item in reader.items(limit=1_000)
        }
        spaces = reader.spaces()
        return cls(
            items,
            {
                space.name: SpaceSeen(space.generation, space.generations, space.seed)
                for space in spaces
                if space.name != RAW
            },
            next((space.name for space in spaces if space.active and space.name != RAW), ""),
        )


@dataclass(frozen=True, eq=False)
class State:
    """One state of the collection."""

    items: Mapping[int, Record] = field(default_factory=dict)
    spaces: Mapping[str, SpaceState] = field(default_factory=dict)
    active: str = ""
    _matrices: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = field(default_factory=dict)

    def changed(self, **changes: Any) -> "State":
        """Return another state, which differs in some fields."""
        return replace(self, **changes, _matrices={})

    def matrix(self, view: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the items that have a row of a view, shape (n,), and these rows, shape (n, d)."""
        if view not in self._matrices:
            rows = {number: getattr(record, view) for number, record in self.items.items()}
            pairs = [(number, row(view, number, count)) for number, count in rows.items() if count is not None]
            numbers = np.array([number for number, _ in pairs], np.int64)
            stacked = np.array([vector for _, vector in pairs], np.float64).reshape(-1, VIEWS[view])
            self._matrices[view] = numbers, stacked
        return self._matrices[view]

    def seen(self) -> Seen:
        """Return what a reader of this state sees."""
        spaces = {
            name: SpaceSeen(space.answering, tuple(number for number, _ in space.trainings), space.training)
            for name, space in self.spaces.items()
        }
        return Seen(self.items, spaces, self.active)
