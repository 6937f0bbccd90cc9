"""Limits of each key: requests a second, bytes in progress, and turns in the rooms."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import Query
from crossview.server.client.client import Client
from crossview.server.core.dispatch import quotas
from crossview.server.core.dispatch.call import Call, Caller, Served
from crossview.server.core.dispatch.quotas import Budget, Quotas
from crossview.server.core.dispatch.rooms import FairQueue, Room
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.identity import Identity
from crossview.server.wire.methods import METHODS
from crossview.server.wire.settings import ServerSettings

METHOD = METHODS["/crossview.v1.SearchService/Search"]


def call(name: str) -> Call:
    return Call(Served(METHOD, None), Caller(identity=Identity(name)), lambda: False, 1)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(quotas, "time", made)
    return made


def test_a_key_sends_its_rate_after_a_burst_and_others_are_free(clock: Clock) -> None:
    """The rate is ten requests a second: twenty at once, then one every tenth of a second; the advice is exact."""
    limit = Quotas(ServerSettings(key_rate=10.0))
    for _ in range(20):
        limit.begin(call("a"))
    with pytest.raises(OverloadedError, match="key 'a' may send 10 requests a second") as caught:
        limit.begin(call("a"))
    assert caught.value.retry_seconds == pytest.approx(0.1)
    limit.begin(call("b"))
    clock.now += caught.value.retry_seconds + 1e-9
    limit.begin(call("a"))
    with pytest.raises(OverloadedError):
        limit.begin(call("a"))
    clock.now += 3_600
    for _ in range(20):
        limit.begin(call("a"))
    with pytest.raises(OverloadedError):
        limit.begin(call("a"))
    assert limit.refused == 3


def test_a_slow_rate_still_lets_one_request_through(clock: Clock) -> None:
    limit = Quotas(ServerSettings(key_rate=0.1))
    limit.begin(call(""))
    with pytest.raises(OverloadedError, match=r"a caller without a key may send 0\.1 requests") as caught:
        limit.begin(call(""))
    assert caught.value.retry_seconds == pytest.approx(10.0)


def test_many_keys_take_no_more_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "_MOST_KEYS", 10)
    limit = Quotas(ServerSettings(key_rate=1.0))
    for number in range(1_000):
        limit.begin(call(str(number)))
    assert len(limit._left) == 10


def test_the_bytes_of_a_key_are_limited_and_freed() -> None:
    """One request of any size passes; a second one waits for the first to end."""
    budget = Budget(ServerSettings(key_bytes=100, flight_bytes=1_000))
    with budget.held(150, "a"), budget.held(90, "b"):
        with pytest.raises(OverloadedError, match="requests of the key 'a' in progress"), budget.held(1, "a"):
            pass
        with budget.held(10, "b"):
            assert budget.used == 250
        with pytest.raises(OverloadedError, match="the requests in progress take"), budget.held(900, "c"):
            pass
    with budget.held(100, "a"):
        assert (budget.used, budget.refused) == (100, 1)
    assert (budget.used, dict(budget._used_by)) == (0, {})


def test_a_queue_goes_round_its_lines() -> None:
    queue: FairQueue[str] = FairQueue()
    for value in ("a1", "a2", "a3", "a4", "b1", "c1", "c2"):
        queue.put(value[0], value)
    assert [queue.take() for _ in range(7)] == ["a1", "b1", "c1", "a2", "c2", "a3", "a4"]
    assert not queue


def play(scene: Callable[[Room], Awaitable[Any]], waiting: int, patience: float = 600.0) -> Any:
    async def played() -> Any:
        room = Room("tests", 1, waiting, 0.5, patience)
        try:
            return await asyncio.wait_for(scene(room), 300)
        finally:
            room.close()

    return asyncio.run(played())


async def begun(room: Room, leave: threading.Event) -> asyncio.Task[Any]:
    """Begin a call that holds the only thread of a room until an event."""
    started = threading.Event()

    def hold() -> None:
        started.set()
        leave.wait(300)

    first = asyncio.create_task(room.run(hold, "greedy"))
    await asyncio.to_thread(started.wait, 300)
    return first


@pytest.mark.parametrize("together", [False, True])
def test_a_key_with_many_waiting_calls_does_not_hold_up_another(together: bool) -> None:
    """The single call of another key is answered second, not last; also if similar calls are answered together."""

    async def scene(room: Room) -> list[str]:
        leave, order = threading.Event(), list[str]()

        def ask(name: str) -> Any:
            if together:
                return room.run_together("alike", name, lambda given: [order.append(one) for one in given], 2, name)
            return room.run(lambda: order.append(name), name)

        tasks = [await begun(room, leave), *(asyncio.create_task(ask("greedy")) for _ in range(8))]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(ask("modest")))
        await asyncio.sleep(0)
        leave.set()
        await asyncio.gather(*tasks)
        return order

    assert "modest" in play(scene, 20)[:5]


def test_a_full_room_gives_a_place_of_the_longest_line_to_another_key() -> None:
    """The latest call of that line is refused; a key never displaces its own calls."""

    async def scene(room: Room) -> None:
        leave = threading.Event()
        first = await begun(room, leave)
        greedy = [asyncio.create_task(room.run(lambda: "greedy", "greedy")) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await room.run(lambda: "greedy", "greedy")
        modest = asyncio.create_task(room.run(lambda: "modest", "modest"))
        await asyncio.sleep(0)
        assert room.figures().waiting == 4
        with pytest.raises(OverloadedError):
            await greedy[-1]
        leave.set()
        assert await modest == "modest"
        assert await asyncio.gather(*greedy[:-1]) == ["greedy"] * 3
        await first
        assert (room._taken, room._lines) == (0, {})
        assert room.figures().refused == 2

    play(scene, 4)


def test_the_expected_wait_counts_turns() -> None:
    """A room that would make one key wait too long accepts the call of another key."""

    async def scene(room: Room) -> None:
        room._seconds = 1.0
        leave = threading.Event()
        first = await begun(room, leave)
        waiting = [asyncio.create_task(room.run(lambda: None, "greedy")) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await room.run(lambda: None, "greedy")
        modest = asyncio.create_task(room.run(lambda: "modest", "modest"))
        await asyncio.sleep(0)
        leave.set()
        assert await modest == "modest"
        await asyncio.gather(first, *waiting, return_exceptions=True)

    play(scene, 100, patience=4.5)


def test_the_vectors_of_one_request_are_limited(home: Any) -> None:
    """They are, as the hits are, before the answer is made."""
    settings = ServerSettings(home=home.path, port=0, answer_bytes=1_000)
    with RunningServer(settings) as running, Client(running.address) as client:
        drawn = client.open("drawn")
        query = Query("color", vector=[1.0] * 64)
        assert len(drawn.embed([query], space="raw")) == 1
        with pytest.raises(InvalidInputError, match=r"one answer may contain 0\.0 MB"):
            drawn.embed([query] * 10, space="raw")


def test_a_server_limits_the_rate_of_callers(home: Any) -> None:
    """The refusal has the status and the advice that clients know."""
    settings = ServerSettings(home=home.path, port=0, key_rate=0.01)
    with RunningServer(settings) as running, Client(running.address) as client:
        client.names()
        with pytest.raises(OverloadedError, match=r"may send 0\.01 requests a second") as caught:
            client.names()
        assert 0 < caught.value.retry_seconds <= 100
