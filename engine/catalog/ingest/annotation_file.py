"""Annotation files: CSV files of labels, captions and attributes of items."""

import math
import posixpath
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from crossview.engine.catalog.checks import check_label, check_text, normal
from crossview.engine.catalog.ingest.cells import json_or_text, labels_of
from crossview.engine.catalog.ingest.near_names import NEAR, near_names
from crossview.engine.catalog.ingest.table import Table
from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.item import Failure, ItemUpdate

FOLDER = "folder"
"""The word that users give instead of a file of labels: each picture is labelled with the name of its folder."""
KEYWORDS = "keywords"
"""Another such word: the keywords in the file of each picture are its labels."""

_NAMES = ("path", "key", "file", "filename", "image")
"""Headers of the column that names the item."""
_LABELS, _TEXTS = ("label", "labels"), ("caption", "text")
_OBJECTS = ("attributes", "notion_labels")
"""Columns of JSON objects: attributes by name, and lists of labels by notion."""
_RESERVED = ("label", "caption", *_OBJECTS)
"""Columns that are not attributes."""
LISTING = ("key", "labels", "attributes", "text", "source", "views", "notion_labels", "file")
"""The columns in which ``crossview list --csv`` writes items."""
_UNREAD = ("source", "views", "file")
"""Columns of a listing that no annotation can change."""
_LISTED = {*LISTING} - {"file"}
"""The columns of every listing; those of earlier versions have no metadata."""
_MISSPELT = ("path", "key", *_LABELS, *_TEXTS, *_OBJECTS)
"""Names of columns that users may misspell."""
_LIKE_LABELS = ("class", "classes", "category", "categories", "tag", "tags")
"""Headers that probably mean labels, although they would be read as attributes."""

_NO_LABELS: Mapping[str, tuple[str, ...]] = {}

_Cells = list[tuple[str, str]]
"""Column and text."""
_Checked = TypeVar("_Checked")


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """The annotations of one item. None keeps the stored value; an empty value clears it."""

    labels: tuple[str, ...] | None = None
    text: str | None = None
    attributes: Mapping[str, Any] | None = None
    """Attributes to set, by name; the others stay, but {} clears all."""
    removed_attributes: tuple[str, ...] = ()
    line: int = 0
    """The first line about the item; 0 without a file."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion; the others stay."""
    text_from_labels: bool = False
    """Whether the text becomes the words of the labels, unless a person gave one."""

    def __bool__(self) -> bool:
        changes = self.removed_attributes or self.notion_labels or self.text_from_labels
        return any(value is not None for value in (self.labels, self.text, self.attributes)) or bool(changes)

    def in_notion(self, notion: str) -> "Annotation":
        """Return the annotation with its labels as labels in a notion; "" leaves them the item's own."""
        if not notion or self.labels is None:
            return self
        return replace(self, labels=None, notion_labels={**self.notion_labels, notion: self.labels})

    def update(self, key: str, labels_given: bool = True) -> ItemUpdate:
        """Return the annotation as a change of an item."""
        return ItemUpdate(
            key=key,
            labels=self.labels,
            attributes=self.attributes,
            removed_attributes=self.removed_attributes,
            text=self.text,
            text_from_labels=self.text_from_labels,
            labels_given=labels_given,
            notion_labels=self.notion_labels,
        )


def joined(annotations: Sequence[Annotation]) -> Annotation:
    """Join several annotations of the same item."""
    labels = [annotation.labels for annotation in annotations if annotation.labels is not None]
    texts = [annotation.text for annotation in annotations if annotation.text is not None]
    mappings = [annotation.attributes for annotation in annotations if annotation.attributes is not None]
    attributes = {name: value for mapping in mappings for name, value in mapping.items()}
    by_notion: dict[str, tuple[str, ...]] = {}
    for notion, new_labels in (pair for annotation in annotations for pair in annotation.notion_labels.items()):
        by_notion[notion] = tuple(dict.fromkeys((*by_notion.get(notion, ()), *new_labels)))
    removed = dict.fromkeys(name for annotation in annotations for name in annotation.removed_attributes)
    return Annotation(
        labels=tuple(dict.fromkeys(label for group in labels for label in group)) if labels else None,
        text="\n".join(filter(None, texts)) if texts else None,
        attributes=attributes if mappings else None,
        removed_attributes=tuple(name for name in removed if name not in attributes),
        line=min((annotation.line for annotation in annotations if annotation.line), default=0),
        notion_labels=by_notion,
    )


