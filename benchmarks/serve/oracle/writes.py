"""Changes of the collection: how each is made, by a program or on the command line, and what state it leads to."""

import csv
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.oracle.states import LEARNED, Record, SpaceState, State, key_of, row
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.recipe import Recipe

DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"
"""The result of a write: acknowledged, not carried out, or unknown."""


@dataclass(kw_only=True, eq=False)
class Write(ABC):
    """One change. Its count is its identity: no other write has it."""

    count: int
    outcome: str = UNKNOWN
    error: str = ""
    who: str = ""
    began: float = 0.0
    ended: float = math.inf

    @abstractmethod
    def after(self, state: State) -> State:
        """Return the state that it leads to."""

    def _file(self, folder: Path, ending: str) -> Path:
        return folder / f"{self.count}{ending}"


class Call(Write):
    """A change that a program makes, through a server or not."""

    @abstractmethod
    def by(self, writer: AnyCollection) -> None:
        """Make the change."""


class Command(Write):
    """A change that a command makes."""

    @abstractmethod
    def words(self, folder: Path) -> list[str]:
        """Return the words of the command, NAME left out; its files are written into a folder."""


@dataclass(kw_only=True, eq=False)
class Import(Call):
    """Items with rows of some views, labels and an attribute."""

    numbers: Sequence[int]
    views: Sequence[str]
    labels: tuple[str, ...]

    def by(self, writer: AnyCollection) -> None:
        """Import them in one call."""
        writer.items.put(
            [
                NewItem(
                    key_of(number),
                    rows={view: row(view, number, self.count) for view in self.views},
                    labels=self.labels,
                    attributes={"count": self.count},
                )
                for number in self.numbers
            ]
        )

    def after(self, state: State) -> State:
        """Give the items these rows; rows of other views stay."""
        items = dict(state.items)
        fields: dict[str, Any] = dict.fromkeys(self.views, self.count)
        for number in self.numbers:
            record = items.get(number, Record())
            items[number] = record._replace(**fields, written=self.count, labels=self.labels)
        return state.changed(items=items)


@dataclass(kw_only=True, eq=False)
class Put(Call, Command):
    """Rows of one view by key: of new counts, or of the ones that items have already."""

    view: str
    counts: Mapping[int, int]

    def by(self, writer: AnyCollection) -> None:
        """Put them in one call."""
        writer.items.put_vectors(self.view, list(map(key_of, self.counts)), self._rows())

    def words(self, folder: Path) -> list[str]:
        """Index a file of rows."""
        path = self._file(folder, ".npz")
        np.savez(path, keys=np.array(list(map(key_of, self.counts))), vectors=self._rows())
        return ["index", "--view", self.view, "--vectors", str(path)]

    def after(self, state: State) -> State:
        """Every item has its row; those that did not exist are new."""
        items = dict(state.items)
        for number, count in self.counts.items():
            fields: dict[str, Any] = {self.view: count}
            items[number] = items.get(number, Record())._replace(**fields)
        return state.changed(items=items)

    def _rows(self) -> Any:
        return np.stack([row(self.view, number, count) for number, count in self.counts.items()])


@dataclass(kw_only=True, eq=False)
class Delete(Call, Command):
    """Deletes those that exist of some items."""

    numbers: Sequence[int]

    def by(self, writer: AnyCollection) -> None:
        """Delete them in one call."""
        writer.items.delete(list(map(key_of, self.numbers)))

    def words(self, folder: Path) -> list[str]:
        """Delete them by key."""
        return ["item delete", *map(key_of, self.numbers), "--yes"]

    def after(self, state: State) -> State:
        """Remove the items with all their data."""
        gone = set(self.numbers)
        return state.changed(items={number: record for number, record in state.items.items() if number not in gone})


@dataclass(kw_only=True, eq=False)
class Label(Call, Command):
    """A label and an attribute for those that exist of some items."""

    numbers: Sequence[int]
    label: str

    def by(self, writer: AnyCollection) -> None:
        """Update them in one call."""
        attributes = {"count": self.count}
        writer.items.update(
            [ItemUpdate(key_of(number), labels=(self.label,), attributes=attributes) for number in self.numbers]
        )

    def words(self, folder: Path) -> list[str]:
        """Label them from a CSV file."""
        path = self._file(folder, ".csv")
        with path.open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["key", "label", "count"])
            lines.writerows([key_of(number), self.label, self.count] for number in self.numbers)
        return ["annotate", "--from", str(path)]

    def after(self, state: State) -> State:
        """Label the existing items."""
        existing = {number: state.items[number] for number in self.numbers if number in state.items}
        changed = {
            number: record._replace(written=self.count, labels=(self.label,)) for number, record in existing.items()
        }
        return state.changed(items={**state.items, **changed})


@dataclass(kw_only=True, eq=False)
class Train(Call, Command):
    """Trains a space, which is the active one then. Its seed tells its generation from others."""

    space: str

    def by(self, writer: AnyCollection) -> None:
        """Train and wait."""
        recipe = Recipe(**LEARNED[self.space], seed=self.count)
        writer.train(recipe, space=self.space, activate=True)

    def words(self, folder: Path) -> list[str]:
        """Train with the same settings."""
        how = LEARNED[self.space]
        dim = ["--dim", str(how["dim"])] if "dim" in how else []
        views = ["--views", ",".join(how["views"])]
        return [
            "train",
            "--learner",
            how["spec"],
            *views,
            *dim,
            *("--space", self.space, "--seed", str(self.count), "--activate"),
        ]

    def after(self, state: State) -> State:
        """Give the space another generation."""
        trained = SpaceState.trained(state.spaces.get(self.space), self.count)
        return state.changed(spaces={**state.spaces, self.space: trained}, active=self.space)


@dataclass(kw_only=True, eq=False)
class Activate(Call, Command):
    """Lets a space answer by default, by one of its generations."""

    space: str
    generation: int

    def by(self, writer: AnyCollection) -> None:
        """Activate it."""
        writer.spaces.activate(self.space, self.generation)

    def words(self, folder: Path) -> list[str]:
        """Activate it."""
        return ["space activate", self.space, "--generation", str(self.generation)]

    def after(self, state: State) -> State:
        """Make the generation answer for its space, and its space the default; do nothing without such a generation."""
        space = state.spaces.get(self.space)
        if space is None or self.generation not in dict(space.trainings):
            return state
        used = space._replace(answering=self.generation)
        return state.changed(spaces={**state.spaces, self.space: used}, active=self.space)


@dataclass(frozen=True)
class Copy:
    """A backup, and the state that it is of."""

    path: Path
    state: State


@dataclass(kw_only=True, eq=False)
class Restore(Command):
    """Brings the collection back to a backup."""

    copy: Copy

    def words(self, folder: Path) -> list[str]:
        """Restore the file."""
        return ["restore", str(self.copy.path), "--yes", "--quiet"]

    def after(self, state: State) -> State:
        """Return to the state of the backup."""
        return self.copy.state
