"""Sources of Arrow: Parquet files, and the folders of Hugging Face ``datasets`` in Arrow and Parquet."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crossview.engine.catalog.transfer.parts import pyarrow
from crossview.engine.catalog.transfer.source import Row, check_columns, numbered
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure
from crossview.features.files import open_regular, read_regular
from crossview.features.vectors import MAX_DIM

_ROWS_AT_ONCE = 256
"""Rows in memory at a time: a row may contain a picture."""
_BUFFER = 1 << 20
_SPLIT = "split"
_IN_JSON = (str, bool, int, float, bytes)
"""Types that stay as they are: JSON has them, or they are pictures."""
_SHARD = re.compile(r"(?:.*-)?(?P<split>[A-Za-z_]+)-\d{5}-of-\d{5}")


class _File(NamedTuple):
    path: Path
    split: str
    """The part of a data set, such as train; "" for another file."""


class ArrowSource:
    """Files of Parquet or Arrow with the same columns."""

    form: str

    written = False

    def __init__(self, path: Path, files: Sequence[_File], form: str) -> None:
        self._pa = pyarrow()
        self._files, self.form = files, form
        self.folder: Path = path if path.is_dir() else path.parent
        with _understood(files[0].path):
            schema = self._schema(files[0].path)
            check_columns(path, len(schema.names))
            self._check_columns(schema.names)
            self._classes = _class_names(schema.metadata or {}, path)
            self.hints: dict[str, str] = dict.fromkeys(self._classes, "label") | self._index_hints(schema)
        self._splits = len({file.split for file in files if file.split}) > 1
        self.count: int = sum(map(self._count, files))

    def __iter__(self) -> Iterator[Row | Failure]:
        for file in self._files:
            prefix = file.split or file.path.stem
            with _understood(file.path):
                yield from numbered(self._rows(file), file.path.name, prefix, self._before(file) + 1)

    def _index_hints(self, schema: Any) -> dict[str, str]:
        """Return that the index of pandas is the key, if it consists of texts."""
        texts = (self._pa.types.is_string, self._pa.types.is_large_string)
        names = [name for name in _index_of_pandas(schema.metadata or {}) if name in schema.names]
        return {name: "key" for name in names if any(is_text(schema.field(name).type) for is_text in texts)}

    def _check_columns(self, names: Sequence[str]) -> None:
        """Raise InvalidInputError unless all files have the columns of the first."""
        for file in self._files[1:]:
            with _understood(file.path):
                if set(self._schema(file.path).names) != set(names):
                    raise InvalidInputError(
                        f"{file.path} and {self._files[0].path} have different columns: name one file, or a folder of "
                        "files with the same columns"
                    )

    def _before(self, file: _File) -> int:
        """Return the number of rows of the earlier files of a split, whose keys have the same prefix."""
        earlier = self._files[: self._files.index(file)]
        return sum(self._count(other) for other in earlier if file.split and other.split == file.split)

    def _rows(self, file: _File) -> Iterator[Mapping[str, Any]]:
        split = {_SPLIT: file.split} if self._splits else {}
        for batch in self._batches(file.path):
            names = batch.schema.names
            columns = [self._values(name, column) for name, column in zip(names, batch.columns, strict=True)]
            for values in zip(*columns, strict=True):
                yield {**split, **dict(zip(names, values, strict=True))}

    def _values(self, name: str, column: Any) -> list[Any]:
        """Return the values of a column; classes by name."""
        values = _plain_values(self._pa, column)
        classes = self._classes.get(name)
        if classes is None:
            return values
        return [_named(value, classes) for value in values]

    def _schema(self, path: Path) -> Any:
        if path.suffix == ".parquet":
            with open_regular(path) as file:
                return self._pa.parquet.read_schema(file)
        with self._opened(path) as reader:
            return reader.schema

    def _count(self, file: _File) -> int:
        with _understood(file.path):
            if file.path.suffix == ".parquet":
                with open_regular(file.path) as opened:
                    return int(self._pa.parquet.read_metadata(opened).num_rows)
            return sum(batch.num_rows for batch in self._batches(file.path))

    def _batches(self, path: Path) -> Iterator[Any]:
        if path.suffix == ".parquet":
            with open_regular(path) as opened:
                metadata = self._pa.parquet.read_metadata(opened)
                _check_values(path, metadata)
                # As dictionaries, the rows of a batch share equal texts, however large a text is.
                texts = [field.name for field in metadata.schema.to_arrow_schema() if self._is_text(field.type)]
                file = self._pa.parquet.ParquetFile(
                    opened, metadata=metadata, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=texts
                )
                yield from file.iter_batches(_ROWS_AT_ONCE)
            return
        with self._opened(path) as reader:
            batches = (
                reader
                if hasattr(reader, "read_next_batch")
                else map(reader.get_batch, range(reader.num_record_batches))
            )
            for batch in batches:
                batch.validate(full=True)  # pyarrow trusts the offsets in Arrow files
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    yield batch.slice(start, _ROWS_AT_ONCE)

    def _is_text(self, kind: Any) -> bool:
        return bool(self._pa.types.is_string(kind) or self._pa.types.is_binary(kind))

    def _opened(self, path: Path) -> Any:
        """Return a reader of the stream or file of Arrow at a path."""
        open_regular(path).close()  # a pipe would wait for ever
        file = self._pa.memory_map(str(path))
        try:
            return self._pa.ipc.open_stream(file)
        except self._pa.ArrowInvalid:
            file.seek(0)
            return self._pa.ipc.open_file(file)


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """Raise InvalidInputError if pyarrow cannot read a file."""
    try:
        yield
    except (OSError, ValueError, NotImplementedError, KeyError, MemoryError) as error:
        if isinstance(error, InvalidInputError):
            raise
        reason = getattr(error, "strerror", None) or str(error).strip().partition("\n")[0] or "not enough memory"
        raise InvalidInputError(f"{path} cannot be read as {path.suffix[1:]}: {reason}") from error


def _check_values(path: Path, metadata: Any) -> None:
    """Raise InvalidInputError if the lists of a group of rows are too long: a few bytes can stand for billions."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        values = max((group.column(at).num_values for at in range(group.num_columns)), default=0)
        if values > max(group.num_rows, 1) * MAX_DIM:
            raise InvalidInputError(
                f"{path} has lists of {values / max(group.num_rows, 1):,.0f} values on average; a list may have at "
                f"most {MAX_DIM:,}"
            )


