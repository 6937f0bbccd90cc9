"""In which orders the writes of a round can have taken effect, and which answers no such order explains.

The writes of a round are made at once. Each takes effect at one moment between its call's beginning and its end, if at
all; an answer is that of the state at one moment between its own. So an order of the writes explains the answers of a
round if each fits a state, none older than what had been acknowledged or answered before it was asked,
and none newer than what was begun before it ended.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.serve.oracle.questions import Answer, Everything, Maps
from benchmarks.serve.oracle.states import State
from benchmarks.serve.oracle.writes import DONE, UNKNOWN, Write

_TRIED = 200
"""Orders that are tried for the least number of wrong answers, where none explains all."""


@dataclass(frozen=True, eq=False)
class History:
    """One order of writes, and the states that it goes through, from the one before the first."""

    writes: tuple[Write, ...]
    states: tuple[State, ...]

    def then(self, later: "History") -> "History":
        """Return this history and one that begins where it ends."""
        return History(self.writes + later.writes, self.states + later.states[1:])


@dataclass(frozen=True, eq=False)
class Verdict:
    """The order that explains most, the answers that it does not explain, and the state that each other one is of."""

    history: History
    wrong: tuple[Answer, ...]
    of: dict[Answer, State]


def judge(start: State, writes: Sequence[Write], answers: Sequence[Answer], settled: Any, maps: Maps) -> Verdict | None:
    """Return the verdict on the answers of a round, which ended with what ``settled`` shows.

    None if no order of the writes leads there: an acknowledged one is gone, or lies elsewhere.
    """
    fitting: dict[tuple[int, int], bool] = {}

    def judged(history: History) -> Verdict:
        return explained(history, answers, maps, fitting)

    def possible(history: History) -> bool:
        """Return whether the answers that came before the last write began are of states before it."""
        earlier = [answer for answer in answers if answer.ended < history.writes[-1].began]
        return not explained(history, earlier, maps, fitting).wrong

    def leads_there(history: History) -> bool:
        return Everything().fits(settled, history.states[-1], maps)

    for history in filter(leads_there, histories(start, writes, possible)):
        if not (verdict := judged(history)).wrong:
            return verdict
    more = itertools.islice(filter(leads_there, histories(start, writes)), _TRIED)
    return min(map(judged, more), key=lambda verdict: len(verdict.wrong), default=None)


def histories(
    start: State, writes: Sequence[Write], possible: Callable[[History], bool] = lambda _: True
) -> Iterator[History]:
    """Yield every order of the writes that were made, with any of those whose outcome is unknown.

    The likeliest come first; what begins with an order that is not possible is left out.
    """
    done = [write for write in writes if write.outcome == DONE]
    perhaps = [write for write in writes if write.outcome == UNKNOWN]
    states: dict[tuple[Write, ...], State] = {}

    def continued(history: History, rest: Sequence[Write]) -> Iterator[History]:
        if not rest:
            yield history
        for write in rest:
            if any(other.ended < write.began for other in rest):
                continue
            order = (*history.writes, write)
            if order not in states:
                states[order] = write.after(history.states[-1])
            longer = History(order, (*history.states, states[order]))
            if possible(longer):
                yield from continued(longer, [other for other in rest if other is not write])

    for size in range(len(perhaps) + 1):
        for added in itertools.combinations(perhaps, size):
            yield from continued(History((), (start,)), sorted([*done, *added], key=lambda write: write.ended))


def explained(
    history: History, answers: Sequence[Answer], maps: Maps, fitting: dict[tuple[int, int], bool] | None = None
) -> Verdict:
    """Give each answer, in the order of asking, the first state that it can be of.

    ``fitting`` keeps, for other orders of the same writes, which answers fit which states.
    """
    fitting = {} if fitting is None else fitting
    under_way: list[tuple[float, int]] = []  # when the answers ended that have a state, and its place
    floor, wrong, of = 0, [], {}
    for answer in sorted(answers, key=lambda answer: answer.began):
        while under_way and under_way[0][0] < answer.began:
            floor = max(floor, heapq.heappop(under_way)[1])
        first = max([floor, *(place + 1 for place, write in enumerate(history.writes) if write.ended < answer.began)])
        last = min(
            [len(history.writes), *(at for at, write in enumerate(history.writes) if write.began > answer.ended)]
        )
        for place in range(first, last + 1):
            state = history.states[place]
            pair = id(answer), id(state)
            if pair not in fitting:
                fitting[pair] = answer.question.fits(answer.value, state, maps)
            if fitting[pair]:
                heapq.heappush(under_way, (answer.ended, place))
                of[answer] = state
                break
        else:
            wrong.append(answer)
    return Verdict(history, tuple(wrong), of)
