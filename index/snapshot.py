"""Snapshot files of indexes: a layout that can be mapped into memory, replaced atomically and checked when read.

64 bytes     magic, version, CRC-32 and length of the table, zeros behind them
the table    JSON: kind, shape and meta of the index, and the type, shape, offset and CRC-32 of each array
the arrays   each begins at a multiple of 64 bytes, as FAISS and the processor's vector instructions prefer
"""

import json
import math
import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MAGIC, _VERSION = b"crossview-index\0", 3
_EARLIER_MAGIC = b"crossview-index "
"""First bytes of the files of versions 1 and 2, which wrote a line of text."""
_HEADER = struct.Struct("<16sIIQ")
_ALIGNMENT = 64
_MOST_TABLE = 1 << 24
"""Maximum size of the table: a damaged length must not fill the memory."""
_PIECE = 1 << 20
"""Bytes to read and check at a time, which fit into the processor's cache."""
_MAPPED = 1 << 20
"""Size from which on files are mapped. Smaller ones are read: a mapping has a cost, and there are few per process."""


class SnapshotError(ValueError):
    """A snapshot that is damaged, truncated, or of another kind of index; the index can always be built again."""


class EarlierSnapshotError(SnapshotError):
    """A snapshot in the layout of an earlier version; it is not damaged."""


@dataclass(frozen=True)
class Column:
    """An array to write: its type and shape, and its content in blocks, so that it need not be in memory as a whole."""

    dtype: DTypeLike
    shape: tuple[int, ...]
    blocks: Iterable[NDArray[Any]]


