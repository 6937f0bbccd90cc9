"""A folder of rows in object storage: files of Parquet with the same columns, of ours or of another program."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.spreading.division import PLAN
from crossview.engine.publishing.spreading.row_file import count_rows, read_schema, read_table
from crossview.engine.values.errors import NotFoundError

_AT_ONCE = 16
"""Files whose ends are read at the same time."""


class RowsFolder:
    """The files of a folder, sorted by name; NotFoundError if there are none."""

    def __init__(self, address: str) -> None:
        self.storage: ObjectStorage = ObjectStorage(address)
        self.names: list[str] = [name for name in self.storage.names() if _has_rows(name)]
        if not self.names:
            raise NotFoundError(f"{self.storage} has no Parquet files with rows: extract pictures into it first")

    @cached_property
    def counts(self) -> list[int]:
        """The number of rows of each file."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda name: count_rows(self.storage, name), self.names))

    @cached_property
    def schema(self) -> Any:
        """The columns, by the first file."""
        return read_schema(self.storage, self.names[0])

    def table(self, name: str, columns: Sequence[str] | None = None) -> Any:
        """Return the table of a file, or some of its columns."""
        return read_table(self.storage, name, columns)


def _has_rows(name: str) -> bool:
    return name.endswith(".parquet") and name != PLAN and not name.startswith(("bad-", "."))
