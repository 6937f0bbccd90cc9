"""Annotation files: CSV files of labels, captions and attributes of items."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from engine.catalog.checks import check_label, check_text, normal
from engine.errors import InvalidInputError
from engine.ingest.json_text import json_or_text
from engine.ingest.table import Table
from engine.item import Failure, ItemUpdate

FOLDER = "folder"
"""In place of a file of labels: each picture has the name of the folder that it is in."""

_NAMES = ("path", "key", "file", "filename", "image")
"""Headers of the column that names the item."""
_LABELS, _TEXTS = ("label", "labels"), ("caption", "text")
_RESERVED = ("label", "caption")
"""Columns that are no attributes."""
_LIKE_LABELS = ("class", "classes", "category", "categories", "tag", "tags")
"""Headers that probably mean labels, although they would be read as attributes."""

_Cells = list[tuple[str, str]]
"""Column and text."""


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What is known of one item beside its features. None stays as it is; an empty value clears."""

    labels: tuple[str, ...] | None = None
    text: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes to set, by name; the others stay."""
    removed_attributes: tuple[str, ...] = ()
    line: int = 0
    """The first line about the item; 0 where there is no file."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion; the others stay."""

    def __bool__(self) -> bool:
        given = self.attributes or self.removed_attributes or self.notion_labels
        return self.labels is not None or self.text is not None or bool(given)

    def in_notion(self, notion: str) -> "Annotation":
        """Return it with its labels as those of a notion; "" for none."""
        if not notion or self.labels is None:
            return self
        return replace(self, labels=None, notion_labels={notion: self.labels})

    def update(self, key: str, labels_given: bool = True) -> ItemUpdate:
        """Return the change of an item that the annotation means."""
        return ItemUpdate(
            key=key,
            labels=self.labels,
            attributes=self.attributes or None,
            removed_attributes=self.removed_attributes,
            text=self.text,
            labels_given=labels_given,
            notion_labels=self.notion_labels,
        )


def joined(annotations: Sequence[Annotation]) -> Annotation:
    """Return one annotation of several of the same item."""
    labels = [one.labels for one in annotations if one.labels is not None]
    texts = [one.text for one in annotations if one.text is not None]
    attributes = {name: value for one in annotations for name, value in one.attributes.items()}
    removed = dict.fromkeys(name for one in annotations for name in one.removed_attributes)
    return Annotation(
        labels=tuple(dict.fromkeys(label for group in labels for label in group)) if labels else None,
        text="\n".join(filter(None, texts)) if texts else None,
        attributes=attributes,
        removed_attributes=tuple(name for name in removed if name not in attributes),
        line=min((one.line for one in annotations if one.line), default=0),
    )


