"""Snapshot files: one header line of JSON, then arrays, replaced atomically and checked when read."""

import json
import os
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"crossview-index 2\n"
_PIECE = 1 << 20
"""Bytes that are read and checked at a time, while they are in the processor's cache."""
_MOST_HEADER = 1 << 20
"""Bytes of the line of JSON."""
_DIGITS = 8
"""Of a CRC-32 in hexadecimal. It finds accidental damage, four times as fast as a cryptographic checksum."""

AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


class SnapshotError(ValueError):
    """A snapshot that is damaged, truncated, or of another kind of index; it can always be rebuilt."""


class SnapshotReader:
    """The arrays of a snapshot, read one after another into memory that the caller gives."""

    def __init__(self, file: BinaryIO, header: Mapping[str, Any]) -> None:
        self.shape: dict[str, int] = header["shape"]
        self.meta: dict[str, Any] = header["meta"]
        self._file, self._checksum = file, 0

    def fill(self, array: AnyArray) -> AnyArray:
        """Fill a contiguous array with the next bytes, and return it; do not use it before the snapshot is closed."""
        data = array.reshape(-1).view(np.uint8).data
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            if self._file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise SnapshotError("it is too short")
            self._checksum = zlib.crc32(piece, self._checksum)
        return array

    def check(self) -> None:
        """Raise SnapshotError unless everything was read and is as it was written."""
        if self._file.read() != _hexadecimal(self._checksum):
            raise SnapshotError("its checksum does not match")


def write_snapshot(
    path: Path, kind: str, shape: Mapping[str, int], meta: Mapping[str, Any], blocks: Iterable[NDArray[Any]]
) -> None:
    """Write arrays to a file beside ``path`` and rename it into place: a reader sees the old or the new one whole.

    ``shape`` is what the index needs to know to read the arrays back. Raises OSError when the disk is full or
    read-only; the previous snapshot then stays.
    """
    header = json.dumps({"kind": kind, "shape": dict(shape), "meta": dict(meta)}).encode()
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + _hexadecimal(zlib.crc32(header)) + header + b"\n")
            checksum = 0
            for block in blocks:
                data = np.ascontiguousarray(block).reshape(-1).view(np.uint8).data
                checksum = zlib.crc32(data, checksum)
                file.write(data)
            file.write(_hexadecimal(checksum))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextmanager
def read_snapshot(path: Path, kind: str) -> Iterator[SnapshotReader]:
    """Open a snapshot, whose arrays the block reads, all of them; they are checked at its end.

    Raises FileNotFoundError when there is none and SnapshotError when it cannot be trusted.
    """
    with open(path, "rb", buffering=0, opener=_opener) as file:
        try:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SnapshotError("it is a pipe or a device")
            reader = SnapshotReader(file, _header(file, kind))
            yield reader
            reader.check()
        except (ValueError, KeyError, TypeError, MemoryError) as error:  # whatever a header of others may claim
            raise SnapshotError(f"{path} cannot be used: {error}") from error


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _header(file: BinaryIO, kind: str) -> dict[str, Any]:
    if file.readline(len(_MAGIC)) != _MAGIC:
        raise SnapshotError("it is not an index snapshot of this version")
    checksum, line = file.read(_DIGITS), file.readline(_MOST_HEADER).removesuffix(b"\n")
    if _hexadecimal(zlib.crc32(line)) != checksum:
        raise SnapshotError("its header is damaged")
    header: dict[str, Any] = json.loads(line)
    if header["kind"] != kind:
        raise SnapshotError(f"it holds a {header['kind']} index, not {kind}")
    return header


def _hexadecimal(checksum: int) -> bytes:
    return b"%08x" % checksum


def _sync_folder(folder: Path) -> None:
    """Make a renaming last where the power fails."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
