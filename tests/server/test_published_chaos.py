"""Three servers without a catalog under load: one is killed again and again, and generations replace each other.

Clients ask the next server if one does not answer. Every acknowledged write stays, every answer is the oracle's.
"""

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from milvus_server import MilvusServer, skip_without_server
from numpy.typing import NDArray
from ports import free_port
from published import Published, row, taught

from crossview.engine.collections.home import Home
from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.values.errors import EngineUnavailableError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.wire.errors import OverloadedError, ServerStoppedError, ServerUnavailableError

T = TypeVar("T")
UNANSWERED = (ServerUnavailableError, ServerStoppedError, OverloadedError, EngineUnavailableError)
"""After these errors, a client asks another server."""
KILL_EVERY, MINUTES = 5.0, 2.0
SOON = 300.0
"""Seconds in which a client finds a server that answers."""
SERVERS, WRITERS, READERS = 3, 2, 2
NEAR, ITEMS = 10, 60
pytestmark = pytest.mark.long


class Servers:
    """Servers of the published collections of an engine, each on a port of its own."""

    def __init__(self, bundles: Path, engine: str, folder: Path) -> None:
        self._options = ["--bundle", str(bundles), "--engine", engine]
        self._folder, self.ports = folder, [free_port() for _ in range(SERVERS)]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, port: int) -> None:
        """Start a server."""
        command = [sys.executable, "-m", "crossview.server.commands.cli", "serve", "--port", str(port), *self._options]
        with (self._folder / f"{port}.log").open("ab") as log:
            self._processes[port] = subprocess.Popen(
                [*command, "--home", str(self._folder / str(port)), "--workers", "1"], stdout=log, stderr=log
            )

    def kill(self, port: int) -> None:
        """End a server at once."""
        self._processes[port].send_signal(signal.SIGKILL)
        self._processes[port].wait()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MilvusServer]:
    """A server that the test may kill."""
    skip_without_server()
    made = MilvusServer(tmp_path / "milvus")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def both(engine: MilvusServer, tmp_path: Path) -> Iterator[Published]:
    """A small published collection."""
    connection = Milvus(engine_address(engine.address), timeout=300)
    with taught(Home(tmp_path / "home"), "raw", ITEMS) as made, Published(made, connection, tmp_path / "b") as found:
        yield found


@pytest.fixture
def servers(both: Published, tmp_path: Path) -> Iterator[Servers]:
    """All servers, answering."""
    folder = tmp_path / "servers"
    folder.mkdir()
    made = Servers(both.bundles, both.engine.address.text, folder)
    for port in made.ports:
        made.start(port)
    yield made
    for port in made.ports:
        made.kill(port)


class Caller:
    """A client of all servers, which asks another one when one does not answer."""

    def __init__(self, ports: list[int], name: str, first: int) -> None:
        self._name, self._next = name, itertools.cycle(ports[first % len(ports) :] + ports[: first % len(ports)])
        self._client = Client(f"127.0.0.1:{next(self._next)}", SOON)
        self.retries = self.refusals = 0
        self.longest = 0.0

    def call(self, work: Callable[[object], T]) -> T:
        """Return the outcome of a call by any server; fail if none answers for long."""
        began = time.monotonic()
        while True:
            try:
                outcome = work(self._client.open(self._name))
                self.longest = max(self.longest, time.monotonic() - began)
                return outcome
            except UNANSWERED as error:
                assert time.monotonic() - began < SOON, "no server answers"
                if isinstance(error, OverloadedError):  # a busy machine, and no fault
                    self.refusals += 1
                else:
                    self.retries += 1
                self._client.close()
                self._client = Client(f"127.0.0.1:{next(self._next)}", SOON)
                time.sleep(0.1)

    def close(self) -> None:
        self._client.close()


@contextmanager
def working(works: list[Callable[[threading.Event], None]]) -> Iterator[None]:
    """Run works in threads until the end of the block; raise the first error of any."""
    ended, errors = threading.Event(), list[BaseException]()

    def run(work: Callable[[threading.Event], None]) -> None:
        try:
            work(ended)
        except BaseException as error:  # noqa: BLE001 - it is raised by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


class Written:
    """The items of one writer, with the last acknowledged version of each; 0 is a deleted item."""

    def __init__(self, number: int) -> None:
        self.number, self.acknowledged, self.writes = number, dict[str, int](), 0

    def row(self, version: int) -> NDArray[np.float32]:
        """Return the row of a version, which is far from the items of others."""
        return row(version, "v", self.number + 1) + np.float32(100 * (self.number + 1))

    def work(self, caller: Caller, ended: threading.Event) -> None:
        """Write until the end."""
        random = np.random.default_rng(self.number)
        for version in itertools.count(1):
            if ended.is_set():
                return
            key = f"w{self.number}/{random.integers(8)}"
            made = 0 if random.random() < 0.2 else version
            if made:
                new = NewItem(key, labels=(f"x{version}",), rows={"v": self.row(version)})
                report = caller.call(lambda remote, new=new: remote.items.put([new]))
                assert not report.failures
            else:
                caller.call(lambda remote, key=key: remote.items.delete([key]))
            self.acknowledged[key] = made
            self.writes += 1
            self.read(caller, key, made)

    def read(self, caller: Caller, key: str, version: int) -> None:
        """Check that every server shows an acknowledged version, by key and among the nearest."""
        if not version:
            with pytest.raises(NotFoundError):
                caller.call(lambda remote: remote.items.get(key))
            return
        assert caller.call(lambda remote: remote.items.get(key)).labels == (f"x{version}",)
        (hits,) = caller.call(lambda remote: remote.search(view="v", vector=self.row(version), k=1))
        assert (hits[0].key, hits[0].distance, hits[0].labels) == (key, pytest.approx(0, abs=1e-3), (f"x{version}",))


