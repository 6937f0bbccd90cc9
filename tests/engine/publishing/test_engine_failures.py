"""Engines that are down, slow, full, of another version or with foreign data have a status each, and recover."""

import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from long_jobs import until
from milvus_server import MilvusServer, skip_without_server
from published import Published, item, row, taught
from tcp_line import TcpLine

from crossview.engine.collections.home import Home
from crossview.engine.publishing import aliases
from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.collection import PublishedCollection
from crossview.engine.publishing.generation import alias_of
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.serving import current_bundle
from crossview.engine.values.errors import CrossviewError, EngineFullError, EngineUnavailableError, NotReadyError

LIMIT = 2.0
"""Seconds of a call that has no answer."""
SOON = 300.0
"""Seconds of a call that has one, and in which everything must work again."""
NEAR = {"view": "v", "vector": row(1, "v"), "k": 3}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[MilvusServer]:
    """A server that is not running, which the test starts and stops."""
    skip_without_server()
    made = MilvusServer(tmp_path / "milvus")
    yield made
    made.kill()


def connected(address: str, seconds: float = SOON) -> Milvus:
    return Milvus(engine_address(address), timeout=seconds)


class Clock:
    """The clock of the pauses after a failure, which the test stops and moves."""

    def __init__(self) -> None:
        self._at: float | None = None
        self.sleep = time.sleep

    def monotonic(self) -> float:
        return time.monotonic() if self._at is None else self._at

    def stop(self) -> None:
        self._at = time.monotonic()

    def pass_pauses(self) -> None:
        """Let more time pass than any pause takes, on a clock that stands."""
        assert self._at is not None
        self._at += 3_600

    def go_on(self) -> None:
        self._at = None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("crossview.engine.publishing.milvus.time", made)
    return made


def awaited(work: Callable[[], object], within: float = SOON) -> float:
    """Repeat a call until it succeeds; return the seconds that this took."""
    began = time.monotonic()
    while True:
        try:
            work()
            return time.monotonic() - began
        except CrossviewError as error:
            if time.monotonic() - began > within:
                raise AssertionError from error
            time.sleep(0.1)


@contextmanager
def small(engine: Milvus, folder: Path) -> Iterator[Published]:
    """Publish a small collection."""
    with taught(Home(folder / "home"), "cca", 30) as collection, Published(collection, engine, folder / "b") as both:
        yield both


