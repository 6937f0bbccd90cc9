"""Cancellation and progress: long work asks now and then whether somebody still waits, and reports how far it is.

The check and the report travel in context variables, so that no function between the caller and a loop has to pass them
on. Threads that the work starts have a context of their own: check where their results are awaited.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Check = Callable[[], None]
"""Raises an error where the work is no longer wanted. No ValueError: that is how learners refuse their input."""

Report = Callable[[int, int], None]
"""Takes how many steps of a fit are done, and of how many."""

_check: ContextVar[Check | None] = ContextVar("check", default=None)
_report: ContextVar[Report | None] = ContextVar("report", default=None)


@contextmanager
def cancellable(check: Check) -> Iterator[None]:
    """Lets every ``checkpoint`` of the block call the check."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


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


@contextmanager
def reporting(report: Report) -> Iterator[None]:
    """Lets every ``report_progress`` of the block call the report."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def report_progress(done: int, total: int) -> None:
    """Reports how many steps of a fit are done, and of how many, to the surrounding ``reporting``, if there is one."""
    report = _report.get()
    if report is not None:
        report(done, total)