@dataclass(frozen=True)
class Snapshot:
    """The content of a snapshot file."""

    shape: Mapping[str, int]
    meta: dict[str, Any]
    _table: Mapping[str, Any]
    _data: NDArray[np.uint8]
    """The bytes of the whole file, mapped or read. The arrays are views of these bytes and keep them alive."""

    def array(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return an array, which must not be written to; SnapshotError unless it has this type and shape."""
        entry, expected = self._table[name], np.dtype(dtype)
        if (entry["dtype"], tuple(entry["shape"])) != (expected.str, shape):
            raise SnapshotError(f"array {name!r} has another type or shape than the index")
        start = entry["offset"]
        return self._data[start : start + _size(expected, shape)].view(expected).reshape(shape)

    def bytes_of(self, name: str) -> NDArray[np.uint8] | None:
        """Return the bytes of an array of any shape, which must not be written to; None without such an array."""
        entry = self._table.get(name)
        if entry is None:
            return None
        return self._data[entry["offset"] : entry["offset"] + _size(np.dtype(entry["dtype"]), entry["shape"])]


def write_snapshot(
    path: Path, kind: str, shape: Mapping[str, int], meta: Mapping[str, Any], columns: Mapping[str, Column]
) -> None:
    """Write arrays to a file beside ``path`` and rename it into place: a reader sees the old or the new file, whole.

    ``shape`` contains the numbers that the index needs to read the arrays. Raises OSError when the disk is full or
    read-only; the previous snapshot then stays.
    """
    table: dict[str, Any] = {"kind": kind, "shape": dict(shape), "meta": dict(meta), "arrays": {}}
    for name, column in columns.items():
        dtype = np.dtype(column.dtype)
        table["arrays"][name] = {"dtype": dtype.str, "shape": column.shape, "offset": 0, "crc": 0}
    # The table precedes the arrays, whose checksums are known last: leave room for the largest numbers.
    offset = _aligned(_ALIGNMENT + len(json.dumps(table)) + 40 * len(columns))
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for name, column in columns.items():
                file.seek(offset)
                table["arrays"][name] |= {"offset": offset, "crc": _write_blocks(file, column.blocks)}
                file.truncate()  # an empty array writes nothing, but the file must reach its offset
                offset = _aligned(file.tell())
            encoded = json.dumps(table).encode()
            file.seek(0)
            file.write(_HEADER.pack(_MAGIC, _VERSION, zlib.crc32(encoded), len(encoded)).ljust(_ALIGNMENT, b"\0"))
            file.write(encoded)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextmanager
def read_snapshot(path: Path, kind: str) -> Iterator[Snapshot]:
    """Provide the content of a snapshot after a check of every array, for a block that creates an index from the
    content.

    Large files are mapped, not read into memory. A mapped file that is deleted or replaced stays whole for the process.

    Raises FileNotFoundError when there is no file, SnapshotError when the block cannot use its content.
    """
    with open(path, "rb", buffering=0, opener=_opener) as file:
        try:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SnapshotError("it is a pipe or a device")
            table = _read_table(file, kind)
            for name, entry in table["arrays"].items():
                _check_array(file, name, entry, status.st_size)
            yield Snapshot(table["shape"], table["meta"], table["arrays"], _content(file, status.st_size))
        except EarlierSnapshotError:
            raise
        # A file may contain anything, so its content may cause any of these.
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
            raise SnapshotError(f"{path} cannot be used: {error}") from error


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe without a writer would keep the reader waiting


def _write_blocks(file: BinaryIO, blocks: Iterable[NDArray[Any]]) -> int:
    """Write blocks one after another, and return their checksum."""
    # CRC-32 finds accidental damage, four times as fast as a cryptographic checksum.
    checksum = 0
    for block in blocks:
        data = np.ascontiguousarray(block).reshape(-1).view(np.uint8).data
        checksum = zlib.crc32(data, checksum)
        file.write(data)
    return checksum


def _read_table(file: BinaryIO, kind: str) -> dict[str, Any]:
    header = file.read(_ALIGNMENT)
    if header.startswith(_EARLIER_MAGIC):
        raise EarlierSnapshotError("it is a snapshot of an earlier version")
    if len(header) < _ALIGNMENT:
        raise SnapshotError("it is too short")
    magic, version, checksum, length = _HEADER.unpack_from(header)
    if (magic, version) != (_MAGIC, _VERSION):
        raise SnapshotError("it is not an index snapshot of this version")
    encoded = file.read(min(length, _MOST_TABLE))
    if zlib.crc32(encoded) != checksum or any(header[_HEADER.size :]):
        raise SnapshotError("its header is damaged")
    table: dict[str, Any] = json.loads(encoded)
    if table["kind"] != kind:
        raise SnapshotError(f"it holds a {table['kind']} index, not {kind}")
    return table


def _check_array(file: BinaryIO, name: str, entry: Mapping[str, Any], file_size: int) -> None:
    """Raise SnapshotError unless an array is within the file and matches its checksum."""
    start, size = entry["offset"], _size(np.dtype(entry["dtype"]), entry["shape"])
    if start % _ALIGNMENT or start < 0 or size < 0 or start + size > file_size:
        raise SnapshotError("it is too short")
    # Reading leaves the pages in the cache of the system; checking the mapping would make them memory of this process.
    file.seek(start)
    buffer, checksum = memoryview(bytearray(min(_PIECE, size))), 0
    while size:
        piece = buffer[: min(_PIECE, size)]
        if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
            raise SnapshotError("it is too short")
        checksum, size = zlib.crc32(piece, checksum), size - len(piece)
    if checksum != entry["crc"]:
        raise SnapshotError(f"the checksum of array {name!r} does not match")


def _content(file: BinaryIO, size: int) -> NDArray[np.uint8]:
    """Return the bytes of a file, which cannot be written to: mapped, or in memory if the file is small.

    Also in memory if the file system cannot map files.
    """
    if size >= _MAPPED:
        with suppress(OSError):
            return np.asarray(np.memmap(file, np.uint8, "r"))  # slices of a memmap itself are slow to make
    file.seek(0)
    data = np.fromfile(file, np.uint8, size)
    if len(data) < size:
        raise SnapshotError("it is too short")
    data.setflags(write=False)
    return data


def _size(dtype: np.dtype[Any], shape: Iterable[int]) -> int:
    return math.prod(shape) * dtype.itemsize


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _sync_folder(folder: Path) -> None:
    """Make a renaming durable in case of a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
