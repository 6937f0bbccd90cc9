"""Values that are remembered of a state are computed once, the latest ones stay, and errors do not."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crossview.engine.spaces.version import MOST_VALUES, Remembered


def test_a_value_is_computed_once_however_many_ask():
    """Callers may ask at the same time; a caller of another value does not wait."""
    made, begun, leave, remembered = [], threading.Event(), threading.Event(), Remembered()

    def slow():
        begun.set()
        leave.wait(300)
        made.append(1)
        return "slow"

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(remembered.value, "a", slow) for _ in range(3)]
        begun.wait(300)
        assert remembered.value("b", lambda: "quick") == "quick"
        leave.set()
        assert [one.result() for one in asking] == ["slow"] * 3
    assert made == [1]


def test_an_error_is_not_remembered():
    """The next caller tries again."""
    remembered = Remembered()
    with pytest.raises(ZeroDivisionError):
        remembered.value("a", lambda: 1 / 0)
    assert remembered.value("a", lambda: 7) == 7


def test_the_latest_values_are_kept():
    """Their number is bounded; the value that was used least recently goes first."""
    remembered, made = Remembered(), []
    for number in range(MOST_VALUES + 1):
        remembered.value(0, lambda: made.append(0))
        remembered.value(number, lambda number=number: made.append(number))
    remembered.value(1, lambda: made.append(1))
    assert made == [*range(MOST_VALUES + 1), 1]
