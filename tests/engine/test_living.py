"""A collection that is written and searched at once, by threads and processes, beside a plain model of it.

Every answer is that of the exact twin in some state that the collection had between the beginning and the end of the
call.
"""

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.collection import Collection
from engine.home import Home
from engine.item import ItemUpdate, NewItem
from engine.query import Filter, Query, SearchRequest
from engine.recipe import Recipe

DIM, K = 4, 5
LABELS = ("a", "b")
Items = dict[str, tuple[tuple[float, ...], tuple[str, ...]]]
"""Rows and labels by key: one state of the model."""
Change = tuple[str, Any]


def drawn(random: np.random.Generator, state: Items) -> Change:
    """A change that can be made in a state."""
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
    return tuple(np.float32(random.normal(size=DIM)).tolist())


def labels(random: np.random.Generator) -> tuple[str, ...]:
    return tuple(label for label in LABELS if random.random() < 0.5)


def after(state: Items, change: Change) -> Items:
    """The model's next state."""
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
        collection.import_items(
            [NewItem(key, rows={"v": np.array(values, np.float32)}, labels=of) for key, (values, of) in what.items()]
        )
    elif kind == "row":
        collection.put_vectors("v", list(what), np.array(list(what.values()), np.float32))
    elif kind == "label":
        collection.update_items([ItemUpdate(key, labels=of) for key, of in what.items()])
    elif kind == "delete":
        collection.delete_items(what)
    elif kind == "train":
        collection.train(Recipe(spec="pca", views=("v",)), space="other", activate=False)
    else:
        collection.compact()


@dataclass
class Asked:
    """A search, the numbers of the states that it may see, and what it found."""

    first: int
    query: tuple[float, ...]
    label: str
    last: int = 0
    found: list[tuple[str, float]] = field(default_factory=list)

    def matches(self, state: Items) -> bool:
        """Whether it found what the exact twin finds in a state."""
        passing = {key: values for key, (values, of) in state.items() if not self.label or self.label in of}
        gaps = {key: float(np.linalg.norm(np.subtract(values, self.query))) for key, values in passing.items()}
        nearest = sorted(gaps, key=lambda key: gaps[key])[:K]
        return [key for key, _ in self.found] == nearest and np.allclose(
            [distance for _, distance in self.found], [gaps[key] for key in nearest], atol=1e-4
        )


def ask(collection: Collection, random: np.random.Generator, made: Any, begun: Any) -> Asked:
    """Search; ``made`` counts the changes that were acknowledged, ``begun`` those that have begun."""
    one = Asked(made.value, row(random), str(random.choice(["", *LABELS])))
    chosen = Filter(labels=(one.label,)) if one.label else Filter()
    request = SearchRequest([Query("v", vector=np.array(one.query, np.float32))], k=K, space="raw", filter=chosen)
    one.found = [(hit.key, hit.distance) for hit in collection.search(request)[0].hits]
    one.last = begun.value
    return one


def other_process(path: Path, pipe: Connection, made: Any, begun: Any, stop: Any) -> None:
    """Search all the time, make the changes that come, and send what was found at the end."""
    asked, random = [], np.random.default_rng(7)
    with Home(path).open("living") as collection:
        while not stop.value:
            if pipe.poll():
                make(collection, pipe.recv())
                pipe.send("made")
            asked.append(ask(collection, random, made, begun))
    pipe.send(asked)


@contextmanager
def process(path: Path, made: Any, begun: Any) -> Iterator[tuple[Connection, Any]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    stop = context.Value("i", 0)
    child = context.Process(target=other_process, args=(path, theirs, made, begun, stop))
    child.start()
    try:
        yield ours, stop
    finally:
        stop.value = 1
        child.join(60)
        child.kill()


def live(home: Home, changes: int, seed: int) -> tuple[list[Items], list[Asked]]:
    """Change a collection, every third time from another process, while two threads and that process search."""
    random = np.random.default_rng(seed)
    context = multiprocessing.get_context("spawn")
    made, begun = context.Value("i", 0), context.Value("i", 0)
    states: list[Items] = [{}]
    asked: list[Asked] = []
    with home.create("living", [f"v=vectors:dim={DIM}"]) as collection:
        first = ("add", {f"item/{number:03}": (row(random), labels(random)) for number in range(30)})
        make(collection, first)
        states[0] = after({}, first)
        done = threading.Event()

        def search(own: int) -> None:
            generator = np.random.default_rng(own)
            while not done.is_set():
                asked.append(ask(collection, generator, made, begun))

        with process(home.path, made, begun) as (pipe, stop), ThreadPoolExecutor(2) as threads:
            searching = [threads.submit(search, own) for own in (1, 2)]
            try:
                for number in range(1, changes + 1):
                    change = drawn(random, states[-1])
                    states.append(after(states[-1], change))
                    begun.value = number
                    if number % 3:
                        make(collection, change)
                    else:
                        pipe.send(change)
                        assert pipe.poll(120), "the other process does not answer"
                        assert pipe.recv() == "made"
                    made.value = number
            finally:
                done.set()
            for one in searching:
                one.result()
            stop.value = 1
            assert pipe.poll(120), "the other process does not answer"
            asked += pipe.recv()
        assert collection.count() == len(states[-1])
    with home.open("living") as later:  # from snapshots, or without
        asked += [ask(later, random, made, begun) for _ in range(20)]
    return states, asked


def check(states: list[Items], asked: list[Asked]) -> None:
    for one in asked:
        possible = states[one.first : one.last + 1]
        assert any(one.matches(state) for state in possible), (one, len(possible))


def test_every_answer_is_of_a_state_during_the_call(home: Home):
    """Forty changes."""
    states, asked = live(home, 40, seed=0)
    assert len(asked) > 50
    check(states, asked)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_answer_is_of_a_state_during_the_call_for_long(home: Home, seed: int):
    """A thousand changes."""
    check(*live(home, 1000, seed))