class AnnotationFile:
    """Annotations of items by key, by path below a root, or by absolute path, in any Unicode form.

    A CSV file whose first line names its columns: ``path`` or ``key``, then ``label`` (which may repeat), ``caption``,
    and further ones, which are attributes, their values JSON where they are, else text. Several lines of one item are
    taken together; an item with nothing but empty cells in a column loses what it has there.

    Without such a line each line is ``path,label[,label...]``, or ``path,caption`` where ``cell`` is "caption", whose
    commas need no quotes.

    Raises InvalidInputError, with the line, if the file cannot be read or contradicts itself.
    """

    def __init__(self, path: Path | str, cell: str = "label") -> None:
        self.path = Path(path)
        self._cell = cell
        self._table = Table(path, f"{cell}s", f" (or give {FOLDER!r})" if cell == "label" else "")
        lines = list(self._table)
        header = self._header(*lines[0]) if lines else None
        columns = header or ["path", cell]
        cells_of: dict[str, list[tuple[int, _Cells]]] = defaultdict(list)
        for number, cells in lines[header is not None :]:
            cells_of[normal(cells[0])].append((number, self._named_cells(columns, number, cells)))
        self._annotations = {name: self._annotation(found) for name, found in cells_of.items()}

    def __len__(self) -> int:
        return len(self._annotations)

    def items(self) -> Iterator[tuple[str, Annotation]]:
        """Yield (name, annotation) in the order of the file."""
        yield from self._annotations.items()

    def of(self, names: Sequence[str]) -> Annotation | None:
        """Return the annotation of an item that goes by these names, those of several names joined; None for none."""
        forms = dict.fromkeys(map(normal, names))
        found = [self._annotations[name] for name in forms if name in self._annotations]
        return joined(found) if found else None

    def unused(self, names: Collection[str]) -> list[Failure]:
        """Return the entries that name none of the items, by the normal forms of their names."""
        return [
            Failure(name, f"{self.path}, line {one.line}: no such picture below the paths given, so it was not used")
            for name, one in self._annotations.items()
            if name not in names
        ]

    def _header(self, number: int, cells: Sequence[str]) -> list[str] | None:
        """Return the names of the columns, if the first line gives them; label and caption under these names."""
        names = ["label" if c.lower() in _LABELS else "caption" if c.lower() in _TEXTS else c for c in cells]
        if cells[0].lower() not in _NAMES:
            if names[0] in _RESERVED and {cell.lower() for cell in cells} & {*_NAMES}:
                self._fail(number, f"the first column must be path or key, not {cells[0]}")
            return None
        if not all(names):
            self._fail(number, f"column {names.index('') + 1} has no name")
        doubtful = self._cell == "caption" or names[-1].lower() in _LIKE_LABELS
        if len(names) == 2 and names[1] != self._cell and doubtful:
            self._fail(number, f"the columns are {cells[0]} and {cells[1]}: name the second one {self._cell}")
        return names

    def _named_cells(self, columns: Sequence[str], number: int, cells: list[str]) -> _Cells:
        """Return the cells of a line but the first; those behind the last column belong to it."""
        last, count = columns[-1], len(columns)
        if len(cells) < 2 or not cells[0] or (len(cells) > count and last not in _RESERVED):
            raise self._table.unexpected(number, ",".join(columns), cells)
        if last == "caption" and len(cells) > count:
            cells = [*cells[: count - 1], ", ".join(cells[count - 1 :])]
        names = [*columns[1:], *["label"] * (len(cells) - count)]
        # A line may end early: columns that it does not reach stay as they are.
        return list(zip(names, cells[1:], strict=False))

    def _annotation(self, lines: Sequence[tuple[int, _Cells]]) -> Annotation:
        """Return the annotation of one item from its lines."""
        values: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for number, cells in lines:
            for name, text in cells:
                values[name] += [(number, text)] if text else []
        first = lines[0][0]
        attributes = {name: found for name, found in values.items() if name not in _RESERVED}
        labels = [self._checked(number, check_label, text) for number, text in values.get("label", ())]
        caption = "\n".join(text for _, text in values.get("caption", ()))
        return Annotation(
            labels=tuple(dict.fromkeys(labels)) if "label" in values else None,
            text=self._checked(first, check_text, caption) if "caption" in values else None,
            attributes={name: self._value(name, found) for name, found in attributes.items() if found},
            removed_attributes=tuple(name for name, found in attributes.items() if not found),
            line=first,
        )

    def _checked(self, number: int, check: Callable[[str], str], text: str) -> str:
        try:
            return check(text)
        except InvalidInputError as error:
            self._fail(number, str(error))

    def _value(self, name: str, found: Sequence[tuple[int, str]]) -> Any:
        """Return the value of an attribute, which may be in several lines: JSON where it is, else text."""
        (first, text), *others = found
        for number, other in others:
            if other != text:
                self._fail(number, f"{name} is {other!r} here and {text!r} in line {first}: leave one of them out")
        try:
            value = json_or_text(text, _refuse)
        except InvalidInputError as error:
            self._fail(first, f"{name}: {error}")
        return text if value in (math.inf, -math.inf) else value

    def _fail(self, line: int, reason: str) -> NoReturn:
        raise self._table.error(line, reason)


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and infinity, which Python reads but JSON does not know."""
    raise ValueError(constant)
