"""Walking folders for files to index."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InvalidInputError

SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".tif", ".tiff", ".bmp", ".gif"})
"""Names that promise a picture. A named file is always taken, whatever its suffix."""


@dataclass(frozen=True)
class SourceFile:
    """One file to index."""

    root: Path
    """The folder that was named, absolute."""
    relative: str
    """Path below the root, with forward slashes; bytes that are no UTF-8 are written out as ``\\xff``."""
    path: Path
    size: int
    modified_ns: int


def walk(paths: Iterable[Path | str]) -> Iterator[SourceFile]:
    """Yield the picture files of folders, in the order of their paths, and every file that is named itself.

    Hidden files and folders are left out, links to folders are not followed, and a file is yielded once a root.
    A file that vanishes meanwhile is yielded with size -1, so that reading it reports why.

    Raises InvalidInputError for a path that does not exist, before anything is yielded.
    """
    roots = [Path(os.path.abspath(Path(path).expanduser())) for path in paths]
    for root in roots:
        if not root.exists():
            raise InvalidInputError(f"there is no file or folder {root}")
    return _walk(dict.fromkeys(roots))


def _walk(roots: Iterable[Path]) -> Iterator[SourceFile]:
    for root in roots:
        if not root.is_dir():
            yield _source(root.parent, root)
            continue
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                    yield _source(root, Path(folder) / name)


def _source(root: Path, path: Path) -> SourceFile:
    try:
        found = path.stat()
        size, modified = found.st_size, found.st_mtime_ns
    except OSError:
        size, modified = -1, 0
    return SourceFile(root, readable(path.relative_to(root)), path, size, modified)


def readable(path: Path) -> str:
    """Return a path as text that can be stored and printed, whatever bytes its name has."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")
