"""Printing what an import did."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from server.commands.saying import say

if TYPE_CHECKING:
    from engine.item import ImportReport

SHOWN = 20
"""Lines of a list that are printed."""


def show_report(report: "ImportReport", name: str) -> None:
    """Prints counts, what was left out and why, and how to delete items whose files are gone."""
    read = report.added + report.updated
    rate = f" ({read / report.seconds:.1f} items/s)" if read and report.seconds > 0 else ""
    say(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{len(report.failures)} could not be used; {report.seconds:.1f} s{rate}"
    )
    if report.skipped:
        say("left out: " + ", ".join(f"{count} {kind}" for kind, count in sorted(report.skipped.items())))
    for note in report.notes:
        say(note)
    _list(f"{failure.key}: {failure.reason}" for failure in report.failures)
    if report.gone:
        say(
            f"files that are gone: {len(report.gone)}; their items stay. "
            f"Delete them with: crossview delete {name} --items KEY..."
        )
        _list(f"{key}" + (f" (now {report.moved[key]})" if key in report.moved else "") for key in report.gone)


def _list(lines: Iterable[str]) -> None:
    lines = list(lines)
    for line in lines[:SHOWN]:
        say(f"  {line}")
    if len(lines) > SHOWN:
        say(f"  and {len(lines) - SHOWN} more; --json lists them all")
