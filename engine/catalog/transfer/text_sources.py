"""Sources in text and arrays: CSV and TSV, JSON lines, JSON, COCO, ``.npy`` and ``.npz``."""

import json
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from crossview.engine.catalog.ingest.table import Table, read_lines
from crossview.engine.catalog.ingest.vectors import check_archive, loading
from crossview.engine.catalog.transfer.source import UNNAMED, Row, check_columns, numbered
from crossview.engine.values.errors import InputWarning, InvalidInputError
from crossview.engine.values.item import Failure
from crossview.features.files import open_regular

_KEY = "key"
_FILE, _LABELS, _CAPTIONS = "file_name", "categories", "captions"
_MOST_CHARACTERS = 1 << 28
"""Maximum number of characters of a line of JSON."""


class TableSource:
    """A CSV or TSV file whose first line names the columns; see ``ingest.table.Table``."""

    folder: Path

    form = "CSV"
    written = True
    hints: Mapping[str, str] = {}

    def __init__(self, path: Path) -> None:
        self._path, self.folder = path, path.parent
        rows = Table(path, "rows").exactly()
        _, header = next(rows, (0, []))
        check_columns(path, len(header))
        self._names = [name.strip() or f"{UNNAMED}{place}" for place, name in enumerate(header)]
        if not self._names or len(set(self._names)) < len(self._names):
            raise InvalidInputError(f"{path}: the first line must name the columns, each with another name")
        self.count: int = sum(1 for _ in rows)

    def __iter__(self) -> Iterator[Row | Failure]:
        rows = Table(self._path, "rows").exactly()
        with warnings.catch_warnings():  # the first reading has noted the form of the file
            warnings.simplefilter("ignore", InputWarning)
            next(rows)
        for number, (line, cells) in enumerate(rows, 1):
            place = f"line {line} of {self._path.name}"
            if len(cells) > len(self._names):
                yield Failure(place, f"it has {len(cells)} cells, and the first line names {len(self._names)} columns")
            else:
                values = dict(zip(self._names, (cell or None for cell in cells), strict=False))
                yield Row(place, f"{self._path.stem}/{number:06}", values)


class JsonLinesSource:
    """A file with one JSON object a line."""

    folder: Path

    form = "JSON lines"
    written = False
    hints: Mapping[str, str] = {}

    def __init__(self, path: Path) -> None:
        self._path, self.folder = path, path.parent
        with _reading(path), open_regular(path) as file:
            self.count: int = sum(1 for line in file if line.strip())

    def __iter__(self) -> Iterator[Row | Failure]:
        with _reading(self._path), open_regular(self._path) as file:
            lines = (
                pair for pair in enumerate(iter(lambda: file.readline(_MOST_CHARACTERS), b""), 1) if pair[1].strip()
            )
            for count, (number, line) in enumerate(lines, 1):
                place = f"line {number} of {self._path.name}"
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError) as error:
                    yield Failure(place, f"it is not JSON: {error}")
                    continue
                if isinstance(values, dict):
                    yield Row(place, f"{self._path.stem}/{count:06}", values)
                else:
                    yield Failure(place, "it is not a JSON object: write one object a line")


class JsonSource:
    """A JSON file with a list of objects, which is read as a whole."""

    folder: Path

    form = "JSON"
    written = False
    hints: Mapping[str, str] = {}

    def __init__(self, path: Path, rows: list[Any]) -> None:
        self._path, self.folder, self._rows = path, path.parent, rows
        self.count: int = len(rows)

    def __iter__(self) -> Iterator[Row | Failure]:
        for number, values in enumerate(self._rows, 1):
            place = f"entry {number} of {self._path.name}"
            if isinstance(values, dict):
                yield Row(place, f"{self._path.stem}/{number:06}", values)
            else:
                yield Failure(place, "it is not a JSON object")


def is_coco(content: Any) -> bool:
    """Return whether a JSON value has the lists of COCO."""
    return isinstance(content, dict) and all(isinstance(content.get(name), list) for name in ("images", "annotations"))


