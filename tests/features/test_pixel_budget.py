"""Pictures that are decoded at once have together no more pixels than the budget, and get their turn in order."""

import threading
import time
from contextlib import ExitStack

import pytest

from crossview.features.pixel_budget import NotWantedError, PixelBudget

PATIENCE = 300.0


class Waiting:
    """A thread that takes some of a budget, and holds it until the test lets it go."""

    def __init__(self, budget: PixelBudget, pixels: int) -> None:
        self.has, self.lets_go, self.wanted = threading.Event(), threading.Event(), True
        self.gave_up = threading.Event()
        self._thread = threading.Thread(target=self._take, args=(budget, pixels))
        queued = len(budget._waiting)
        self._thread.start()
        until = time.monotonic() + PATIENCE
        while len(budget._waiting) <= queued and not self.has.is_set() and time.monotonic() < until:
            time.sleep(0.001)

    def _take(self, budget: PixelBudget, pixels: int) -> None:
        try:
            with budget.held(pixels, lambda: self.wanted):
                self.has.set()
                self.lets_go.wait(PATIENCE)
        except NotWantedError:
            self.gave_up.set()

    def done(self) -> None:
        self.lets_go.set()
        self._thread.join(PATIENCE)


def test_what_is_held_at_once_never_exceeds_the_budget():
    """Sixteen threads want a fifth of the budget each, and at most five of them have theirs at once."""
    budget, inside, most = PixelBudget(100), [0], [0]

    def take() -> None:
        for _ in range(20):
            with budget.held(20, lambda: True):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] <= 5


def test_a_small_one_does_not_overtake_a_large_one_that_waits():
    """Otherwise large pictures would wait for ever on a busy server."""
    budget = PixelBudget(100)
    with budget.held(60, lambda: True):
        large, small = Waiting(budget, 80), Waiting(budget, 10)
        assert not large.has.wait(0.2)
        assert not small.has.is_set()
    assert large.has.wait(PATIENCE)
    assert small.has.wait(PATIENCE)
    large.done()
    small.done()


def test_who_leaves_makes_room_for_those_behind():
    """They need not wait for pixels that no caller wants any more."""
    budget = PixelBudget(100)
    with budget.held(60, lambda: True):
        large, small = Waiting(budget, 80), Waiting(budget, 10)
        large.wanted = False
        assert large.gave_up.wait(PATIENCE)
        assert small.has.wait(PATIENCE)
        small.done()
    large.done()


def test_one_above_the_budget_has_it_alone():
    """It is not refused: the limit of one picture is another one."""
    budget = PixelBudget(100)
    with ExitStack() as alone:
        alone.enter_context(budget.held(500, lambda: True))
        with pytest.raises(NotWantedError), budget.held(1, lambda: False):
            pass
    with budget.held(1, lambda: False):
        pass
