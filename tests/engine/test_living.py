"""A collection that threads and processes write and search at once, beside a plain model.

Every answer is that of the exact twin in some state that the collection had between the beginning and the end of the
call.
"""

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from living import DIM, Asked, Items, after, drawn, labels, make, row
from seeds import seed_of

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home


def ask(collection: Collection, random: np.random.Generator, made: Any, begun: Any) -> Asked:
    """Search; ``made`` counts the changes that were acknowledged, ``begun`` those that have begun."""
    one = Asked.of(random, made.value)
    one.find(collection)
    one.last = begun.value
    return one


def other_process(path: Path, pipe: Connection, made: Any, begun: Any, stop: Any) -> None:
    """Search all the time, make the changes that come, and send the answers at the end."""
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


def test_items_at_distances_that_float32_cannot_distinguish_may_have_each_others_place(home: Home):
    """The fifth and the sixth item are nearer to each other than the rounding of a sum of squares."""
    query = (-1.476702094078064, -2.6400392055511475, -2.431281805038452, 0.40855902433395386)
    rows = {
        "item/089": (-1.5524057149887085, -1.3237152099609375, -0.5810322165489197, -0.37442851066589355),
        "item/166": (-0.6888038516044617, -0.5587257742881775, -1.6493581533432007, -0.3798573613166809),
        "item/124": (0.1696949452161789, -1.1269187927246094, -0.8658903241157532, 0.35478508472442627),
        "item/176": (0.030020518228411674, -2.136270046234131, -0.16293953359127045, -0.12611326575279236),
        "item/078": (-1.754504680633545, -0.8648582100868225, -1.0041354894638062, -1.255613923072815),
        "item/057": (-0.25836148858070374, -0.344094455242157, -1.3078525066375732, 0.27874600887298584),
        "item/011": (-0.9965150952339172, -1.2111976146697998, 0.014819025062024593, -0.7500433921813965),
    }
    state: Items = {key: (values, ("a",)) for key, values in rows.items()}
    with home.create("living", [f"v=vectors:dim={DIM}"]) as collection:
        make(collection, ("add", state))
        one = Asked(0, query, "a")
        one.find(collection)
    assert one.matches(state)
    first, distances = list(rows)[:4], [2.4031091, 2.4870975, 2.7301096, 2.8205049, 2.8345477]
    for last in ("item/078", "item/057"):
        assert replace(one, found=list(zip([*first, last], distances, strict=True))).matches(state)
    for wrong in (
        [*first, "item/011"],
        [*first, "item/176"],
        [*first, "other"],
        [*reversed(first), "item/078"],
        first,
    ):
        assert not replace(one, found=list(zip(wrong, distances, strict=False))).matches(state)
    far = [*distances[:4], 2.8346]
    assert not replace(one, found=list(zip([*first, "item/078"], far, strict=True))).matches(state)
    assert not one.matches({key: of for key, of in state.items() if key != "item/166"})


@pytest.mark.random
def test_every_answer_is_of_a_state_during_the_call(home: Home):
    """The collection changes twenty times."""
    states, asked = live(home, 20, seed_of(0))
    assert len(asked) > 20
    check(states, asked)


@pytest.mark.random
@pytest.mark.long
@pytest.mark.parametrize("case", [1, 2])
def test_every_answer_is_of_a_state_during_the_call_for_long(home: Home, case: int):
    """The collection changes three hundred times."""
    check(*live(home, 300, seed_of(case)))