def test_no_acknowledged_write_is_lost_while_servers_and_the_engine_are_killed(both, servers, engine):
    """Reads by any server see it at once; the stable items are always found alike."""
    expected = [[hit.distance for hit in one] for one in both.published.search(stable(range(10)))]
    writers = [Written(number) for number in range(WRITERS)]
    callers = [Caller(servers.ports, both.name, number) for number in range(WRITERS + READERS)]
    reads = [0]

    def read(caller: Caller, ended: threading.Event) -> None:
        while not ended.is_set():
            found = caller.call(lambda remote: remote.search(stable(range(10))))
            for hits, distances in zip(found, expected, strict=True):
                assert [hit.distance for hit in hits] == pytest.approx(distances, abs=1e-3)
            reads[0] += 1

    works = [
        lambda ended, one=one, caller=caller: one.work(caller, ended)
        for one, caller in zip(writers, callers[:WRITERS], strict=True)
    ]
    works += [lambda ended, caller=caller: read(caller, ended) for caller in callers[WRITERS:]]
    kills, ready = 0, 0.0
    with working(works):
        until = time.monotonic() + 60 * MINUTES
        for port in itertools.cycle(servers.ports):
            time.sleep(KILL_EVERY)
            servers.kill(port)
            servers.start(port)
            kills += 1
            if kills == 5:
                engine.kill()
                ready = engine.start()
            seconds = time.monotonic() - until
            if seconds > 0 and kills > 5 and min(one.writes for one in writers) > 5:
                break
            assert seconds < 1_200, "too few writes are answered"
    checking = Caller(servers.ports, both.name, 0)
    for one in writers:
        for key, version in one.acknowledged.items():
            one.read(checking, key, version)
    live = sum(version > 0 for one in writers for version in one.acknowledged.values())
    assert checking.call(lambda remote: remote.info()).items == both.collection.count() + live
    figures = {
        "kills": kills,
        "engine ready": round(ready, 1),
        "reads": reads[0],
        "writes": sum(one.writes for one in writers),
        "retries": sum(caller.retries for caller in callers),
        "refusals": sum(caller.refusals for caller in callers),
        "longest call": round(max(caller.longest for caller in callers), 1),
    }
    print(figures)


def stable(numbers: range) -> SearchRequest:
    """Return searches near items that no writer writes."""
    return SearchRequest([Query("v", vector=row(number, "v") + 0.1) for number in numbers], k=NEAR)


def test_generations_that_replace_each_other_under_load_do_not_mix(both, servers):
    """Every answer is that of one of the generations, as a whole, and no call fails."""
    request = stable(range(5))
    oracles = [distances_of(both.collection.search(request))]
    calls, seen = [0], set[int]()
    callers = [Caller(servers.ports, both.name, number) for number in range(READERS + 1)]

    def read(caller: Caller, ended: threading.Event) -> None:
        while not ended.is_set():
            found = distances_of(caller.call(lambda remote: remote.search(request)))
            (which,) = [
                place
                for place, one in enumerate(oracles)
                if np.shape(one) == np.shape(found) and np.allclose(one, found, atol=1e-3)
            ]
            seen.add(which)
            calls[0] += 1

    def write(caller: Caller, ended: threading.Event) -> None:
        for version in itertools.count():
            if ended.is_set():
                return
            new = NewItem("far/1", labels=(str(version),), rows={"v": np.full(6, 500, np.float32)})
            caller.call(lambda remote, new=new: remote.items.put([new]))
            last[0] = version

    last = [0]
    for caller in callers:
        caller.call(lambda remote: remote.search(request))
    retries = sum(caller.retries for caller in callers)
    works = [lambda ended, caller=caller: read(caller, ended) for caller in callers[:READERS]]
    times = []
    with working([*works, lambda ended: write(callers[-1], ended)]):
        for spec in ("pca:2", "cca", "pca:3"):
            both.collection.train(Recipe(spec=spec, views=("v", "w") if spec == "cca" else ("v",)))
            both.collection.spaces.activate(spec.partition(":")[0])
            oracles.append(distances_of(both.collection.search(request)))
            began = time.monotonic()
            assert both.publish().switched
            while len(oracles) - 1 not in seen:
                assert time.monotonic() - began < SOON
                time.sleep(0.05)
            times.append(round(time.monotonic() - began, 1))
            time.sleep(3)
    assert seen == set(range(len(oracles)))
    assert sum(caller.retries for caller in callers) == retries
    checking = Caller(servers.ports, both.name, 0)
    assert checking.call(lambda remote: remote.items.get("far/1")).labels == (str(last[0]),)
    figures = {"searches": calls[0], "writes": last[0] + 1, "seconds to replace": times}
    print(figures)


def distances_of(lists: list[HitList]) -> list[list[float]]:
    """Return the distances of all hits, by target and list."""
    return [[hit.distance for hit in one] for one in sorted(lists, key=lambda one: (one.target, one.query))]