class AnnotationFile:
    """Annotations of items by key, by path below a root, or by absolute path, in any Unicode form, with / or \\.

    A CSV file whose first line names its columns: ``path`` or ``key``, then ``label`` (which may repeat), ``caption``,
    and attributes, whose values are JSON or text. A cell may contain several labels (``engine.catalog.ingest.cells``).
    Several lines of one item are joined; an item with only empty cells in a column loses its value there. A file with
    the columns of ``LISTING`` restores what was listed.

    Without a line of column names, each line is ``path,label[,label...]`` or, if ``cell`` is "caption",
    ``path,caption``, in which commas need no quotes.

    Raises InvalidInputError, with the line, if the file cannot be read or contradicts itself.
    """

    def __init__(self, path: str | PathLike[str], cell: str = "label") -> None:
        self.path: Path = Path(path)
        self._cell = cell
        self._table = Table(self.path, f"{cell}s", f" (or give {FOLDER!r} or {KEYWORDS!r})" if cell == "label" else "")
        number, first = next(self._table.exactly(), (0, [""]))
        names = [name.strip() for name in first]
        self._listing = set(names) >= _LISTED
        header = self._header(number, names)
        self._has_header = header is not None
        self._columns = header or ["path", cell]
        self._unread = _UNREAD if self._listing else ()
        self._attributes = tuple(dict.fromkeys(self.attribute_columns()))
        self._annotations = self._read()

    def __len__(self) -> int:
        return len(self._annotations)

    def __fspath__(self) -> str:
        """Return the path, so that functions of a path also take a file that was read."""
        return str(self.path)

    def items(self) -> Iterator[tuple[str, Annotation]]:
        """Yield (name, annotation) in the order of the file."""
        yield from self._annotations.items()

    def of(self, names: Sequence[str]) -> Annotation | None:
        """Return the joined annotation of an item with these names; None if the file does not name the item."""
        forms = dict.fromkeys(map(_plain, names))
        for written in (self._names, self._slashed):
            if annotations := [self._annotations[name] for form in forms for name in written.get(form, ())]:
                return joined(annotations)
        return None

    def unused(self, names: Iterable[str]) -> list[Failure]:
        """Return the entries that do not name an item, given the names of all items."""
        forms = set(map(_plain, names))
        return [
            Failure(
                name,
                f"{self.path}, line {entry.line}: the indexed paths contain no such picture, so the line was not used",
            )
            for name, entry in self._annotations.items()
            if not forms & {_plain(name), _plain(_with_slashes(name))}
        ]

    def attribute_columns(self) -> list[str]:
        """Return the names of the columns that are attributes."""
        return [name for name in self._columns[1:] if name not in (*_RESERVED, *self._unread)]

    def check_columns(self, attributes: Collection[str], new_attributes: bool = False) -> tuple[str, ...]:
        """Return a note on columns that are new attributes, which are not among the ``attributes`` of the items.

        Raises InvalidInputError for a probably misspelt column, unless ``new_attributes`` allows new attributes.
        """
        new = [name for name in self.attribute_columns() if name not in attributes]
        for name in new:
            if not new_attributes and (near := near_names(name, (*_MISSPELT, *attributes), NEAR)):
                raise InvalidInputError(
                    f"{self.path} has a column {name!r}, which no item has as an attribute. If you mean {near[0]!r}, "
                    "rename the column; if it is a new attribute, give ",
                    Argument("new_attributes", True),
                )
        return (f"new attributes: {', '.join(new)}",) if new else ()

    def _read(self) -> dict[str, Annotation]:
        """Return the annotations by name, in the order of the file."""
        entries, repeated = dict[str, Annotation](), set[str]()
        for number, cells in self._lines():
            name = normal(cells[0])
            if name in entries:
                repeated.add(name)
            else:
                entries[name] = self._annotation([(number, self._named_cells(number, cells))])
        if repeated:  # nearly all items have one line, so that only names, and no cells, need stay in memory
            lines: dict[str, list[tuple[int, _Cells]]] = defaultdict(list)
            for number, cells in self._lines():
                if (name := normal(cells[0])) in repeated:
                    lines[name].append((number, self._named_cells(number, cells)))
            entries |= {name: self._annotation(some) for name, some in lines.items()}
        if notions := {notion: () for entry in entries.values() for notion in entry.notion_labels}:
            for name, entry in entries.items():
                entries[name] = replace(entry, notion_labels={**notions, **entry.notion_labels})
        return entries

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Return the lines below the names of the columns; a listing keeps the spaces of a text."""
        lines = self._table.exactly() if self._listing else iter(self._table)
        return islice(lines, self._has_header, None)

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The names by their plain forms."""
        return _grouped((_plain(name), name) for name in self._annotations)

    @cached_property
    def _slashed(self) -> dict[str, list[str]]:
        """The names with backslashes, by their plain forms with slashes."""
        return _grouped((_plain(_with_slashes(name)), name) for name in self._annotations if "\\" in name)

    def _header(self, number: int, cells: Sequence[str]) -> list[str] | None:
        """Return the names of the columns if the first line has them, with the usual names for label and caption."""
        names = ["label" if c.lower() in _LABELS else "caption" if c.lower() in _TEXTS else c for c in cells]
        if cells[0].lower() not in _NAMES:
            rest = {name.lower() for name in names[1:]}
            is_name = names[0] in _RESERVED or not any(mark in cells[0] for mark in "./\\")
            if is_name and rest & {*_NAMES, *_RESERVED}:
                self._fail(number, f"the first column must be path or key, not {cells[0]}")
            return None
        if not all(names):
            self._fail(number, f"column {names.index('') + 1} has no name")
        doubtful = self._cell == "caption" or names[-1].lower() in _LIKE_LABELS
        if len(names) == 2 and names[1] != self._cell and doubtful:
            self._fail(number, f"the columns are {cells[0]} and {cells[1]}: name the second one {self._cell}")
        return names

    def _named_cells(self, number: int, cells: list[str]) -> _Cells:
        """Return the cells of a line without the first; cells after the last column belong to the last column."""
        columns, last, count = self._columns, self._columns[-1], len(self._columns)
        if len(cells) < 2 or not cells[0] or (len(cells) > count and last not in ("label", "caption")):
            raise self._table.unexpected(number, ",".join(columns), cells)
        if last == "caption" and len(cells) > count:
            cells = [*cells[: count - 1], ", ".join(cells[count - 1 :])]
        names = [*columns[1:], *["label"] * (len(cells) - count)]
        # A line may end early: columns that it does not reach stay as they are.
        return list(zip(names, cells[1:], strict=False))

    def _annotation(self, lines: Sequence[tuple[int, _Cells]]) -> Annotation:
        """Return the annotation of one item from its lines."""
        values: dict[str, list[tuple[int, str]]] = {}
        for number, cells in lines:
            for name, text in cells:
                texts = values.setdefault(name, [])
                if text:
                    texts.append((number, text))
        attributes = self._object(values.get("attributes", ()))
        removed: tuple[str, ...] = ()
        for name in self._attributes:
            if entries := values.get(name):
                attributes[name] = self._value(name, entries)
            elif name in values and name not in attributes:
                removed = (*removed, name)
        labels = (label for number, cell in values.get("label", ()) for label in self._checked(number, _labels, cell))
        caption = "\n".join(text for _, text in values.get("caption", ()))
        first = lines[0][0]
        return Annotation(
            labels=tuple(dict.fromkeys(labels)) if "label" in values else None,
            text=self._checked(first, check_text, caption) if "caption" in values else None,
            attributes=attributes if attributes or "attributes" in values else None,
            removed_attributes=removed,
            line=first,
            notion_labels=self._object(values["notion_labels"]) if "notion_labels" in values else _NO_LABELS,
        )

    def _object(self, cells: Sequence[tuple[int, str]]) -> dict[str, Any]:
        """Return the entries of JSON objects."""
        entries: dict[str, Any] = {}
        for number, text in cells:
            value = self._json(number, "attributes", text)
            if not isinstance(value, dict):
                self._fail(number, f'expected a JSON object but found {text!r}: write one, as in {{"year": 2024}}')
            entries |= value
        return entries

    def _checked(self, number: int, check: Callable[[str], _Checked], text: str) -> _Checked:
        try:
            return check(text)
        except InvalidInputError as error:
            self._fail(number, str(error))

    def _value(self, name: str, texts: Sequence[tuple[int, str]]) -> Any:
        """Return the value of an attribute, which can repeat in several lines, as JSON or text."""
        (first, text), *later = texts
        for number, other in later:
            if other != text:
                self._fail(number, f"{name} is {other!r} here and {text!r} in line {first}: remove one of them")
        return self._json(first, name, text)

    def _json(self, number: int, name: str, text: str) -> Any:
        """Return the JSON value of a text, or the text itself if it is not JSON."""
        try:
            value = json_or_text(text, _refuse)
        except InvalidInputError as error:
            self._fail(number, f"{name}: {error}")
        return text if value in (math.inf, -math.inf) else value

    def _fail(self, line: int, reason: str) -> NoReturn:
        raise self._table.error(line, reason)


@lru_cache(1 << 12)  # many items share few labels
def _labels(cell: str) -> tuple[str, ...]:
    """Return the labels of a cell; InvalidInputError for an invalid label."""
    return tuple(map(check_label, labels_of(cell)))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for form, name in pairs:
        groups[form].append(name)
    return groups


def _plain(name: str) -> str:
    """Return the shortest form of a path, such as big/6.jpg for ./big/6.jpg, in Unicode normal form."""
    return normal(posixpath.normpath(name))


def _with_slashes(name: str) -> str:
    return name.replace("\\", "/")


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and infinity, which Python reads but JSON does not know."""
    raise ValueError(constant)
