"""Annotating items from files, as index and label do."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.item import ImportReport
    from server.backend import CollectionBackend


class AnnotationFiles:
    """Labels and captions, each from a CSV file or None. A bad one is InvalidInputError before anything is written."""

    def __init__(self, labels: Path | str | None, captions: Path | str | None) -> None:
        from engine.ingest.annotation_file import AnnotationFile

        self._files = [(path, cell) for path, cell in ((labels, "label"), (captions, "caption")) if path is not None]
        for path, cell in self._files:
            AnnotationFile(path, cell)

    def write(self, collection: "CollectionBackend", replace_labels: bool = False) -> "list[ImportReport]":
        """Gives a collection's items what the files say of them; one report for each file."""
        return [
            collection.annotate(path, cell, replace_labels=replace_labels and cell == "label")
            for path, cell in self._files
        ]