class Refusing:
    """A client of an engine that refuses every call."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., object]:
        def refuse(*_: object, **__: object) -> object:
            raise self._error

        return refuse


@pytest.mark.parametrize(
    ("code", "message", "expected", "words"),
    [
        (9, "quota exceeded[reason=disk quota exceeded, please allocate more resources]", EngineFullError, "disk"),
        (8, "deny to write the message to mq", EngineFullError, "memory or disk"),
        (101, "collection not loaded[collection=4]", EngineUnavailableError, "wait"),
        (1, "<_InactiveRpcError StatusCode.UNAVAILABLE>", EngineUnavailableError, "start it"),
        (1, "StatusCode.UNIMPLEMENTED unknown method Upsert", NotReadyError, "2.3.5"),
        (1, "StatusCode.UNAUTHENTICATED auth check failure", NotReadyError, "CROSSVIEW_ENGINE_TOKEN"),
        (1100, "the dim (4) of field data(vector) is not equal to schema dim (6)", NotReadyError, "dim"),
    ],
)
def test_refusals_of_an_engine_say_what_to_do(code, message, expected, words):
    from pymilvus import MilvusException

    engine = connected("milvus://127.0.0.1:1")
    engine._client = Refusing(MilvusException(code, message))
    with pytest.raises(expected, match=words) as refused:
        engine.call("search", "a")
    assert "milvus://127.0.0.1:1" in str(refused.value)


def test_calls_fail_at_once_for_a_while_after_a_failure(clock):
    """One of them then tries again, and an answer, even a refusal, ends the pause."""
    from pymilvus import MilvusException

    engine, address = connected("milvus://127.0.0.1:1", LIMIT), re.escape("milvus://127.0.0.1:1")
    clock.stop()
    with pytest.raises(EngineUnavailableError, match=f"{address} does not answer: start it"):
        engine.call("list_collections")
    with pytest.raises(EngineUnavailableError, match="asked again soon"):
        engine.call("list_collections")
    engine._client = Refusing(MilvusException(1100, "wrong"))
    with pytest.raises(EngineUnavailableError, match="asked again soon"):
        engine.call("list_collections")
    clock.pass_pauses()
    for _ in range(3):
        with pytest.raises(NotReadyError, match="wrong"):
            engine.call("list_collections")


class Counted:
    """A lock that counts those who have come to it."""

    def __init__(self) -> None:
        self._lock, self.came = threading.Lock(), 0
        self._counting = threading.Lock()

    def __enter__(self) -> None:
        with self._counting:
            self.came += 1
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_threads_that_wait_for_one_attempt_to_connect_fail_with_it(monkeypatch):
    """Threads do not wait one time limit each, in turn, for an engine that accepts connections and stays silent."""

    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = Milvus(engine_address(f"milvus://127.0.0.1:{silent.getsockname()[1]}"), timeout=0.3)
        real, lock, attempts, failed = engine._library.MilvusClient, Counted(), [], []

        def attempted(*arguments: object, **options: object) -> object:
            attempts.append(options["timeout"])
            until(lambda: lock.came == 8)
            return real(*arguments, **options)

        def call() -> None:
            with pytest.raises(EngineUnavailableError):
                engine.call("list_collections")
            failed.append(1)

        monkeypatch.setattr(engine, "_connecting", lock)
        monkeypatch.setattr(engine._library, "MilvusClient", attempted)
        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(failed) == 8
        assert attempts in ([0.3], [0.3, 0.3])  # threads that came during the first share one more


def test_a_lost_alias_keeps_the_generation_in_use(changing, caplog, monkeypatch):
    """A log line says so once; the alias can come back, or stand for a collection of another program meanwhile."""
    both = changing("cca")
    engine, name = both.engine, both.name
    items, looks = aliases.pointed(engine, name), []
    look = "crossview.engine.publishing.collection.current_bundle"
    monkeypatch.setattr(look, lambda *given: looks.append(1) or current_bundle(*given))
    aliases.remove(engine, name)
    looks.clear()
    with caplog.at_level(logging.WARNING):
        until(lambda: len(looks) > 3)
        assert both.published.search(**NEAR)
        assert both.published.items.put([item(200)]).added == 1
        with pytest.raises(NotReadyError, match="publish the collection first"):
            both.opened()
    assert len([one for one in caplog.records if name in one.getMessage()]) == 1
    aliases.point(engine, name, items)
    both.opened().close()


def test_a_foreign_collection_behind_the_alias_is_refused(changing):
    """A collection whose description names no bundle is refused, too; the open collection answers as before."""
    both = changing("cca")
    engine, name = both.engine, both.name
    items, foreign = aliases.pointed(engine, name), f"{alias_of(name)}_foreign"
    schema = engine.schema({"id": ("INT64", {}), "vector": ("FLOAT_VECTOR", {"dim": 2})}, json.dumps({"a": 1}))
    engine.call("create_collection", foreign, schema=schema)
    aliases.point(engine, name, foreign)
    with pytest.raises(NotReadyError, match=f"{foreign} .*was not published by crossview: publish again"):
        both.opened()
    assert both.published.search(**NEAR)
    assert both.publish().switched
    assert aliases.pointed(engine, name) == items
    both.opened().close()
    engine.call("drop_collection", foreign)


@pytest.mark.long
def test_an_engine_that_is_down_is_named_and_comes_back_by_itself(own, tmp_path, clock):
    """It is down at the start, and during reads and writes, by an orderly end or a kill; acknowledged writes stay."""
    own.start()
    engine = connected(own.address)
    with small(engine, tmp_path) as both:
        expected = both.published.search(**NEAR)
        for end in (own.stop, own.kill):
            both.published.items.put([item(200)])
            end()
            engine._timeout = LIMIT
            clock.stop()
            with pytest.raises(EngineUnavailableError, match=re.escape(own.address)):
                both.published.search(**NEAR)
            at_once = f"{re.escape(own.address)} .* asked again soon"
            for _ in range(20):
                with pytest.raises(EngineUnavailableError, match=at_once):
                    both.published.search(**NEAR)
                with pytest.raises(EngineUnavailableError, match=at_once):
                    both.published.items.put([item(201)])
            clock.go_on()
            with pytest.raises(EngineUnavailableError):
                PublishedCollection(both.name, ObjectStorage(both.bundles), connected(own.address, LIMIT))
            ready, answers = own.start(), awaited(lambda: both.published.search(**NEAR))
            engine._timeout = SOON
            print(f"the engine is ready after {ready:.1f} s, and the collection answers {answers:.1f} s later")
            assert both.published.items.get("k/200").labels == item(200).labels
            both.published.items.delete(["k/200"])
            assert [hit.key for hit in both.published.search(**NEAR)[0]] == [hit.key for hit in expected[0]]


@pytest.mark.long
def test_a_slow_engine_has_a_deadline(own, tmp_path, clock):
    """Calls fail after their limit, further ones at once, and work again soon after the network passes them."""
    own.start()
    with TcpLine(own.port) as line:
        engine = connected(f"milvus://127.0.0.1:{line.port}")
        with small(engine, tmp_path) as both:
            line.delay = 0.05
            assert both.published.search(**NEAR)
            line.delay = 0.0
            line.passing.clear()
            engine._timeout = LIMIT
            clock.stop()
            without_limit = threading.Timer(SOON, line.passing.set)  # a call that waited until then would succeed
            without_limit.start()
            with pytest.raises(EngineUnavailableError):
                both.published.search(**NEAR)
            with pytest.raises(EngineUnavailableError, match="asked again soon"):
                both.published.search(**NEAR)
            without_limit.cancel()
            clock.go_on()
            engine._timeout = SOON
            line.passing.set()
            awaited(lambda: both.published.search(**NEAR))
            both.published.items.put([item(200)])


@pytest.mark.long
def test_an_engine_that_takes_no_more_data_still_answers(own, tmp_path):
    """Its configuration makes it refuse writes, as full memory or a full disk does."""
    own.start()
    engine = connected(own.address)
    with small(engine, tmp_path) as both:
        own.configure("    forceDeny: false", "    forceDeny: true")
        refused = None
        end = time.monotonic() + SOON
        while refused is None and time.monotonic() < end:
            try:
                both.published.items.put([item(200)])
            except EngineFullError as error:
                refused = error
        assert own.address in str(refused)
        assert both.published.search(**NEAR)
        own.configure("    forceDeny: true", "    forceDeny: false")
        awaited(lambda: both.published.items.put([item(201)]))