def parquet_file(path: Path) -> ArrowSource:
    """Return the source of one Parquet file."""
    return ArrowSource(path, [_File(path, "")], "Parquet")


def arrow_file(path: Path) -> ArrowSource:
    """Return the source of one Arrow file."""
    return ArrowSource(path, [_File(path, "")], "Arrow")


def dataset_folder(path: Path) -> ArrowSource | None:
    """Return the source of a folder of Hugging Face ``datasets``, or of Parquet files; None for another folder."""
    splits = _json(path / "dataset_dict.json").get("splits")
    if isinstance(splits, list):
        folders = [(path / name, name) for name in splits if isinstance(name, str) and "/" not in name]
    else:
        folders = [(path, "")]
    saved = [file for folder, split in folders for file in _saved(folder, split)]
    if saved:
        return ArrowSource(path, saved, "Hugging Face data set")
    for ending in ("parquet", "arrow"):
        files = sorted(file for file in path.rglob(f"*.{ending}") if not file.name.startswith("."))
        if files:
            return ArrowSource(path, [_File(file, _split(file, path)) for file in files], f"folder of {ending} files")
    return None


def _saved(folder: Path, split: str) -> list[_File]:
    """Return the files that ``save_to_disk`` lists."""
    listed = _json(folder / "state.json").get("_data_files")
    if not isinstance(listed, list):
        return []
    names = [entry.get("filename") for entry in listed if isinstance(entry, dict)]
    return [_File(folder / name, split) for name in names if isinstance(name, str) and "/" not in name]


def _split(path: Path, folder: Path) -> str:
    """Return the split of a file, by its name such as ``train-00000-of-00002.parquet`` or the folder that it is in."""
    match = _SHARD.fullmatch(path.stem)
    if match:
        return match["split"]
    return "" if path.parent == folder or path.parent.name == "data" else path.parent.name


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _class_names(metadata: Mapping[bytes, bytes], path: Path) -> dict[str, list[str]]:
    """Return the names of the classes of each column that ``datasets`` stores as numbers of classes."""
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features")
    except (ValueError, AttributeError, RecursionError):
        features = None
    if not isinstance(features, dict):
        features = _json(path / "dataset_info.json").get("features")
    names_of = {}
    for name, feature in features.items() if isinstance(features, dict) else ():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else None
        if isinstance(inner, dict) and inner.get("_type") == "ClassLabel" and isinstance(inner.get("names"), list):
            names_of[name] = list(map(str, inner["names"]))
    return names_of


def _index_of_pandas(metadata: Mapping[bytes, bytes]) -> list[str]:
    """Return the column in which pandas has stored the index of its table, if the index has one level."""
    try:
        columns = json.loads(metadata.get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return columns if isinstance(columns, list) and len(columns) == 1 and isinstance(columns[0], str) else []


def _named(value: Any, classes: list[str]) -> Any:
    """Return the name of a class; None for the number -1, by which ``datasets`` states that a label is missing."""
    if isinstance(value, list):
        return [_named(element, classes) for element in value]
    if type(value) is int:
        return classes[value] if 0 <= value < len(classes) else None
    return value


def _plain_values(pa: Any, column: Any) -> list[Any]:
    """Return values of Python; lists of floats as vectors."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_values(pa, column.storage)
    if pa.types.is_dictionary(kind):
        values = _plain_values(pa, column.dictionary)
        return [None if at is None else values[at] for at in column.indices.to_pylist()]
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    fixed = pa.types.is_fixed_size_list(kind)
    if (fixed or pa.types.is_list(kind) or pa.types.is_large_list(kind)) and (
        pa.types.is_floating(kind.value_type) or (fixed and pa.types.is_integer(kind.value_type))
    ):
        return _vectors(pa, column)
    return [_plain(value) for value in column.to_pylist()]


def _vectors(pa: Any, column: Any) -> list[Any]:
    """Return lists of numbers as arrays, without a number of Python for each value."""
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
        lengths = np.full(len(column), width)
    else:
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    values = column.flatten()  # without the values of missing lists
    if column.null_count and pa.types.is_fixed_size_list(column.type):
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
    if values.type == pa.float16() or values.null_count:
        values = values.cast(pa.float32()) if values.type == pa.float16() else values
        values = values.fill_null(float("nan")) if pa.types.is_floating(values.type) else values
    array = values.to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return [
        None if absent else array[end - length : end]
        for absent, end, length in zip(missing.tolist(), ends.tolist(), lengths.tolist(), strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a value that JSON has, where there is one: dates as text, and decimal numbers as floats."""
    if value is None or isinstance(value, _IN_JSON):
        return value
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(element) for name, element in value.items()}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    return float(value) if hasattr(value, "as_tuple") else str(value)
