"""The division of pictures into partitions, kept beside their rows so that every later call has the same partitions."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, NamedTuple

from crossview.engine.catalog.transfer.parts import pyarrow
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.spreading.picture_list import PictureFile
from crossview.engine.publishing.spreading.row_file import read_table
from crossview.engine.values.errors import InvalidInputError

PLAN = "plan.parquet"
_FACTS = b"crossview.pictures"


class Partition(NamedTuple):
    """Pictures whose rows are one file."""

    number: int
    files: Sequence[PictureFile]


@dataclass(frozen=True)
class RowFacts:
    """The properties that the rows of all partitions share."""

    base: str
    """The address that the names of the pictures begin at."""
    labels: str
    """The rule of the labels; "" without labels."""
    fits: Mapping[str, str]
    """For each view a hash of what its rows depend on besides the pictures."""


def divided(storage: ObjectStorage, facts: RowFacts, files: Sequence[PictureFile], size: int) -> list[Partition]:
    """Return the partitions of a folder of rows, after adding files that it does not know as further partitions.

    A file keeps its partition, also if it is gone now; a file that changed is not read again.

    Raises InvalidInputError if the folder has the rows of other pictures, labels or views, StorageError.
    """
    partitions = _read(storage, facts) if storage.exists(PLAN) else []
    names = {file.name for partition in partitions for file in partition.files}
    new = [file for file in files if file.name not in names]
    first = len(partitions)
    added = [Partition(first + at // size, new[at : at + size]) for at in range(0, len(new), size)]
    if added or not partitions:
        _write(storage, facts, [*partitions, *added])
    return [*partitions, *added]


def _read(storage: ObjectStorage, facts: RowFacts) -> list[Partition]:
    table = read_table(storage, PLAN)
    stored: dict[str, Any] = json.loads(table.schema.metadata[_FACTS])
    for name, value in asdict(facts).items():
        if stored[name] != value:
            what = {"base": "pictures below", "labels": "labels by", "fits": "views with the fits"}[name]
            raise InvalidInputError(
                f"{storage} has rows of {what} {stored[name] or 'none'}, not {value or 'none'}: choose another folder"
            )
    files = zip(table["partition"].to_pylist(), *(table[name].to_pylist() for name in PictureFile._fields), strict=True)
    return [
        Partition(number, [PictureFile(*rest) for _, *rest in some])
        for number, some in groupby(files, key=lambda row: int(row[0]))
    ]


def _write(storage: ObjectStorage, facts: RowFacts, partitions: Sequence[Partition]) -> None:
    pa = pyarrow()
    rows = [(partition.number, *file) for partition in partitions for file in partition.files]
    kinds = (pa.int32(), pa.string(), pa.int64(), pa.string())
    columns = zip(("partition", *PictureFile._fields), kinds, zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(values, kind) for name, kind, values in columns})
    written = io.BytesIO()
    described = {_FACTS: json.dumps(asdict(facts), ensure_ascii=False)}
    pa.parquet.write_table(table.replace_schema_metadata(described), written, compression="zstd")
    storage.write(PLAN, written.getvalue())
