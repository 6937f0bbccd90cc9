"""Parts of an exported collection: the rows of a table in a file of Parquet, written and read in batches."""

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.private import make_file
from crossview.engine.catalog.transfer.manifest import Part, damaged
from crossview.engine.values.errors import InvalidInputError, NotReadyError, StorageError, lacking
from crossview.features.files import open_regular

_BATCH_BYTES = 1 << 22
"""Bytes of one batch of rows, in memory and as a row group."""
_MOST_ROWS = 10_000
_ROW_BYTES = 32
"""Bytes of a row beside its texts and bytes, roughly."""
ROWS = "rows"
"""The table of the rows of views."""
VECTOR = ("item_id", "revision", "vector")
"""The columns of a file with the rows of a view."""


def pyarrow() -> Any:
    """Return pyarrow; NotReadyError, which names the remedy, without it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise lacking(NotReadyError, "Parquet and Arrow files need pyarrow", "parquet") from error
    return pa


class Layout(NamedTuple):
    """The columns of a part: of a table with declared types, or of the rows of a view."""

    table: str
    kinds: Mapping[str, str]
    """The declared type of each column in SQLite."""
    dim: int = 0
    """The dimension of a view; 0 for another table."""

    def schema(self) -> Any:
        """Return the columns as pyarrow has them."""
        pa = pyarrow()
        if self.dim:
            vector = pa.list_(pa.field("element", pa.float32(), nullable=False), self.dim)
            return pa.schema([("item_id", pa.int64()), ("revision", pa.int64()), ("vector", vector)])
        return pa.schema([(name, _arrow_type(pa, kind)) for name, kind in self.kinds.items()])


def write_part(
    folder: Path, path: str, layout: Layout, rows: Iterable[Sequence[Any]], wrote: Callable[[int], None]
) -> tuple[int, int, str]:
    """Write rows to a file; return their number, the bytes of the file and its SHA-256.

    The file appears as a whole, on the disk. ``wrote`` receives the number of rows of each batch. Raises StorageError.
    """
    pa = pyarrow()
    target, schema, count = folder / path, layout.schema(), 0
    part = target.with_suffix(".part")
    with file_errors():
        part.unlink(missing_ok=True)
        make_file(part)
        try:
            with part.open("wb", buffering=0) as opened:
                file = _HashedFile(opened)
                options = {"compression": "zstd", "compression_level": 1, "write_statistics": False}
                with pa.parquet.ParquetWriter(file, schema, use_dictionary=False, **options) as writer:
                    for batch in _batches(rows, layout.dim):
                        writer.write_batch(_encoded(pa, schema, layout, batch))
                        count += len(batch)
                        wrote(len(batch))
                os.fsync(opened.fileno())
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    return count, file.size, file.digest


def is_whole(folder: Path, part: Part) -> bool:
    """Return whether a file has the bytes that a part states."""
    path = folder / part.path
    try:
        with open_regular(path) as file:
            return path.stat().st_size == part.bytes and _digest(file) == part.sha256
    except OSError:
        return False


def read_part(folder: Path, part: Part, layout: Layout) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a part, after a check of its checksum.

    Raises InvalidInputError for a missing or damaged file.
    """
    pa = pyarrow()
    path = folder / part.path
    try:
        with open_regular(path, follow=False) as opened:
            if opened.seek(0, os.SEEK_END) != part.bytes:
                raise damaged(path, f"it has {opened.tell():,} bytes and not {part.bytes:,}")
            opened.seek(0)
            if _digest(opened) != part.sha256:
                raise damaged(path, "its checksum does not match")
            opened.seek(0)
            yield from _decoded(pa, pa.parquet.ParquetFile(opened), path, part, layout)
    except FileNotFoundError:
        raise InvalidInputError(f"{path} is missing: copy the whole folder of the export again") from None
    except (OSError, ValueError, NotImplementedError, MemoryError) as error:
        if isinstance(error, InvalidInputError | StorageError):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
        raise damaged(path, str(error)) from None


def _decoded(pa: Any, file: Any, path: Path, part: Part, layout: Layout) -> Iterator[tuple[Any, ...]]:
    # A migrated catalog has other columns last than a new one, so only their names and types count.
    schema = layout.schema()
    same = sorted(map(str, file.schema_arrow)) == sorted(map(str, schema))
    if not same or file.metadata.num_rows != part.rows:
        raise damaged(path, f"its columns or rows are not those of {part.rows:,} rows of table {part.table}")
    for batch in file.iter_batches(_MOST_ROWS if not layout.dim else max(1, _BATCH_BYTES // (4 * layout.dim))):
        columns = [_values(pa, batch.column(name), layout.dim) for name in schema.names]
        if layout.dim:
            ids, revisions, vectors = columns
            yield from zip([part.view_id] * len(ids), ids, revisions, vectors, strict=True)
        else:
            yield from zip(*columns, strict=True)


def _values(pa: Any, column: Any, dim: int) -> list[Any]:
    """Return the values of a column as SQLite has them."""
    if pa.types.is_fixed_size_list(column.type):
        if column.null_count or column.flatten().null_count:
            raise ValueError("a vector is missing")
        data, width = np.ascontiguousarray(column.flatten().to_numpy()).tobytes(), 4 * dim
        return [data[start : start + width] for start in range(0, len(data), width)]
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return list(column.to_pylist())


def _batches(rows: Iterable[Sequence[Any]], dim: int) -> Iterator[list[Sequence[Any]]]:
    """Yield rows in lists of roughly ``_BATCH_BYTES``."""
    batch: list[Sequence[Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += 4 * dim or _ROW_BYTES + sum([len(value) for value in row if type(value) in (bytes, str)])
        if size >= _BATCH_BYTES or len(batch) >= _MOST_ROWS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encoded(pa: Any, schema: Any, layout: Layout, batch: Sequence[Sequence[Any]]) -> Any:
    columns = list(zip(*batch, strict=True))
    if not layout.dim:
        arrays = [
            pa.array(map(bool, column) if field.type == pa.bool_() else column, field.type)
            for field, column in zip(schema, columns, strict=True)
        ]
        return pa.record_batch(arrays, schema=schema)
    ids, revisions, data = columns
    values = b"".join(data)
    if any(len(row) != 4 * layout.dim for row in data):
        raise StorageError(
            f"a row of a view does not have {layout.dim} values: the catalog is damaged: "
            "restore the collection from a copy"
        )
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.frombuffer(values, np.float32)), type=schema.field(2).type)
    return pa.record_batch([pa.array(ids, pa.int64()), pa.array(revisions, pa.int64()), vectors], schema=schema)


def _arrow_type(pa: Any, kind: str) -> Any:
    return {
        "INTEGER": pa.int64(),
        "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(),
        "FLOAT": pa.float64(),
        "BLOB": pa.binary(),
    }.get(kind, pa.string())


class _HashedFile(io.RawIOBase):
    """A file for writing that counts and hashes its bytes."""

    def __init__(self, file: Any) -> None:
        self._file, self._hash = file, hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        """Return that the file takes bytes."""
        return True

    def write(self, data: Any) -> int:
        """Write all bytes."""
        view = memoryview(data)
        self._hash.update(view)
        self.size += view.nbytes
        rest = view
        while rest.nbytes:
            rest = rest[self._file.write(rest) :]
        return view.nbytes

    @property
    def digest(self) -> str:
        """The SHA-256 of all bytes, hexadecimal."""
        return self._hash.hexdigest()


def _digest(file: Any) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()
