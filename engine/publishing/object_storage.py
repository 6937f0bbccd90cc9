"""Object storage: files below an address such as ``s3://bucket/path``, by fsspec; a plain path is a folder."""

import importlib
import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crossview.engine.values.errors import NotFoundError, NotReadyError, StorageError, lacking

_AT_ONCE = 16
"""Files that are read at the same time: each waits for the network."""


class ObjectStorage:
    """A place in object storage, or a folder.

    Raises NotReadyError if the library of the address is not installed.
    """

    def __init__(self, address: str | Path) -> None:
        self.address: str = str(address).rstrip("/")
        try:
            fsspec = importlib.import_module("fsspec")
            self._files, self._path = fsspec.core.url_to_fs(self.address)
            if self.is_local:
                self.address = self._path  # it means the same in a process with another working folder
        except (ImportError, ValueError) as error:
            needs = "s3:// needs s3fs and gs:// gcsfs, beside fsspec"
            raise lacking(NotReadyError, f"{self.address} cannot be used: {error}; {needs}", "publish") from error

    def __str__(self) -> str:
        return self.address

    def below(self, name: str) -> "ObjectStorage":
        """Return the place of a name below this one."""
        return ObjectStorage(f"{self.address}/{name}")

    def exists(self, name: str) -> bool:
        """Return whether there is a file or folder of this name."""
        with self._reached(name):
            self._files.invalidate_cache()
            return bool(self._files.exists(self._at(name)))

    def read(self, name: str) -> bytes:
        """Return the content of a file; NotFoundError, StorageError."""
        with self._reached(name):
            return bytes(self._files.cat_file(self._at(name)))

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole or not at all; StorageError."""
        with self._reached(name):
            self._make_parent(name)
            if self.is_local:
                part = self._at(f"{name}.{uuid.uuid4().hex}.part")
                self._files.pipe_file(part, content)
                self._files.mv(part, self._at(name))
            else:
                self._files.pipe_file(self._at(name), content)

    def read_each(self, names: Sequence[str]) -> list[bytes | OSError]:
        """Return the contents of files, several read at the same time; the error for one that cannot be read.

        Raises StorageError if the storage does not answer.
        """

        def content(name: str) -> bytes | OSError:
            try:
                return bytes(self._files.cat_file(self._at(name)))
            except (FileNotFoundError, PermissionError) as error:
                return error

        with self._reached(""), ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(content, names))

    def upload(self, name: str, file: Path) -> None:
        """Copy a file of this machine there; StorageError."""
        with self._reached(name):
            self._make_parent(name)
            self._files.put_file(str(file), self._at(name))

    def download(self, name: str, file: Path) -> None:
        """Copy a file to this machine; NotFoundError, StorageError."""
        with self._reached(name):
            self._files.get_file(self._at(name), str(file))

    def names(self, name: str = "") -> list[str]:
        """Return the names of the files and folders in a folder, sorted; [] if there is none."""
        with self._reached(name):
            self._files.invalidate_cache()
            at = self._at(name) if name else self._path
            if not self._files.exists(at):
                return []
            return sorted(str(path).rstrip("/").rpartition("/")[2] for path in self._files.ls(at, detail=False))

    def sizes(self, pattern: str = "") -> dict[str, int]:
        """Return the size of each file below this place by its path, of all files or of those that match a pattern."""
        with self._reached(""):
            self._files.invalidate_cache()
            if pattern:
                files = self._files.glob(self._at(pattern), detail=True)
            else:
                files = self._files.find(self._path, detail=True)
        first = len(self._path.rstrip("/")) + 1
        return {path[first:]: int(facts["size"] or 0) for path, facts in files.items() if facts["type"] == "file"}

    def odd_files(self, name: str) -> list[str]:
        """Return the paths of links, pipes and the like in a folder, and of the folder itself if it is a link.

        Object storage has none.
        """
        if not self.is_local:
            return []
        top = Path(self._at(name))
        odd = (path for path in (top, *top.rglob("*")) if path.is_symlink() or not (path.is_file() or path.is_dir()))
        return sorted(str(path.relative_to(self._path)) for path in odd if os.path.lexists(path))

    def delete(self, name: str) -> None:
        """Delete a file or a folder, if it exists; StorageError."""
        with self._reached(name):
            if self._files.exists(self._at(name)):
                self._files.rm(self._at(name), recursive=True)

    def opened(self, name: str, mode: str = "rb") -> Any:
        """Return a file of Python; NotFoundError, StorageError."""
        with self._reached(name):
            return self._files.open(self._at(name), mode)

    @property
    def name(self) -> str:
        """The name of the last folder."""
        return str(self._path).rstrip("/").rpartition("/")[2]

    def full(self, name: str) -> str:
        """Return the full address of a file: its path if it is on this machine."""
        return self._at(name) if self.is_local else str(self._files.unstrip_protocol(self._at(name)))

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        protocol = self._files.protocol
        return "file" in ((protocol,) if isinstance(protocol, str) else protocol)

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"

    def _make_parent(self, name: str) -> None:
        """Make the folder of a file; object storage needs none, and would make a bucket."""
        if self.is_local:
            self._files.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)

    @contextmanager
    def _reached(self, name: str) -> Iterator[None]:
        """Turn the errors of fsspec and of the libraries below it into ours."""
        try:
            yield
        except FileNotFoundError:
            raise NotFoundError(f"{self.address} has no {name or 'such folder'}") from None
        except Exception as error:
            # Each library of a kind of storage has error classes of its own.
            short = " ".join(str(error).split())[:200] or type(error).__name__
            raise StorageError(f"{self.address} cannot be reached: {short}") from error
