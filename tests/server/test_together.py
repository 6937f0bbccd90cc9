"""Similar calls that the event loop reads one after another share a search; a lone caller has its own."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.dispatch.call import Caller, Immediate, Served, Together
from crossview.server.core.dispatch.dispatcher import Dispatcher, RefusedError
from crossview.server.core.dispatch.rooms import Rooms
from crossview.server.core.dispatch.streams import END
from crossview.server.wire.methods import METHODS
from crossview.server.wire.settings import ServerSettings
from crossview.server.wire.status import Code
from crossview.v1 import search_pb2 as pb

SEARCH = METHODS["/crossview.v1.SearchService/Search"]
MOST = 4


@pytest.fixture(autouse=True)
def turns_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the turns of the event loop end a gathering: on a busy machine, the seconds can be over before them."""
    monkeypatch.setattr("crossview.server.core.dispatch.together._LONGEST", 300.0)


@dataclass
class Service:
    """Answers each search with its ``k`` as a hit, and notes the number answered at once, and the thread."""

    in_loop: bool = True
    sizes: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def response(self, request: pb.SearchRequest) -> pb.SearchResponse:
        if request.k == 13:
            raise InvalidInputError("no search has 13 hits")
        return pb.SearchResponse(results=[pb.HitList(total=request.k)])

    def immediately(self, requests: list[pb.SearchRequest]) -> list[pb.SearchResponse] | None:
        found = [self.response(request) for request in requests]
        if self.in_loop:
            self.sizes.append(len(requests))
        return found if self.in_loop else None

    def in_thread(self, requests: Sequence[pb.SearchRequest]) -> list[pb.SearchResponse]:
        self.threads.append(len(requests))
        return [self.response(request) for request in requests]

    def served(self) -> Served:
        immediate = Immediate(lambda _: True, self.immediately)
        together = Together(lambda one: one.space, self.in_thread, MOST)
        return Served(SEARCH, lambda one, _: self.in_thread([one])[0], immediate=immediate, together=together)


def play(service: Service, scene: Callable[[Callable[..., Any]], Any]) -> Any:
    """Return the result of a scene, which gets a function that makes a call, and returns the ``k`` of the answer."""

    async def played() -> Any:
        settings = ServerSettings(port=0)
        rooms = Rooms(settings)
        dispatcher = Dispatcher(rooms, settings, ())
        dispatcher.served = {SEARCH.path: service.served()}

        async def call(k: int, space: str = "") -> int:
            messages = iter([pb.SearchRequest(k=k, space=space).SerializeToString()])

            async def read() -> Any:
                return next(messages, END)

            found = await dispatcher.answer(SEARCH, read, Caller())
            return int(pb.SearchResponse.FromString(found).results[0].total)

        try:
            return await asyncio.wait_for(scene(call), 300)
        finally:
            rooms.close()

    return asyncio.run(played())


def test_calls_that_come_together_share_a_search() -> None:
    """Each gets its own answer; those of another space have a search of their own, and a search has a maximum."""
    service = Service()

    async def scene(call: Callable[..., Any]) -> Any:
        return await asyncio.gather(*(call(number, "ab"[number % 2]) for number in range(1, 11)))

    assert play(service, scene) == list(range(1, 11))
    assert sorted(service.sizes) == [1, 1, 4, 4]


def test_calls_that_come_some_turns_later_share_it_too() -> None:
    service = Service()

    async def scene(call: Callable[..., Any]) -> Any:
        calls = []
        for number in (1, 2, 3):
            calls.append(asyncio.ensure_future(call(number)))
            for _ in range(5):
                await asyncio.sleep(0)
        return await asyncio.gather(*calls)

    assert play(service, scene) == [1, 2, 3]
    assert service.sizes == [3]


def test_a_lone_caller_seldom_waits_for_others() -> None:
    """Its calls are answered at once, in the turn that reads them, except fewer and fewer of them."""
    service, turns = Service(), list[int]()

    async def scene(call: Callable[..., Any]) -> None:
        for _ in range(40):
            answered = asyncio.ensure_future(call(1))
            turns.append(0)
            while not answered.done():
                turns[-1] += 1
                await asyncio.sleep(0)

    play(service, scene)
    assert service.sizes == [1] * 40
    assert sum(count > min(turns) for count in turns) <= 6


def test_calls_do_not_wait_for_ever_for_others() -> None:
    """Later calls do not delay the search of the first, even if it may have many."""
    service = Service()

    async def scene(call: Callable[..., Any]) -> list[int]:
        first, later = asyncio.ensure_future(call(1)), list[Any]()
        while not first.done():
            later.append(asyncio.ensure_future(call(2)))
            for _ in range(8):
                await asyncio.sleep(0)
        return [len(later), *await asyncio.gather(*later)]

    count, *others = play(service, scene)
    assert others == [2] * count
    assert service.sizes[0] <= MOST + 1


def test_only_the_call_with_the_error_fails() -> None:
    service = Service()

    async def scene(call: Callable[..., Any]) -> Any:
        return await asyncio.gather(*map(call, (1, 13, 2)), return_exceptions=True)

    one, failed, two = play(service, scene)
    assert (one, two) == (1, 2)
    assert isinstance(failed, RefusedError)
    assert failed.refusal.code is Code.INVALID_ARGUMENT


def test_a_caller_who_leaves_takes_no_other_along() -> None:
    service = Service()

    async def scene(call: Callable[..., Any]) -> Any:
        calls = [asyncio.ensure_future(call(number)) for number in (1, 2, 3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        calls[1].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    one, left, three = play(service, scene)
    assert (one, three) == (1, 3)
    assert isinstance(left, asyncio.CancelledError)
    assert service.sizes == [2]


@pytest.mark.parametrize("count", [1, 3])
def test_calls_that_need_a_thread_get_one(count: int) -> None:
    service = Service(in_loop=False)

    async def scene(call: Callable[..., Any]) -> Any:
        return await asyncio.gather(*map(call, range(1, count + 1)))

    assert play(service, scene) == list(range(1, count + 1))
    assert service.sizes == []
    assert sum(service.threads) == count


class Published(Service):
    """Answers no search in the event loop, which must not wait for an engine."""

    def served(self) -> Served:
        return replace(super().served(), immediate=None)


def test_a_service_without_immediate_answers_gathers_nothing() -> None:
    service = Published()

    async def scene(call: Callable[..., Any]) -> Any:
        return await asyncio.gather(*map(call, (1, 2, 3)))

    assert play(service, scene) == [1, 2, 3]
    assert service.sizes == []
    assert sum(service.threads) == 3
