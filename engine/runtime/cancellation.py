"""Cancellation and progress: long work checks whether it is cancelled, and reports its progress.

Context variables carry the check and the report, so that the functions between the caller and a loop need not pass
them on. Threads that the work starts have their own context: check where the work waits for their results.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

Check = Callable[[], None]
"""A function that raises an error if the work is cancelled, but not a ValueError, with which learners refuse input."""

Report = Callable[[int, int], None]
"""A function of the number of steps done and of all steps."""

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
    """Let every ``checkpoint`` of the block call the check."""
    return _during(_check, check)


def checkpoint() -> None:
    """Call the check of the surrounding ``cancellable``, which may raise; do nothing outside such a block.

    It takes about a microsecond: call it in every step of a loop whose steps take much longer.
    """
    check = _check.get()
    if check is not None:
        check()


def uncancellable() -> AbstractContextManager[None]:
    """Let no ``checkpoint`` of the block raise: for what follows a commit, which cannot be taken back."""
    return cancellable(lambda: None)


def reporting(report: Report) -> AbstractContextManager[None]:
    """Let every ``report_progress`` of the block call the report."""
    return _during(_report, report)


def report_progress(done: int, total: int) -> None:
    """Report the number of steps done and of all steps to the surrounding ``reporting``, if there is one."""
    report = _report.get()
    if report is not None:
        report(done, total)
