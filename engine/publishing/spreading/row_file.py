"""Files of rows: the pictures of a partition with their rows in each view, and the bad ones with the reasons."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.transfer.parts import pyarrow
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.values.item import Failure
from crossview.features.base import FeatureRows

FIT = b"crossview.fit"
"""The metadata of the column of a view: a hash of what its rows depend on besides the pictures."""
_PART = re.compile(r"part-\d{5,}\.parquet")


class PictureRow(NamedTuple):
    """A picture as a row of a file."""

    key: str
    source: str
    """The full address of the picture."""
    width: int
    height: int
    content_hash: str
    label: str
    """"" without a label."""
    rows: Mapping[str, FeatureRows]
    """By view, each (d,); a picture may lack a view."""


class ViewColumn(NamedTuple):
    """The column of a view."""

    dim: int
    fit: str
    """See ``FIT``."""


def part_name(number: int) -> str:
    """Return the name of the file with the rows of a partition."""
    return f"part-{number:05}.parquet"


def bad_name(number: int) -> str:
    """Return the name of the file with the bad pictures of a partition."""
    return f"bad-{number:05}.parquet"


def is_part(name: str) -> bool:
    """Return whether a file has the rows of a partition, by its name."""
    return bool(_PART.fullmatch(name))


def write_rows(
    storage: ObjectStorage, number: int, views: Mapping[str, ViewColumn], rows: Sequence[PictureRow]
) -> None:
    """Write the rows of a partition, as a whole or not at all."""
    pa = pyarrow()
    texts = {name: [getattr(row, name) for row in rows] for name in ("key", "source", "content_hash")}
    columns = {
        "key": pa.array(texts["key"], pa.string()),
        "source": pa.array(texts["source"], pa.string()),
        "width": pa.array([row.width for row in rows], pa.int32()),
        "height": pa.array([row.height for row in rows], pa.int32()),
        "content_hash": pa.array(texts["content_hash"], pa.string()),
        "label": pa.array([row.label or None for row in rows], pa.string()),
    }
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    for view, (dim, fit) in views.items():
        columns[view] = _vectors(pa, [row.rows.get(view) for row in rows], dim)
        fields.append(pa.field(view, columns[view].type, metadata={FIT: fit}))
    _write(storage, part_name(number), pa.table(list(columns.values()), schema=pa.schema(fields)))


def write_bad(storage: ObjectStorage, number: int, failures: Sequence[Failure]) -> None:
    """Write the bad pictures of a partition; without any, there is no file."""
    if not failures:
        storage.delete(bad_name(number))
        return
    pa = pyarrow()
    columns = {"key": [failure.key for failure in failures], "reason": [failure.reason for failure in failures]}
    _write(storage, bad_name(number), pa.table(columns))


def read_bad(storage: ObjectStorage, number: int) -> tuple[Failure, ...]:
    """Return the bad pictures of a partition."""
    if not storage.exists(bad_name(number)):
        return ()
    table = read_table(storage, bad_name(number))
    return tuple(Failure(*pair) for pair in zip(table["key"].to_pylist(), table["reason"].to_pylist(), strict=True))


def read_table(storage: ObjectStorage, name: str, columns: Sequence[str] | None = None) -> Any:
    """Return the table of a Parquet file, or some of its columns; NotFoundError, StorageError."""
    pa = pyarrow()
    if columns is None:
        return _table(pa.BufferReader(storage.read(name)))
    with storage.opened(name) as file:
        return _table(file, list(columns))


def _table(file: Any, columns: Sequence[str] | None = None) -> Any:
    """Return the table of an open file.

    ``read_table`` leaves threads that hold the file for a moment: at the end of the program, they abort it.
    """
    with pyarrow().parquet.ParquetFile(file, pre_buffer=False) as opened:
        return opened.read(columns, use_threads=False)


def count_rows(storage: ObjectStorage, name: str) -> int:
    """Return the number of rows of a Parquet file, from its end."""
    with storage.opened(name) as file:
        return int(pyarrow().parquet.read_metadata(file).num_rows)


def read_schema(storage: ObjectStorage, name: str) -> Any:
    """Return the columns of a Parquet file."""
    with storage.opened(name) as file:
        return pyarrow().parquet.read_schema(file)


def _vectors(pa: Any, rows: Sequence[FeatureRows | None], dim: int) -> Any:
    """Return rows as a column of lists of one length; a missing row is null."""
    values: NDArray[np.float32] = np.zeros((len(rows), dim), np.float32)
    missing = np.array([row is None for row in rows], bool)
    for place, row in enumerate(rows):
        if row is not None:
            values[place] = row
    mask = pa.array(missing) if missing.any() else None
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), dim, mask=mask)


def _write(storage: ObjectStorage, name: str, table: Any) -> None:
    pa = pyarrow()
    written = pa.BufferOutputStream()
    pa.parquet.write_table(
        table, written, compression="zstd", use_dictionary=["label"] if "label" in table.column_names else False
    )
    storage.write(name, written.getvalue().to_pybytes())
