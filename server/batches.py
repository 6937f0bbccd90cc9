"""Batches for the wire: bounded in bytes and number, never reordered."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from engine.item import ImportReport
from server.limits import BATCH_BYTES, BATCH_ITEMS

_Entry = TypeVar("_Entry")


def batches(
    entries: Iterable[_Entry], size: Callable[[_Entry], int], most: int = BATCH_ITEMS
) -> Iterator[list[_Entry]]:
    """Cuts a stream so that each batch holds at most ``most`` entries and BATCH_BYTES, or a single larger entry."""
    batch: list[_Entry] = []
    held = 0
    for entry in entries:
        weight = size(entry)
        if batch and (held + weight > BATCH_BYTES or len(batch) == most):
            yield batch
            batch, held = [], 0
        batch.append(entry)
        held += weight
    if batch:
        yield batch


def merged(reports: Sequence[ImportReport]) -> ImportReport:
    """One report of several batches."""
    return ImportReport(
        added=sum(report.added for report in reports),
        updated=sum(report.updated for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        failures=tuple(failure for report in reports for failure in report.failures),
        seconds=sum(report.seconds for report in reports),
    )
