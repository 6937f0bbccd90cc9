"""Annotations: labels, captions and attributes of items, from the names of folders and from CSV files."""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from engine.catalog.checks import check_label, check_text
from engine.catalog.keys import normal
from engine.errors import InvalidInputError
from engine.ingest.walk import SourceFile, readable
from engine.item import Failure, ItemUpdate

FOLDER = "folder"
"""In place of a file of labels: each picture has the name of the folder that it is in."""

_NAMES = ("path", "key", "file", "filename", "image")
"""Headers of the column that names the item."""
_LABELS, _TEXTS = ("label", "labels"), ("caption", "text")
_OWN = ("label", "caption")
_LIKE_LABELS = ("class", "classes", "category", "categories", "tag", "tags")
"""Headers that are no attributes, as likely as not."""


@dataclass(frozen=True)
class Annotation:
    """What is known of one item beside its features. None stays as it is; an empty value clears."""

    labels: tuple[str, ...] | None = None
    text: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes to set, by name; the others stay."""
    removed_attributes: tuple[str, ...] = ()
    line: int = 0
    """The first line that speaks of the item."""

    def __bool__(self) -> bool:
        return self.labels is not None or self.text is not None or bool(self.attributes or self.removed_attributes)


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
        lines = list(self._lines())
        header = self._header(*lines[0]) if lines else None
        columns = header or ["path", cell]
        grouped: dict[str, list[tuple[int, list[tuple[str, str]]]]] = defaultdict(list)
        for number, cells in lines[header is not None :]:
            grouped[normal(cells[0])].append((number, self._values(columns, number, cells)))
        self._found = {name: self._annotation(found) for name, found in grouped.items()}

    def __len__(self) -> int:
        return len(self._found)

    def items(self) -> Iterator[tuple[str, Annotation]]:
        """Yield (name, annotation) in the order of the file."""
        yield from self._found.items()

    def of(self, names: Sequence[str]) -> Annotation | None:
        """Return what the file says of an item that goes by these names; those of several lines are taken together."""
        found = [self._found[name] for name in dict.fromkeys(map(normal, names)) if name in self._found]
        return _joined(found) if found else None

    def unused(self, names: Collection[str]) -> list[Failure]:
        """Return the entries that name none of the items, by the normal forms of their names."""
        return [
            Failure(name, f"{self.path}, line {one.line}: no such picture below the paths given, so it was not used")
            for name, one in self._found.items()
            if name not in names
        ]

    def _header(self, number: int, cells: Sequence[str]) -> list[str] | None:
        """Return the names of the columns, if the first line gives them; label and caption under these names."""
        names = ["label" if c.lower() in _LABELS else "caption" if c.lower() in _TEXTS else c for c in cells]
        if cells[0].lower() not in _NAMES:
            if names[0] in _OWN and {cell.lower() for cell in cells} & {*_NAMES}:
                self._fail(number, f"the first column must be path or key, not {cells[0]}")
            return None
        if not all(names):
            self._fail(number, f"column {names.index('') + 1} has no name")
        doubtful = self._cell == "caption" or names[-1].lower() in _LIKE_LABELS
        if len(names) == 2 and names[1] != self._cell and doubtful:
            self._fail(number, f"the columns are {cells[0]} and {cells[1]}: name the second one {self._cell}")
        return names

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        try:
            with self.path.open(newline="", encoding="utf-8-sig") as file:
                reader = csv.reader(file)
                for line in reader:
                    cells = [text.strip() for text in line]
                    if any(cells):
                        yield reader.line_num, cells
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            hint = f" (or say {FOLDER!r})" if self._cell == "label" else ""
            raise InvalidInputError(f"{self._cell}s cannot be read from {self.path}: {error}{hint}") from error

    def _values(self, columns: Sequence[str], number: int, cells: list[str]) -> list[tuple[str, str]]:
        """Return (column, text) of a line; cells behind the last column belong to it."""
        last, count = columns[-1], len(columns)
        if len(cells) < 2 or not cells[0] or (len(cells) > count and last not in _OWN):
            self._fail(number, f"expected {','.join(columns)} but found {','.join(cells)!r}")
        if last == "caption" and len(cells) > count:
            cells = [*cells[: count - 1], ", ".join(cells[count - 1 :])]
        names = [*columns[1:], *["label"] * (len(cells) - count)]
        # A line may end early: what it does not reach, it leaves alone.
        return list(zip(names, cells[1:], strict=False))

    def _annotation(self, lines: Sequence[tuple[int, list[tuple[str, str]]]]) -> Annotation:
        values: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for number, cells in lines:
            for name, text in cells:
                values[name] += [(number, text)] if text else []
        attributes = {name: found for name, found in values.items() if name not in _OWN}
        first = lines[0][0]
        for number, text in values.get("label", ()):
            self._check(number, check_label, text)
        return Annotation(
            tuple(dict.fromkeys(text for _, text in values["label"])) if "label" in values else None,
            self._text(first, [text for _, text in values["caption"]]) if "caption" in values else None,
            {name: self._one(name, found) for name, found in attributes.items() if found},
            tuple(name for name, found in attributes.items() if not found),
            first,
        )

    def _text(self, number: int, captions: Sequence[str]) -> str:
        return self._check(number, check_text, "\n".join(filter(None, captions)))

    def _check(self, number: int, check: Callable[[str], str], text: str) -> str:
        try:
            return check(text)
        except InvalidInputError as error:
            self._fail(number, str(error))

    def _one(self, name: str, found: Sequence[tuple[int, str]]) -> Any:
        (first, value), *others = found
        for number, other in others:
            if other != value:
                self._fail(number, f"{name} is {other!r} here and {value!r} in line {first}: leave one of them out")
        return _parsed(value)

    def _fail(self, line: int, reason: str) -> NoReturn:
        raise InvalidInputError(f"{self.path}, line {line}: {reason}")


class Annotations:
    """Labels (``folder``, a CSV file or None) and captions (a CSV file or None) of the files of one run.

    Args:
        labels: where labels, and further columns of a CSV file, come from; None leaves what the items have.
        captions: where texts come from; None leaves them.
        replace_labels: take ``labels`` for all that is known: files that they do not name lose theirs, and the names
            of folders come in place of labels that somebody chose.

    Raises InvalidInputError for a file that cannot be used.
    """

    def __init__(
        self, labels: str | Path | None = None, captions: str | Path | None = None, replace_labels: bool = False
    ) -> None:
        if replace_labels and labels is None:
            raise InvalidInputError("there are no labels to replace others with: say which, by --labels folder or FILE")
        self.by_folder = labels is not None and str(labels) == FOLDER
        self.replace_labels = replace_labels
        self.labels = None if labels is None or self.by_folder else AnnotationFile(labels)
        self.captions = None if captions is None else AnnotationFile(captions, "caption")

    @property
    def speak_of_labels(self) -> bool:
        """Whether any labels are asked for."""
        return self.by_folder or self.labels is not None

    @property
    def given(self) -> bool:
        """Whether labels are somebody's choice, which the name of a folder is not."""
        return not self.by_folder or self.replace_labels

    def of(self, file: SourceFile, key: str = "") -> Annotation:
        """Return what is known of a file, the item's key where it has one."""
        names = (*names_of(file), *([key] if key else []))
        found = [one for one in (source.of(names) for source in (self.labels, self.captions) if source) if one]
        annotation = _joined(found) if found else Annotation()
        if self.by_folder and (folder := readable(Path(file.path.parent.name))):
            return _joined([annotation, Annotation(labels=(folder,))])
        if self.replace_labels and annotation.labels is None:
            return _joined([annotation, Annotation(labels=())])
        return annotation

    def unused(self, keyed: Mapping[str, SourceFile]) -> list[Failure]:
        """Return the entries of the files that name none of the pictures; InvalidInputError where none names any."""
        names = {normal(name) for key, file in keyed.items() for name in (key, *names_of(file))}
        failures: list[Failure] = []
        for source in filter(None, (self.labels, self.captions)):
            left = source.unused(names)
            if left and keyed and len(left) == len(source):
                raise InvalidInputError(
                    f"{source.path} names none of the {len(keyed)} pictures, such as {_example(keyed)}; it begins with "
                    f"{left[0].key!r}. Pictures go by their key, their path below the folder named, or their full path"
                )
            failures += left
        return failures


