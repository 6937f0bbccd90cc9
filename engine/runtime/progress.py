"""Progress of long work."""

from typing import Protocol


class Progress(Protocol):
    """A callback that long work calls after its steps."""

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Show that ``done`` of ``total`` steps of ``what``, such as "indexing", are done.

        ``note`` is one line about the last step, such as a candidate of tuning and its score, or empty.
        A note before the first step, such as an estimate of the time, comes with a ``total`` of 0.
        """
