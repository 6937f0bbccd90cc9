"""Progress of long work."""

from typing import Protocol


class Progress(Protocol):
    """What is called as work goes on."""

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Take that ``done`` of ``total`` steps of ``what``, such as "indexing", are done.

        ``note`` is one line on the last step, given only where there is one: a candidate of tuning and its score.
        """
