"""Annotating items from a file: any items of a collection, here or on a server, with or without pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from engine.catalog.keys import normal
from engine.errors import InvalidInputError
from engine.ingest.annotations import AnnotationFile, annotation_update
from engine.item import Failure, ImportReport, Item, ItemUpdate

_PAGE = 1_000


class Annotatable(Protocol):
    """A collection, here or on a server."""

    def items(self, *, after: str = "", limit: int = 100) -> list[Item]:
        """Items in order of key, those after ``after``."""

    def update_items(self, updates: Sequence[ItemUpdate], match_paths: bool = False) -> ImportReport:
        """Changes items that are there."""


def annotate(
    collection: Annotatable, path: Path | str, cell: str = "label", replace_labels: bool = False
) -> ImportReport:
    """Give the items of a collection what a CSV file says of them; see ``Collection.annotate``."""
    file = AnnotationFile(path, cell)
    updates = [annotation_update(name, one) for name, one in file.items()]
    if replace_labels:
        updates += [ItemUpdate(key, labels=()) for key in _unnamed(collection, file)]
    report = collection.update_items(updates, match_paths=True)
    if len(file) and len(report.failures) == len(file) and not report.updated:
        first = report.failures[0]
        raise InvalidInputError(f"{path} names no item; it begins with {first.key!r}: {first.reason}")
    return replace(report, failures=tuple(_with_line(one, file) for one in report.failures))


def _with_line(failure: Failure, file: AnnotationFile) -> Failure:
    annotation = file.of([failure.key])
    line = f"{file.path}, line {annotation.line}: " if annotation else ""
    return Failure(failure.key, f"{line}{failure.reason}")


def _unnamed(collection: Annotatable, file: AnnotationFile) -> Iterator[str]:
    """Yield the keys of labelled items that a file gives no labels."""
    after = ""
    while page := collection.items(after=after, limit=_PAGE):
        for item in page:
            names = {normal(name) for name in (item.key, item.key.partition("/")[2], item.source) if name}
            annotation = file.of(sorted(names))
            if item.labels and (annotation is None or annotation.labels is None):
                yield item.key
        after = page[-1].key
