"""Batches of entries, one for each message, with limited bytes and number of entries, in the original order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from crossview.engine.values.item import ImportReport

BATCH_BYTES = 8 * 2**20
"""Maximum size to which a client fills a message; a larger picture has a message of its own."""
BATCH_ITEMS = 64
"""Maximum number of items in a message: each message is one change on disk and one step of the progress."""
_Entry = TypeVar("_Entry")


def batches(
    entries: Iterable[_Entry], size: Callable[[_Entry], int], most: int = BATCH_ITEMS
) -> Iterator[list[_Entry]]:
    """Yield batches of at most ``most`` entries and BATCH_BYTES; a larger entry forms its own batch."""
    batch: list[_Entry] = []
    total = 0
    for entry in entries:
        weight = size(entry)
        if batch and (total + weight > BATCH_BYTES or len(batch) == most):
            yield batch
            batch, total = [], 0
        batch.append(entry)
        total += weight
    if batch:
        yield batch


def merged(reports: Sequence[ImportReport]) -> ImportReport:
    """Return the sum of the reports of several batches."""
    return ImportReport(
        added=sum(report.added for report in reports),
        updated=sum(report.updated for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        failures=tuple(failure for report in reports for failure in report.failures),
        seconds=sum(report.seconds for report in reports),
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
    )