def annotation_update(key: str, one: Annotation, labels_given: bool = True) -> ItemUpdate:
    """Return the change of an item that an annotation means."""
    return ItemUpdate(
        key,
        labels=one.labels,
        attributes=one.attributes or None,
        removed_attributes=one.removed_attributes,
        text=one.text,
        labels_given=labels_given,
    )


def names_of(file: SourceFile) -> tuple[str, str]:
    """Return what a file of annotations may call a picture's file: its path below the root, or its full path."""
    return file.relative, readable(file.path)


def _example(keyed: Mapping[str, SourceFile]) -> str:
    key, file = next(iter(keyed.items()))
    return f"{key!r} or {file.relative!r}"


def _parsed(text: str) -> Any:
    """Return a value from a cell: JSON where it is, else the text."""
    try:
        value = json.loads(text, parse_constant=_not_json)
    except ValueError:
        return text
    return text if value in (math.inf, -math.inf) else value


def _not_json(text: str) -> NoReturn:
    raise ValueError(text)


def _joined(found: Sequence[Annotation]) -> Annotation:
    """Return one annotation of several of the same item."""
    labels = [one.labels for one in found if one.labels is not None]
    texts = [one.text for one in found if one.text is not None]
    attributes = {name: value for one in found for name, value in one.attributes.items()}
    return Annotation(
        tuple(dict.fromkeys(label for group in labels for label in group)) if labels else None,
        "\n".join(filter(None, texts)) if texts else None,
        attributes,
        tuple(dict.fromkeys(n for one in found for n in one.removed_attributes if n not in attributes)),
        min((one.line for one in found if one.line), default=0),
    )
