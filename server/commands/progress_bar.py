"""The display of the progress of long work: a bar and notes on stderr."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crossview.server.commands.output import say

if TYPE_CHECKING:
    from crossview.engine.runtime.progress import Progress


class Notes:
    """A progress function that prints notes on stderr, one per line, with an estimate of the remaining time."""

    def __init__(self) -> None:
        self._what = ""
        self._began = 0.0

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Print the note, unless it is empty."""
        if what != self._what:
            self._what, self._began = what, time.monotonic()
        if note:
            seconds = (time.monotonic() - self._began) * (total - done) / max(done, 1)
            say(numbered(what, done, total, note) + (f"; about {duration(seconds)} left" if seconds else ""), err=True)


def numbered(what: str, done: int, total: int, note: str) -> str:
    """Return the line of a note; without steps, it has no number."""
    return f"{what} {done} of {total}: {note}" if total else f"{what}: {note}"


def duration(seconds: float) -> str:
    """Return a length of time in hours, minutes or seconds."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextmanager
def progress_bar(visible: bool = True, unit: str = "") -> Iterator["Progress | None"]:
    """Yield a function that shows progress on stderr: always as notes, and on a terminal also as a bar.

    Yields None unless ``visible``. With a ``unit``, such as images, the bar shows the rate per second.
    """
    if not visible:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console, notes = Console(stderr=True), Notes()
    if not console.is_terminal:
        yield notes
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None, rate="")

        def advance(what: str, done: int, total: int, note: str = "") -> None:
            notes(what, done, total, note)
            if bar.tasks[task].description != what:
                bar.reset(task, description=what)
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.1f} {unit}/s" if speed and unit else "")

        yield advance
