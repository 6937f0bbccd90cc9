"""Labels of files: from the names of their folders, or from a CSV."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from engine.table import names_of, read_table
from engine.walk import SourceFile, readable

Labeller = Callable[[SourceFile], tuple[str, ...] | None]
"""Returns a file's labels, or None to leave those that its item has."""


def labeller(source: str | Path | None) -> Labeller:
    """Return the labeller for ``folder`` (the folder that a file lies in), a CSV file, or None (labels stay).

    Raises InvalidInputError if the CSV cannot be used.
    """
    if source is None:
        return lambda file: None
    if str(source) == "folder":
        return _folder
    return _from_csv(Path(source))


def _folder(file: SourceFile) -> tuple[str, ...]:
    parent = file.path.parent
    return () if parent == file.root else (readable(Path(parent.name)),)


def _from_csv(path: Path) -> Labeller:
    """Read lines of ``path,label[,label...]``: a file on several lines has all their labels, on none it has none."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, name, cells in read_table(path, "labels", "label"):
        found[name].update(cell for cell in cells if cell)

    def labels(file: SourceFile) -> tuple[str, ...]:
        return tuple(sorted(set().union(*(found.get(name, ()) for name in names_of(file)))))

    return labels
