"""Rows of a source as items, by the meanings of the columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from crossview.engine.catalog.checks import MAX_INTEGER
from crossview.engine.catalog.ingest.cells import labels_of
from crossview.engine.catalog.transfer.mapping import Meaning
from crossview.engine.catalog.transfer.source import Row, Source, cell_value, is_missing
from crossview.engine.values.errors import CrossviewError, InvalidInputError
from crossview.engine.values.item import Failure, NewItem
from crossview.features.errors import ImageError
from crossview.features.pictures import MAX_PIXELS, encoded_picture

_NO_LABELS = (list, bytes, Mapping)
"""Types of values that cannot be labels."""


@dataclass
class RowReader:
    """Reads rows as items, and collects the failures."""

    meanings: Sequence[Meaning]
    source: Source
    images: Path
    failures: list[Failure] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)
    """Hashes of the keys, a few bytes for each row."""
    _late: dict[str, None] = field(default_factory=dict)

    def item(self, row: Row | Failure) -> NewItem | None:
        """Return the item of a row; None, and one more failure, for a row that cannot be used."""
        if isinstance(row, Failure):
            self.failures.append(row)
            return None
        try:
            item = self._made(row)
            if hash(item.key) in self._seen:
                raise InvalidInputError(f"the key {item.key!r} is that of an earlier row: only the first row is used")
        except CrossviewError as error:
            self.failures.append(Failure(row.place, str(error)))
            return None
        self._seen.add(hash(item.key))
        return item

    def notes(self) -> tuple[str, ...]:
        """Return a note on columns that appeared too late to be mapped."""
        if not self._late:
            return ()
        return (f"columns that first appear after the first rows are left out: {', '.join(self._late)}",)

    def _made(self, row: Row) -> NewItem:
        if not row.values.keys() <= self._columns:
            self._late.update(dict.fromkeys(name for name in row.values if name not in self._columns))
        key, labels, text, image, source = "", None, None, None, ""
        attributes: dict[str, Any] = {}
        notions: dict[str, tuple[str, ...]] = {}
        rows: dict[str, Any] = {}
        for meaning in self.meanings:
            value = row.values.get(meaning.column)
            if is_missing(value):
                if meaning.role == "key":
                    raise InvalidInputError(f"the column {meaning.column!r} has no key here")
                continue
            match meaning.role:
                case "key":
                    key = self._key(meaning, value)
                case "label" if meaning.name:
                    notions[meaning.name] = (*notions.get(meaning.name, ()), *self._labels(value))
                case "label":
                    labels = (*(labels or ()), *self._labels(value))
                case "text":
                    text = _text(value)
                case "attribute":
                    attributes[meaning.name] = self._attribute(value)
                case "vector":
                    rows[meaning.name] = self._vector(meaning, value)
                case "picture":
                    image, source, name = self._picture(value)
                    key = key or (name if not self._has_keys else "")
        return NewItem(
            key or row.key,
            image=image,
            rows=rows,
            labels=labels,
            attributes=attributes or None,
            source=source,
            text=text,
            notion_labels=notions,
        )

    @cached_property
    def _columns(self) -> set[str]:
        return {meaning.column for meaning in self.meanings}

    @cached_property
    def _has_keys(self) -> bool:
        return any(meaning.role == "key" for meaning in self.meanings)

    def _key(self, meaning: Meaning, value: Any) -> str:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return _number_text(value)
        raise InvalidInputError(f"the column {meaning.column!r} has {value!r:.40} here, which is not a key")

    def _labels(self, value: Any) -> tuple[str, ...]:
        if self.source.written:
            return tuple(labels_of(value))
        listed = value if isinstance(value, list) else value.tolist() if isinstance(value, np.ndarray) else [value]
        if any(isinstance(label, _NO_LABELS) for label in listed):
            raise InvalidInputError(f"labels must be texts or numbers, not {value!r:.40}")
        return tuple(dict.fromkeys(_number_text(label) for label in listed if not is_missing(label)))

    def _attribute(self, value: Any) -> Any:
        if self.source.written:
            value = cell_value(value)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, bytes):
            raise InvalidInputError("an attribute cannot be bytes: leave the column out")
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
            return str(value)
        return value

    def _vector(self, meaning: Meaning, value: Any) -> Any:
        if self.source.written:
            value = cell_value(value)
        try:
            return np.asarray(value, np.float32)
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"the column {meaning.column!r} has no numbers here: {value!r:.40}") from error

    def _picture(self, value: Any) -> tuple[bytes, str, str]:
        """Return the bytes of a picture, the path of its file, and its name as a key."""
        path = value.get("path") if isinstance(value, Mapping) else value
        data = value.get("bytes") if isinstance(value, Mapping) else value
        if isinstance(data, bytes):
            return data, "", ""  # the path beside the bytes is often only the name of a file in one of several folders
        if not isinstance(path, str):
            raise InvalidInputError("the picture has neither bytes nor a path")
        file = self.images / path
        try:
            return encoded_picture(file, MAX_PIXELS), str(file.absolute()), path
        except (ImageError, ValueError) as error:
            raise InvalidInputError(f"the picture {file} cannot be read (", error, ")") from error


def _number_text(value: Any) -> str:
    """Return a value as text: whole numbers without a fraction, which pandas adds if some are missing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(str(part) for part in value if part is not None)
    return _number_text(value)
