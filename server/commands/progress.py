"""The bar that shows how far long work is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.progress import Progress


@contextmanager
def progress_bar(wanted: bool = True, unit: str = "") -> Iterator["Progress | None"]:
    """A bar on stderr with units per second, where a unit is named, and the time left; nothing without a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("looking", total=None, rate="")

        def advance(what: str, done: int, total: int) -> None:
            if bar.tasks[task].description != what:
                bar.reset(task, description=what)
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.1f} {unit}/s" if speed and unit else "")

        yield advance
