"""Cancellation and progress: long work checks whether its result is still wanted, and reports how far it is.

The check and the report travel in context variables, so that no function between the caller and a loop has to pass them
on. Threads that the work starts have a context of their own: check where their results are awaited.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

Check = Callable[[], None]
"""Raises an error where the work is no longer wanted. No ValueError: that is how learners refuse their input."""

Report = Callable[[int, int], None]
"""Takes how many steps of a fit are done, and of how many."""

_check: ContextVar[Check | None] = ContextVar("check", default=None)
_report: ContextVar[Report | None] = ContextVar("report", default=None)


@contextmanager
def _during(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def cancellable(check: Check) -> AbstractContextManager[None]:
    """Lets every ``checkpoint`` of the block call the check."""
    return _during(_check, check)


def checkpoint() -> None:
    """Raises what the check of the surrounding ``cancellable`` raises; does nothing outside one.

    It takes about a microsecond: call it in every step of a loop whose steps take much longer.
    """
    check = _check.get()
    if check is not None:
        check()


def uncancellable() -> AbstractContextManager[None]:
    """Lets no ``checkpoint`` of the block raise: for what follows a commit, which cannot be taken back."""
    return cancellable(lambda: None)


def reporting(report: Report) -> AbstractContextManager[None]:
    """Lets every ``report_progress`` of the block call the report."""
    return _during(_report, report)


def report_progress(done: int, total: int) -> None:
    """Reports how many steps of a fit are done, and of how many, to the surrounding ``reporting``, if there is one."""
    report = _report.get()
    if report is not None:
        report(done, total)
