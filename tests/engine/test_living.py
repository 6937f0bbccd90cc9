"""A collection that is written and searched at once, by threads and processes, beside a plain model of it.

Every answer is that of the exact twin in some state that the collection had between the beginning and the end of the
call.
"""

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from living import DIM, Asked, Items, after, drawn, labels, make, row
from seeds import seed_of

from crossview.engine.collection import Collection
from crossview.engine.home import Home


def ask(collection: Collection, random: np.random.Generator, made: Any, begun: Any) -> Asked:
    """Search; ``made`` counts the changes that were acknowledged, ``begun`` those that have begun."""
    one = Asked.of(random, made.value)
    one.find(collection)
    one.last = begun.value
    return one


def other_process(path: Path, pipe: Connection, made: Any, begun: Any, stop: Any) -> None:
    """Search all the time, make the changes that come, and send what was found at the end."""
    asked, random = [], np.random.default_rng(7)
    with Home(path).open("living") as collection:
        ask(collection, random, made, begun)  # with all that it takes
        pipe.send("ready")
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
        child.join(300)
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
            assert pipe.poll(120), "the other process does not start"
            assert pipe.recv() == "ready"
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


@pytest.mark.random
def test_every_answer_is_of_a_state_during_the_call(home: Home):
    """Twenty changes."""
    states, asked = live(home, 20, seed_of(0))
    assert len(asked) > 20
    check(states, asked)


@pytest.mark.random
@pytest.mark.long
@pytest.mark.parametrize("case", [1, 2])
def test_every_answer_is_of_a_state_during_the_call_for_long(home: Home, case: int):
    """Three hundred changes."""
    check(*live(home, 300, seed_of(case)))
