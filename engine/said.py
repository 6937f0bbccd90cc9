"""What is said of files beside them: their labels and captions."""

from collections.abc import Sequence
from pathlib import Path

from engine.captions import Captions
from engine.errors import InvalidInputError
from engine.item import Failure
from engine.label import check_labels
from engine.labels import labeller
from engine.walk import SourceFile


class Said:
    """Labels (``folder``, a CSV or None) and captions (a CSV or None) of files; InvalidInputError for a bad CSV."""

    def __init__(self, labels: str | Path | None, captions: str | Path | None) -> None:
        self._labels = labels
        self._label = labeller(labels)
        self.captions = Captions(captions)

    def labels(self, file: SourceFile) -> tuple[str, ...] | None:
        """Return a file's labels; None leaves those that its item has. InvalidInputError for what is no label."""
        found = self._label(file)
        try:
            return found if found is None else check_labels(found)
        except InvalidInputError as error:
            raise InvalidInputError(f"{self._labels}: {error} ({file.relative})") from error

    def text(self, file: SourceFile) -> str | None:
        """Return a file's caption; None leaves the text that its item has."""
        return self.captions.of(file)

    def unused(self, files: Sequence[SourceFile]) -> list[Failure]:
        """Return what is said of none of the files; InvalidInputError where a table speaks of none at all."""
        if self._labels is not None and str(self._labels) != "folder" and files and not any(map(self._label, files)):
            raise InvalidInputError(f"{self._labels} names none of {len(files)} files found; paths are below the root")
        for file in files:  # before any of them is read
            self.labels(file)
        return self.captions.unused(files)
