"""Contents of files: whether a file has changed, and which files are equal."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from crossview.engine.catalog.ingest.walk import SourceFile
from crossview.engine.values.item import DeletedPicture, Stored, content_hash
from crossview.features.errors import ImageError
from crossview.features.pictures import read_file

UNKNOWN_SIZE = -1
"""The size of a stored file whose size and time are unknown; only its content is known then."""


class Contents:
    """The hashes of files on this machine, each read once."""

    def __init__(self) -> None:
        self._known: dict[Path, str] = {}
        self._shared: set[tuple[int, int]] = set()

    def distrust(self, shared: Iterable[tuple[int, int]]) -> None:
        """Let only the content identify files of these sizes and times, because several files have them."""
        self._shared.update(shared)

    def identify(self, size: int, modified_ns: int) -> bool:
        """Return whether a size and a time are those of one file only."""
        return (size, modified_ns) not in self._shared

    def of(self, file: SourceFile) -> str:
        """Return the hash of a file; "" if it cannot be read."""
        if file.path not in self._known:
            try:
                self._known[file.path] = content_hash(read_file(file.path))
            except (OSError, ImageError):
                self._known[file.path] = ""
        return self._known[file.path]

    def is_unchanged(self, file: SourceFile, then: Stored | DeletedPicture) -> bool:
        """Return whether a file is unchanged: by size and time or, if these do not tell, by its content."""
        if then.size != UNKNOWN_SIZE:
            if file.size != then.size:
                return False
            if file.modified_ns == then.modified_ns and self.identify(file.size, file.modified_ns):
                return True
        return self.of(file) == then.content_hash != ""

    def equal(self, files: Mapping[str, SourceFile], stored: Mapping[str, Stored]) -> dict[str, str]:
        """Return the files, by key, with the content of a known item or of an earlier file, and the key of that.

        Only files of equal size are read.
        """
        counts = Counter(file.size for file in files.values())
        sizes = {item.size for item in stored.values()} | {size for size, count in counts.items() if count > 1}
        first = {item.content_hash: key for key, item in reversed(list(stored.items())) if item.content_hash}
        equal_keys = {}
        for key, file in files.items():
            content = self.of(file) if file.size > 0 and file.size in sizes else ""
            if content and (same := first.setdefault(content, key)) != key:
                equal_keys[key] = same
        return equal_keys
