"""The printed report of an import."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from crossview.server.commands.command import again
from crossview.server.commands.hints import completed, hint
from crossview.server.commands.output import say

if TYPE_CHECKING:
    from crossview.engine.item import ImportReport

SHOWN = 20
"""Maximum number of printed lines of a list."""


def since(began: float, report: "ImportReport") -> "ImportReport":
    """Return a report with the duration of the command since ``began``, a time of the monotonic clock."""
    return replace(report, seconds=time.monotonic() - began)


def show_report(report: "ImportReport", name: str) -> None:
    """Print the counts, the failures with their reasons, and the commands for deleted items and missing files."""
    read = report.added + report.updated
    rate = f" ({read / report.seconds:.1f} items/s)" if read and report.seconds > 0 else ""
    say(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{len(report.failures)} could not be used; {report.seconds:.1f} s{rate}"
    )
    if report.skipped:
        say("left out: " + ", ".join(f"{count} {kind}" for kind, count in sorted(report.skipped.items())))
    for note in report.notes:
        say(completed(note))
    _list(f"{failure.key}: {completed(failure.reason)}" for failure in report.failures)
    if report.deleted:
        say(
            f"files whose items were deleted: {len(report.deleted)}; they stay out. "
            f"Index them with: {again('--include-deleted')}"
        )
        _list(report.deleted)
    if report.gone:
        some = f"the first {SHOWN}" if len(report.gone) > SHOWN else "these items"
        delete = hint("item delete", name, "--", *report.gone[:SHOWN])
        say(f"files that are gone: {len(report.gone)}; their items stay. Delete {some} with: {delete}")
        _list(f"{key}" + (f" (now {report.moved[key]})" if key in report.moved else "") for key in report.gone)


def _list(lines: Iterable[str]) -> None:
    lines = list(lines)
    for line in lines[:SHOWN]:
        say(f"  {line}")
    if len(lines) > SHOWN:
        say(f"  and {len(lines) - SHOWN} more; --json lists them all")
