"""Rooms: one kind of call does not wait for another, and excess calls are refused at once."""

import asyncio
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from long_jobs import until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotEnoughMemoryError, NotFoundError
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.dispatch.rooms import Room, Rooms
from crossview.server.core.jobs.jobs import Waiting
from crossview.server.core.jobs.records import Records
from crossview.server.core.services.search_service import SearchService
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.convert_search import from_search_request
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import search_pb2

NEAR = SearchRequest([Query("color", key="cat/0")], space="raw", targets=("color",), k=3)


def run(scene: Callable[[Room], Awaitable[Any]], threads: int = 2, waiting: int = 2, patience: float = 600.0) -> Any:
    """Return the result of a scene in a room of two threads and two waiting places."""

    async def play() -> Any:
        room = Room("tests", threads, waiting, 0.5, patience)
        try:
            return await asyncio.wait_for(scene(room), 300)
        finally:
            room.close()

    return asyncio.run(play())


def test_a_room_without_a_thread_refuses_calls_until_it_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls waited for ever for a thread that the system had refused."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scene(room: Room) -> list[Any]:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(OverloadedError):
                await room.run(lambda: 1)
        first = await room.run(lambda: 2)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            return [first, *await asyncio.gather(*(room.run(lambda n=n: n) for n in range(3, 6)))]  # type: ignore[misc]

    assert run(scene) == [2, 3, 4, 5]


def test_a_caller_learns_that_no_thread_can_wait_for_its_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The next one waits."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scene() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(NotEnoughMemoryError, match="ulimit -u"):
                await waiting.ended("none")
        with pytest.raises(NotFoundError):
            await waiting.ended("none")

    waiting = Waiting(Records(tmp_path))
    asyncio.run(scene())
    waiting.close()