class CocoSource:
    """The pictures of a COCO file, with the categories and captions of their annotations, which is read as a whole."""

    folder: Path

    form = "COCO"
    written = False
    hints: Mapping[str, str] = {_LABELS: "label", _CAPTIONS: "text", "id": "attribute:coco_id"}

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self._path, self.folder = path, path.parent
        self._images = content["images"]
        self.count: int = len(self._images)
        categories = content.get("categories")
        kinds = [kind for kind in (categories if isinstance(categories, list) else ()) if isinstance(kind, dict)]
        self._names = {kind["id"]: str(kind["name"]) for kind in kinds if _is_id(kind.get("id")) and "name" in kind}
        self._labels: dict[Any, dict[str, None]] = defaultdict(dict)
        self._captions: dict[Any, list[str]] = defaultdict(list)
        self._failures = [
            Failure(f"annotation {number} of {path.name}", f"it is not complete ({reason})")
            for number, annotation in enumerate(content["annotations"], 1)
            if (reason := self._read(annotation))
        ]
        if self._failures and len(self._failures) == len(content["annotations"]):
            raise InvalidInputError(
                f"{path} is not COCO: {self._failures[0].key}: {self._failures[0].reason}; each annotation has "
                "image_id, and a category_id that the categories list"
            )

    def _read(self, annotation: Any) -> str:
        """Read an annotation; return what it lacks, or ""."""
        if not isinstance(annotation, dict) or not _is_id(annotation.get("image_id")):
            return "image_id"
        if (category := annotation.get("category_id")) is not None:
            if not _is_id(category) or category not in self._names:
                return f"category {category!r}"
            self._labels[annotation["image_id"]][self._names[category]] = None
        if annotation.get("caption"):
            self._captions[annotation["image_id"]].append(str(annotation["caption"]).strip())
        return ""

    def __iter__(self) -> Iterator[Row | Failure]:
        for number, image in enumerate(self._images, 1):
            place = f"image {number} of {self._path.name}"
            if not isinstance(image, dict) or not isinstance(image.get(_FILE), str) or not _is_id(image.get("id")):
                yield Failure(place, "it has no id or file_name")
                continue
            values = {name: value for name, value in image.items() if not isinstance(value, list | dict)}
            if self._labels:
                values[_LABELS] = list(self._labels.get(image["id"], ()))
            if self._captions:
                values[_CAPTIONS] = self._captions.get(image["id"])
            yield Row(place, image[_FILE], values)
        yield from self._failures


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str)


class ArraySource:
    """Arrays of NumPy: a ``.npy`` of vectors, with its keys in a text file, or a ``.npz`` of arrays of equal length."""

    folder: Path

    written = False

    def __init__(self, path: Path, keys: Path | None) -> None:
        self._path, self.folder = path, path.parent
        self.form = "NumPy"
        self.hints: dict[str, str] = {}
        with loading(path), open_regular(path):
            check_archive(path)
            loaded = np.load(path, mmap_mode="r", allow_pickle=False)
            arrays = {path.stem: loaded} if isinstance(loaded, np.ndarray) else {n: loaded[n] for n in loaded.files}
        beside = path.with_suffix(".keys.txt")
        if keys is None and isinstance(loaded, np.ndarray) and beside.is_file():
            keys = beside
        if keys is not None:
            arrays[_KEY] = np.array(read_lines(keys))
            self.hints[_KEY] = _KEY
        lengths = {name: len(array) for name, array in arrays.items() if array.ndim}
        if len(set(lengths.values())) != 1 or len(lengths) < len(arrays):
            listed = ", ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
            raise InvalidInputError(f"{path} must contain arrays of equal length; it contains: {listed or 'none'}")
        self._arrays = arrays
        self.count: int = next(iter(lengths.values()))
        for name, array in arrays.items():
            if array.ndim == 2 and array.dtype.kind in "fiu":
                self.hints[name] = "vector"

    def __iter__(self) -> Iterator[Row | Failure]:
        rows = ({name: _plain(array[at]) for name, array in self._arrays.items()} for at in range(self.count))
        return iter(numbered(rows, self._path.name, self._path.stem))


def _plain(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiu" else value.tolist()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise InvalidInputError, with the reason, if a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
