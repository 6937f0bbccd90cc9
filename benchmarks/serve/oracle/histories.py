"""In which orders the writes of a round can have taken effect, and which answers no such order explains.

The writes of a round are made at once. Each takes effect at one moment between its call's beginning and its end, if at
all; an answer is that of the state at one moment between its own. So an order of the writes explains the answers of a
round if each can be given a state of it, none older than what had been acknowledged or answered before it was asked,
and none newer than what was begun before it ended.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.serve.oracle.questions import Answer, Everything, Maps
from benchmarks.serve.oracle.states import State
from benchmarks.serve.oracle.writes import DONE, UNKNOWN, Write


@dataclass(frozen=True, eq=False)
class History:
    """One order of writes, and the states that it goes through, from the one before the first."""

    writes: tuple[Write, ...]
    states: tuple[State, ...]

    def then(self, later: "History") -> "History":
        """Returns this history and one that begins where it ends."""
        return History(self.writes + later.writes, self.states + later.states[1:])


@dataclass(frozen=True, eq=False)
class Verdict:
    """The order that explains most, the answers that it does not explain, and the state that each other one is of."""

    history: History
    wrong: tuple[Answer, ...]
    of: dict[Answer, State]


def histories(start: State, writes: Sequence[Write]) -> Iterator[History]:
    """Yields every order of the writes that were made, with any of those whose outcome is unknown."""
    made = [one for one in writes if one.outcome == DONE]
    perhaps = [one for one in writes if one.outcome == UNKNOWN]
    states: dict[tuple[Write, ...], State] = {(): start}
    for size in range(len(perhaps) + 1):
        for chosen in itertools.combinations(perhaps, size):
            for order in _orders((), (*made, *chosen)):
                prefixes = [order[:end] for end in range(len(order) + 1)]
                for before, after in itertools.pairwise(prefixes):
                    if after not in states:
                        states[after] = after[-1].after(states[before])
                yield History(order, tuple(states[one] for one in prefixes))


def _orders(placed: tuple[Write, ...], left: tuple[Write, ...]) -> Iterator[tuple[Write, ...]]:
    """Yields the orders that begin so in which none comes before one that had ended when it began."""
    if not left:
        yield placed
    for one in left:
        if all(one.began <= other.ended for other in left):
            yield from _orders((*placed, one), tuple(other for other in left if other is not one))


def judge(start: State, writes: Sequence[Write], answers: Sequence[Answer], settled: Any, maps: Maps) -> Verdict | None:
    """Returns the verdict on the answers of a round, which ended with what ``settled`` shows.

    None where no order of the writes leads there: an acknowledged one is gone, or lies elsewhere.
    """
    ordered = sorted(answers, key=lambda one: one.began)
    known: dict[tuple[int, int], bool] = {}
    best: Verdict | None = None
    for history in histories(start, writes):
        if not Everything().fits(settled, history.states[-1], maps):
            continue
        found = explained(history, ordered, maps, known)
        if best is None or len(found.wrong) < len(best.wrong):
            best = found
        if not best.wrong:
            break
    return best


def explained(
    history: History, answers: Sequence[Answer], maps: Maps, known: dict[tuple[int, int], bool] | None = None
) -> Verdict:
    """Gives each answer, in the order of asking, the first state that it can be of.

    ``known`` keeps, for other orders of the same writes, which answers fit which states.
    """
    known = {} if known is None else known
    under_way: list[tuple[float, int]] = []  # when the answers ended that have a state, and its place
    floor, wrong, of = 0, [], {}
    for answer in answers:
        while under_way and under_way[0][0] < answer.began:
            floor = max(floor, heapq.heappop(under_way)[1])
        first = max([floor, *(place + 1 for place, one in enumerate(history.writes) if one.ended < answer.began)])
        last = min([len(history.writes), *(at for at, one in enumerate(history.writes) if one.began > answer.ended)])
        for place in range(first, last + 1):
            state = history.states[place]
            pair = id(answer), id(state)
            if pair not in known:
                known[pair] = answer.question.fits(answer.value, state, maps)
            if known[pair]:
                heapq.heappush(under_way, (answer.ended, place))
                of[answer] = state
                break
        else:
            wrong.append(answer)
    return Verdict(history, tuple(wrong), of)