def test_results_and_errors_come_back_to_who_waits() -> None:
    """Each caller gets its own."""

    async def scene(room: Room) -> list[Any]:
        calls = [room.run(lambda n=n: 1 // n) for n in range(4)]  # type: ignore[misc]
        return await asyncio.gather(*calls, return_exceptions=True)

    error, *values = run(scene)
    assert isinstance(error, ZeroDivisionError)
    assert values == [1, 0, 0]


class Clock:
    """The clock of rooms, which only a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("crossview.server.core.dispatch.rooms.time", made)
    return made


def test_what_would_wait_too_long_is_refused_although_there_is_a_place(clock: Clock) -> None:
    """The time of earlier calls decides; as soon as few wait, calls are accepted again."""

    async def scene(room: Room) -> tuple[int, int]:
        await room.run(lambda: clock.pass_(100_000))
        leave = threading.Event()
        calls = [asyncio.ensure_future(room.run(lambda: leave.wait(300))) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        refused = sum(call.done() and isinstance(call.exception(), OverloadedError) for call in calls)
        leave.set()
        await asyncio.gather(*calls, return_exceptions=True)
        return refused, await room.run(lambda: 7)

    refused, answer = run(scene, waiting=100)
    assert refused == 16  # the room accepts twice as many calls as it has threads
    assert answer == 7


@pytest.mark.parametrize("alike", [False, True], ids=["alone", "alike"])
def test_nobody_waits_longer_than_the_patience(clock: Clock, alike: bool) -> None:
    """Few may wait, and no earlier call was slow; a call that has begun is answered after any time."""

    async def scene(room: Room) -> tuple[list[Any], list[int], int]:
        leave, begun = threading.Event(), list[int]()

        def work(number: int) -> int:
            begun.append(number)
            leave.wait(300)
            return number

        def called(number: int) -> Awaitable[int]:
            if alike:
                return room.run_together(number % 4, number, lambda given: list(map(work, given)), 1)
            return room.run(lambda: work(number))

        calls = [asyncio.ensure_future(called(number)) for number in range(6)]
        while len(begun) < 2:
            await asyncio.sleep(0.001)
        clock.pass_(1)
        outcomes = await asyncio.wait_for(asyncio.gather(*calls[2:], return_exceptions=True), 300)
        leave.set()
        answered = await asyncio.gather(*calls[:2])
        return outcomes, answered, await room.run(lambda: len(begun))

    outcomes, answered, begun = run(scene, waiting=20, patience=0.05)
    assert [type(one) for one in outcomes] == [OverloadedError] * 4
    assert (answered, begun) == ([0, 1], 2)


def test_a_thread_that_waits_keeps_nothing_of_the_last_call() -> None:
    """A request may be large, and the next call long in coming."""

    class Request:
        pass

    async def scene(room: Room) -> bool:
        request = Request()
        kept = weakref.ref(request)
        await room.run(partial(id, request))
        del request
        end = time.monotonic() + 300
        while kept() is not None and time.monotonic() < end:
            await asyncio.sleep(0.01)
        return kept() is None

    assert run(scene)


def test_one_too_many_is_refused_at_once_and_later_ones_are_not() -> None:
    """A refused call has not begun; the error says when to come again."""

    async def scene(room: Room) -> list[int]:
        leave, begun = threading.Event(), list[int]()

        def hold(number: int) -> None:
            leave.wait(300)
            begun.append(number)

        held = [asyncio.ensure_future(room.run(partial(hold, number))) for number in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match=r"too many tests .* try again in 0\.5 s") as caught:
            await room.run(lambda: begun.append(99))
        assert caught.value.retry_seconds == 0.5
        leave.set()
        await asyncio.gather(*held)
        await room.run(lambda: begun.append(4))
        return sorted(begun)

    assert run(scene) == [0, 1, 2, 3, 4]


def test_what_nobody_waits_for_is_not_begun() -> None:
    """A call that was given up in the queue takes no thread; its place is free again."""

    async def scene(room: Room) -> list[str]:
        leave, done = threading.Event(), list[str]()
        first = asyncio.ensure_future(room.run(lambda: leave.wait(300)))
        abandoned = [asyncio.ensure_future(room.run(lambda: done.append("abandoned"))) for _ in range(2)]
        await asyncio.sleep(0)
        for one in abandoned:
            one.cancel()
        leave.set()
        await first
        await room.run(lambda: None)  # behind those that were given up
        await asyncio.gather(*(room.run(lambda: done.append("wanted")) for _ in range(3)))
        return done

    assert run(scene, threads=1, waiting=2) == ["wanted"] * 3


def test_calls_that_are_alike_and_wait_are_one_task() -> None:
    """Their number is limited; each gets its own outcome, and a caller that has left does not take part."""

    async def scene(room: Room) -> tuple[list[Any], list[list[int]]]:
        leave, tasks = threading.Event(), list[list[int]]()

        def inverse(numbers: list[int]) -> list[Any]:
            tasks.append(numbers)
            return [1 / number if number else ZeroDivisionError() for number in numbers]

        first = asyncio.ensure_future(room.run(lambda: leave.wait(300)))
        calls = [asyncio.ensure_future(room.run_together("even", number, inverse, 3)) for number in (2, 4, 6, 0)]
        calls += [asyncio.ensure_future(room.run_together("odd", number, inverse, 3)) for number in (1, 5)]
        await asyncio.sleep(0)
        calls[1].cancel()
        leave.set()
        await first
        return await asyncio.gather(*calls, return_exceptions=True), tasks

    outcomes, tasks = run(scene, threads=1, waiting=10)
    assert sorted(tasks) == [[0], [1, 5], [2, 6]]
    assert outcomes[:1] + outcomes[2:3] + outcomes[4:] == [1 / 2, 1 / 6, 1, 1 / 5]
    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert isinstance(outcomes[3], ZeroDivisionError)


def test_a_fault_of_common_work_is_everybodys_and_the_room_goes_on() -> None:
    """The fault of a call alone is its own."""

    async def scene(room: Room) -> list[Any]:
        leave = threading.Event()
        first = asyncio.ensure_future(room.run(lambda: leave.wait(300)))
        calls = [asyncio.ensure_future(room.run_together("", number, lambda _: 1 / 0, 3)) for number in range(2)]  # type: ignore[arg-type,return-value]
        await asyncio.sleep(0)
        leave.set()
        await first
        return [*await asyncio.gather(*calls, return_exceptions=True), await room.run(lambda: 7)]

    *faults, answer = run(scene, threads=1, waiting=10)
    assert [type(fault) for fault in faults] == [ZeroDivisionError] * 2
    assert answer == 7


@contextmanager
def full_of_writers(running: RunningServer, count: int) -> Iterator[None]:
    """Make so many writes that wait for the collection's lock, and end when the block does."""
    with Client(running.address) as client, ThreadPoolExecutor(count) as pool:
        rows = client.open("rows")
        with running.collections.use("rows") as collection, collection._opened.folder.writer.hold():
            waiting = [pool.submit(rows.items.update, [ItemUpdate("cat/0", attributes={"n": n})]) for n in range(count)]
            yield
        for one in waiting:
            with suppress(OverloadedError):  # a call of the block took its place
                assert one.result(300).failures == ()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    """A server with few threads, of the collection ``rows``."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0, threads=1, writers=2, waiting=6)) as made:
        yield made


def test_searches_and_health_go_on_while_writers_wait(running: RunningServer) -> None:
    """Any number of writers may wait: searches and health have threads of their own."""
    with full_of_writers(running, 8), Client(running.address, timeout=300) as client:
        (found,) = client.open("rows").search(NEAR)
        assert len(found.hits) == 3
        answer = health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(service=""))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_refusal_tells_programs_when_to_come_again(running: RunningServer) -> None:
    """The refusal is RESOURCE_EXHAUSTED with the standard details, and an error of the client."""
    with full_of_writers(running, 8), Client(running.address, timeout=300) as client:
        _until_refused(running)
        with pytest.raises(OverloadedError) as caught:
            client.open("rows").items.delete(["no-such"])
        with pytest.raises(grpc.RpcError) as refused:
            client.collections.DeleteItems(_delete("rows"))
    assert caught.value.retry_seconds == 1.0
    call: Any = refused.value
    assert call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    (packed,) = [value for key, value in call.trailing_metadata() if key == "grpc-status-details-bin"]
    status = status_pb2.Status.FromString(packed)
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == ("OverloadedError", "crossview")
    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToSeconds() == 1


def _until_refused(running: RunningServer) -> None:
    """Return when every place is taken: the writers arrive in their own time."""
    while True:
        try:
            with Client(running.address, timeout=0.2) as hasty:
                hasty.open("rows").items.delete(["no-such"])
        except OverloadedError:
            return
        except TimeoutError:
            continue


def _delete(name: str) -> Any:
    from crossview.v1 import collections_pb2

    return collections_pb2.DeleteItemsRequest(parent=f"collections/{name}", keys=["no-such"])


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (SearchRequest([Query("color", key="cat/0")], k=100_001), "may ask for 100,000 hits, not 100,001"),
        (SearchRequest([Query("color", key="cat/0")] * 101, k=1000), "not 101,000"),
        (SearchRequest([Query("color", key="cat/0")] * 10_001, k=1), "at most 10,000 queries, not 10,001"),
    ],
)
def test_a_request_of_too_much_is_refused(running: RunningServer, request_: SearchRequest, words: str) -> None:
    """The refusal comes before the answer takes memory; the message states the limit."""
    with Client(running.address) as client, pytest.raises(InvalidInputError, match=words):
        client.open("rows").search(request_)


def test_the_event_loop_answers_no_search_for_many_hits(running: RunningServer) -> None:
    """The scan may take few bytes: all other calls would wait while the hits are made."""
    service = SearchService(running.collections, running.settings)
    near = from_search_request(replace(NEAR, queries=[Query("color", vector=np.zeros(64, np.float32))]))
    near.parent = "collections/rows"
    service.Search(near, None)  # type: ignore[arg-type]
    assert service.searches_in_loop([near]) is not None
    for more in ({"k": 101}, {"k": 51, "targets": ["color"] * 2}, {"k": 26, "queries": list(near.queries) * 4}):
        many = search_pb2.SearchRequest()
        many.CopyFrom(near)
        for name in more:
            many.ClearField(name)  # type: ignore[arg-type]
        many.MergeFrom(search_pb2.SearchRequest(**more))
        assert service.searches_in_loop([many]) is None, more


@pytest.mark.parametrize("in_loop", [False, True], ids=["threads", "loop"])
@pytest.mark.parametrize("streams", [False, True], ids=["calls", "streams"])
def test_searches_that_wait_are_answered_as_one_and_as_if_alone(
    running: RunningServer, monkeypatch: pytest.MonkeyPatch, streams: bool, in_loop: bool
) -> None:
    """Failing ones are, too, each with its own fault, and so are searches of other forms."""
    vectors = np.random.default_rng(1).uniform(0, 9, (12, 64)).astype(np.float32)
    asked = [replace(NEAR, queries=[Query("color", vector=vector)]) for vector in vectors]
    asked += [replace(NEAR, queries=[Query("color", key=f"dog/{number}")]) for number in range(4)]
    asked += [replace(NEAR, k=2), replace(NEAR, filter=Filter(labels=("dog",)))]
    wrong = [replace(NEAR, queries=[one]) for one in (Query("color", key="none"), Query("color", vector=[1.0]))]
    with running.collections.use("rows") as collection:
        alone = [collection.search(one) for one in asked]
    name = "searches_in_loop" if in_loop else "search_together"
    sizes, together, searched = list[int](), getattr(SearchService, name), SearchService.Search

    def counted(self: SearchService, requests: Any) -> Any:
        sizes.append(len(requests))
        return together(self, requests)

    asking, enough = threading.Event(), threading.Event()

    def waits() -> bool:
        """Return whether the first of the searches waits until others wait with it."""
        if in_loop:
            gathered = [len(group.calls) for group in server._dispatcher._gathering._groups.values()]
            come = max(gathered, default=0) > 2
        else:
            come = server._rooms.figures()["searches"].waiting > (2 if streams else 2 * len(asked) // 3)
        if come:
            enough.set()
        return asking.is_set() and not enough.is_set()

    def slow(*given: Any) -> Any:
        until(lambda: not waits())
        return searched(*given)

    class Turns:
        """A number of turns of the event loop that ends as soon as enough searches wait."""

        def __gt__(self, turns: int) -> bool:
            return waits()

    monkeypatch.setattr(SearchService, name, counted)
    if in_loop:
        monkeypatch.setattr("crossview.server.core.dispatch.together._TURNS", Turns())
        monkeypatch.setattr("crossview.server.core.dispatch.together._LONGEST", 300.0)
    else:
        monkeypatch.setattr(SearchService, "Search", slow)
        monkeypatch.setattr("crossview.server.core.services.search_service._IN_LOOP_BYTES", -1)
    settings = replace(running.settings, port=0, waiting=40)
    with RunningServer(settings) as server, Client(server.address, timeout=300) as client:
        rows = client.open("rows")
        for error in (NotFoundError, InvalidInputError):
            with pytest.raises(error):
                rows.search(wrong[error is InvalidInputError])
        asking.set()
        if streams:
            found = list(rows.search_stream(asked))
        else:
            with ThreadPoolExecutor(len(asked) + 2) as pool:
                faults = [pool.submit(rows.search, one) for one in wrong]
                found = list(pool.map(rows.search, asked))
            assert [type(one.exception()) for one in faults] == [NotFoundError, InvalidInputError]
    assert max(sizes) > 1
    for ours, theirs in zip(found, alone, strict=True):
        (here,), (there,) = ours, theirs
        assert [(hit.key, hit.distance) for hit in here.hits] == [(hit.key, hit.distance) for hit in there.hits]


def test_rooms_are_busy_while_a_thread_works(home: Home) -> None:
    async def play() -> None:
        rooms, leave = Rooms(ServerSettings(home=home.path, port=0)), threading.Event()
        assert not rooms.busy()
        call = asyncio.ensure_future(rooms.reads.run(lambda: leave.wait(300)))
        while not rooms.busy():
            await asyncio.sleep(0)
        leave.set()
        await call
        while rooms.busy():  # the thread delivers before it rests
            await asyncio.sleep(0.001)
        rooms.close()

    asyncio.run(asyncio.wait_for(play(), 60))
