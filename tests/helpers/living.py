"""A plain model of a collection of vectors with labels: its states, the changes between them, and its answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossview.engine.collections.collection import Collection
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

DIM, K = 4, 5
LABELS = ("a", "b")
Items = dict[str, tuple[tuple[float, ...], tuple[str, ...]]]
"""Rows and labels by key: one state of the model."""
Change = tuple[str, Any]


def drawn(random: np.random.Generator, state: Items) -> Change:
    """Return a change that can be made in a state."""
    keys = sorted(state)
    kind = random.choice(["add", "add", "add", "row", "label", "delete", "delete", "train", "compact"])
    some = [str(key) for key in random.choice(keys, min(len(keys), int(random.integers(1, 4))), replace=False)]
    if kind == "add" or len(keys) < 5:
        names = [f"item/{random.integers(200):03}" for _ in range(random.integers(1, 6))]
        return "add", {name: (row(random), labels(random)) for name in names}
    if kind == "row":
        return "row", {key: row(random) for key in some}
    if kind == "label":
        return "label", {key: labels(random) for key in some}
    return (kind, some) if kind == "delete" else (kind, None)


def row(random: np.random.Generator) -> tuple[float, ...]:
    """Return a vector, as float32 rounds it."""
    return tuple(random.normal(size=DIM).astype(np.float32).tolist())


def labels(random: np.random.Generator) -> tuple[str, ...]:
    """Return some of the labels."""
    return tuple(label for label in LABELS if random.random() < 0.5)


def after(state: Items, change: Change) -> Items:
    """Return the model's next state."""
    kind, what = change
    new = dict(state)
    if kind == "add":
        new |= what
    elif kind == "row":
        new |= {key: (values, state[key][1]) for key, values in what.items()}
    elif kind == "label":
        new |= {key: (state[key][0], values) for key, values in what.items()}
    elif kind == "delete":
        for key in what:
            del new[key]
    return new


def make(collection: Collection, change: Change) -> None:
    """Make a change of the collection."""
    kind, what = change
    if kind == "add":
        collection.items.put(
            [
                NewItem(key, rows={"v": np.array(values, np.float32)}, labels=tuple(of))
                for key, (values, of) in what.items()
            ]
        )
    elif kind == "row":
        collection.items.put_vectors("v", list(what), np.array(list(what.values()), np.float32))
    elif kind == "label":
        collection.items.update([ItemUpdate(key, labels=tuple(of)) for key, of in what.items()])
    elif kind == "delete":
        collection.items.delete(what)
    elif kind == "train":
        collection.train(Recipe(spec="pca", views=("v",)), space="other", activate=False)
    else:
        collection.storage.compact()


@dataclass
class Asked:
    """A search, the numbers of the states that it may see, and its answer."""

    first: int
    query: tuple[float, ...]
    label: str
    last: int = 0
    found: list[tuple[str, float]] = field(default_factory=list)

    @classmethod
    def of(cls, random: np.random.Generator, first: int = 0) -> "Asked":
        """Return a search drawn by chance."""
        return cls(first, row(random), str(random.choice(["", *LABELS])))

    def find(self, collection: Collection) -> None:
        """Search in the views themselves."""
        chosen = Filter(labels=(self.label,)) if self.label else Filter()
        request = SearchRequest([Query("v", vector=np.array(self.query, np.float32))], k=K, space="raw", filter=chosen)
        self.found = [(hit.key, hit.distance) for hit in collection.search(request)[0].hits]

    def matches(self, state: Items) -> bool:
        """Return whether the answer is that of the exact twin in a state."""
        passing = {key: values for key, (values, of) in state.items() if not self.label or self.label in of}
        gaps = {key: float(np.linalg.norm(np.subtract(values, self.query))) for key, values in passing.items()}
        return are_nearest(self.found, gaps, K)


def are_nearest(found: Sequence[tuple[str, float]], exact: Mapping[str, float], k: int) -> bool:
    """Return whether an exact search can find these keys and distances; ``exact`` has the distance of every key.

    A search adds squares in float32, so either of two items whose distances differ by less can have the last place.
    """
    keys, distances = {key for key, _ in found}, [distance for _, distance in found]
    nearest = sorted(exact.values())[:k]
    return (
        len(keys) == len(distances) == len(nearest)
        and keys <= exact.keys()
        and np.allclose(distances, nearest, rtol=1e-6, atol=0)
        and np.allclose(distances, [exact[key] for key, _ in found], rtol=1e-6, atol=0)
    )
