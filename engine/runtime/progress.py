"""Progress of long work."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from crossview.engine.runtime.cancellation import reporting


class Progress(Protocol):
    """A callback that long work calls after its steps."""

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Show that ``done`` of ``total`` steps of ``what``, such as "indexing", are done.

        ``note`` is one line about the last step, such as a candidate of tuning and its score, or empty.
        A note before the first step, such as an estimate of the time, comes with a ``total`` of 0.
        """


def reporting_as(what: str, progress: Progress | None) -> AbstractContextManager[None]:
    """Let every ``report_progress`` of the block call the callback, if there is one, with the name of the work."""
    return nullcontext() if progress is None else reporting(lambda done, total: progress(what, done, total))
