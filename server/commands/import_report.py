"""The printed report of an import."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from crossview.server.commands.command import again
from crossview.server.commands.hints import completed, hint
from crossview.server.commands.output import say

if TYPE_CHECKING:
    from crossview.engine.values.item import ImportReport

SHOWN = 20
"""Maximum number of printed lines of a list."""


def since(began: float, report: "ImportReport") -> "ImportReport":
    """Return a report with the duration of the command since ``began``, a time of the monotonic clock."""
    return replace(report, seconds=time.monotonic() - began)


def show_report(
    report: "ImportReport", name: str, dry_run: bool = False, skipped: bool = False, pruning: bool = False
) -> None:
    """Print the counts, the failures with their reasons, and what to do about deleted items and missing files."""
    read = report.added + report.updated
    rate = f" ({read / report.seconds:.1f} items/s)" if read and report.seconds > 0 and not dry_run else ""
    moved = f"{len(report.moved)} moved, " if report.moved else ""
    say(
        f"{'would be: ' if dry_run else ''}{report.added} added, {report.updated} updated, {moved}"
        f"{report.unchanged} unchanged, {len(report.failures)} could not be used; {report.seconds:.1f} s{rate}"
    )
    if report.skipped:
        say("left out: " + ", ".join(f"{count} {kind}" for kind, count in sorted(report.skipped.items())))
    for note in report.notes:
        say(completed(note))
    _list(f"{failure.key}: {completed(failure.reason)}" for failure in report.failures)
    if report.moved:
        say("items that followed their files:")
        _list(_places(report.moved))
    if report.copies:
        left_out = f"left out; index them with: {again('--include-deleted')}"
        what = left_out if skipped else f"see all with: {hint('duplicates', name)}"
        say(f"new pictures that are copies: {len(report.copies)}; {what}")
        _list(f"{key} is a copy of {first}" for key, first in report.copies.items())
    if report.deleted:
        say(
            f"files whose items were deleted: {len(report.deleted)}; they stay out. "
            f"Index them with: {again('--include-deleted')}"
        )
        _list(report.deleted)
    if report.missing:
        # A run that was to delete them says itself why it did not, and what does.
        stay = "their items would be deleted" if dry_run else "their items stay"
        if not pruning:
            stay = f"their items stay, and searches leave them out. Delete the items with: {again('--prune')}"
        say(f"files that are missing: {len(report.missing)}; {stay}")
        _list(report.missing)
    if report.pruned:
        say(f"deleted {len(report.pruned)} items, whose files are missing:")
        _list(report.pruned)


def _list(lines: Iterable[str]) -> None:
    lines = list(lines)
    for line in lines[:SHOWN]:
        say(f"  {line}")
    if len(lines) > SHOWN:
        say(f"  and {len(lines) - SHOWN} more; --json lists them all")


def _places(moved: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each moved file, or for each moved folder with several."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for former, new in moved.items():
        old_parts, new_parts = former.split("/"), new.split("/")
        while len(old_parts) > 1 and len(new_parts) > 1 and old_parts[-1] == new_parts[-1]:
            old_parts.pop()
            new_parts.pop()
        groups.setdefault(("/".join(old_parts), "/".join(new_parts)), []).append((former, new))
    for (old_folder, new_folder), pairs in groups.items():
        if len(pairs) == 1:
            yield f"{pairs[0][0]} -> {pairs[0][1]}"
        else:
            yield f"{old_folder}/ -> {new_folder}/ ({len(pairs)} items)"
