"""Similar calls that one search answers: those that wait for a thread, and those that the event loop answers itself."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from google.protobuf.message import Message

from crossview.engine.runtime.cancellation import cancellable
from crossview.features.stages import Recording, listening, stage
from crossview.server.core.dispatch.call import Call
from crossview.server.wire.identity import acting

Asked = tuple[Call, Message]
"""A call and its decoded request."""
_TURNS = 16
"""Turns of the event loop without a further call after which a search for those that came begins. A turn without work
takes a few microseconds, and gRPC needs several to hand over a call that waits."""
_LONGEST = 0.005
"""Seconds after which it begins in any case."""
_MOST_AT_ONCE = 15
"""Maximum number of calls that are answered at once after a call for which no other came: 1 after the first such call,
3 after the second, 7, 15. So a lone caller waits for others at few of its calls."""


@dataclass(eq=False)
class _Group:
    """Similar calls that wait for one search, with the futures of their outcomes."""

    until: float
    """When the search begins at the latest, by the clock of the event loop."""
    calls: list[tuple[Asked, asyncio.Future[Any]]] = field(default_factory=list)
    turns: int = 0
    """Turns of the event loop since the last call came."""


class Gathering:
    """The calls that the event loop answers itself, gathered as long as similar ones come: one search for many takes
    less time than many."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}
        self._alone = 0
        """Number of calls to answer at once after the last group; 0 if it had several calls."""
        self._at_once = 0
        """Number of the next calls to answer at once."""

    async def encoded(self, alike: Hashable, call: Call, request: Message) -> Any:
        """Return the encoded response to a call, or None if the call needs a thread; raise the errors of the call."""
        loop, group = asyncio.get_running_loop(), self._groups.get(alike)
        if group is None:
            if self._at_once:
                self._at_once -= 1
                return answered_alone(call, request)
            group = self._groups[alike] = _Group(loop.time() + _LONGEST)
            loop.call_soon(self._turn, alike)
        outcome = loop.create_future()
        group.calls.append(((call, request), outcome))
        group.turns = 0
        return await outcome

    def _turn(self, alike: Hashable) -> None:
        """Answer the calls of a group unless it waits for others."""
        loop, group = asyncio.get_running_loop(), self._groups[alike]
        group.turns += 1
        together = group.calls[0][0][0].served.together
        most = 1 if together is None else together.most
        if len(group.calls) < most and group.turns < _TURNS and loop.time() < group.until:
            loop.call_soon(self._turn, alike)
            return
        del self._groups[alike]
        self._alone = min(2 * self._alone + 1, _MOST_AT_ONCE) if len(group.calls) == 1 else 0
        self._at_once = self._alone
        waiting = [call for call in group.calls if not call[1].done()]  # the callers of the others have left
        for start in range(0, len(waiting), most):
            part = waiting[start : start + most]
            for (_, future), outcome in zip(part, _in_loop([call for call, _ in part]), strict=True):
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)


def _in_loop(calls: list[Asked]) -> list[Any]:
    """Return the encoded response to each of several similar calls, its error, or None if it needs a thread."""
    immediate = calls[0][0].served.immediate
    if immediate is not None and len(calls) > 1 and not calls[0][0].stopping():
        for call, _ in calls:
            call.wait()
        with suppress(Exception):
            responses = _shared(calls, immediate.answers)
            return [None] * len(calls) if responses is None else responses
    return [_outcome(partial(answered_alone, call, request)) for call, request in calls]


def answered_alone(call: Call, request: Message) -> Any:
    """Return the encoded response to a call from the event loop, or None if the call needs a thread."""
    response = call.immediate(request)
    return None if response is None else call.encode(response)


def _answered(call: Call, request: Message) -> Any:
    return call.encode(call.answered(request))


def answered_together(calls: list[Asked]) -> list[Any]:
    """Return the encoded response to each of several similar calls, or its error, in a thread."""
    together = calls[0][0].served.together
    if together is not None and len(calls) > 1:
        # If one request makes the common search fail, answer each call alone below, so that only that call fails.
        for call, _ in calls:
            call.work()
        first = calls[0][0].caller.identity  # equal to the others in what conditions may ask
        with suppress(Exception), cancellable(lambda: _check_all(calls)), acting(first):
            responses = _shared(calls, together.answers)
            if responses is not None:
                return responses
    calls[0][0].together = 1
    return [_outcome(partial(_answered, call, request)) for call, request in calls]


def _shared(calls: list[Asked], answers: Callable[[list[Any]], Sequence[Message] | None]) -> list[Any] | None:
    """Return the encoded responses to calls that one search answers; None if it does not answer."""
    listens = [call.recording for call, _ in calls if call.recording is not None]
    common = Recording() if listens else None
    with listening(common), stage("work", calls=len(calls)):
        responses = answers([request for _, request in calls])
    if responses is None:
        return None
    for call, _ in calls:
        call.rest()
    for recording in listens:
        recording.share(common or recording)
    calls[0][0].together = len(calls)
    return [call.encode(response) for (call, _), response in zip(calls, responses, strict=True)]


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the awaiting call raises it
        return error


def _check_all(calls: list[Asked]) -> None:
    """Raise an error if the callers of all calls have left or the server stops."""
    if all(call.left or call.stopping() for call, _ in calls):
        calls[0][0].check()
