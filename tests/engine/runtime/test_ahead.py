"""Values that a thread makes while the caller works with the last one are those of the iterator, in order."""

import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.runtime.ahead import ahead
from crossview.engine.runtime.cancellation import cancellable, checkpoint


@given(st.lists(st.integers() | st.none()))
def test_every_value_comes_once_and_in_order(values):
    assert list(ahead(values)) == values
    assert list(ahead(iter(values))) == values


def test_the_next_value_is_made_during_the_work_with_the_last_and_no_later_one():
    """Memory therefore holds two values; the thread sees the caller's context variables."""
    variable: ContextVar[str] = ContextVar("variable", default="")
    variable.set("seen")
    made = [threading.Event() for _ in range(4)]

    def values() -> Iterator[tuple[int, str]]:
        for number, event in enumerate(made):
            event.set()
            yield number, variable.get()

    for number, seen in ahead(values()):
        assert seen == "seen"
        assert number == 3 or made[number + 1].wait(300)
        assert not any(event.is_set() for event in made[number + 2 :])


def test_an_error_or_a_cancellation_is_raised_after_the_values_before_it():
    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(ahead(1 // value for value in (1, -1, 0, 1)))
    assert found == [1, -1]

    def stop() -> None:
        raise InterruptedError

    with cancellable(stop), pytest.raises(InterruptedError):
        next(ahead(checkpoint() for _ in range(2)))


def test_a_caller_that_stops_leaves_no_thread():
    before = threading.active_count()
    for _ in ahead(range(10)):
        break
    assert threading.active_count() == before
