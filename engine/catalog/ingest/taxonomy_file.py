"""Taxonomy files: trees of classes in plain text, written by people."""

from pathlib import Path

from crossview.engine.learners.frame.comparisons import Taxonomy, cycle
from crossview.engine.values.errors import InvalidInputError

_LARGEST = 10_000_000
_SHOWN = 20
"""Bytes; a tree of 100,000 classes is smaller."""


def read_taxonomy(path: Path | str) -> Taxonomy:
    """Return the tree of a text file, in which a class stands below another by indentation, or after its colon.

    A line names a node, or a node and its children, ``parent: child, child``; a file may mix both. A node of the first
    level may have its place in another line. A comment starts with ``#``; names must not contain a comma, a colon or
    ``#``.

    Raises InvalidInputError, with the line, for an unreadable file, a name with two places or none, a node below
    itself, wrong indentation, or fewer than two classes.
    """
    tree = _Tree(Path(path))
    for number, line in enumerate(_text(tree.path).splitlines(), 1):
        if text := line.partition("#")[0].rstrip():
            tree.read(number, text)
    return tree.taxonomy()


def _text(path: Path) -> str:
    reason = f"it is larger than {_LARGEST:,} bytes"
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) <= _LARGEST:
            return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text; save it as UTF-8"
    except OSError as error:
        reason = error.strerror or str(error)
    raise InvalidInputError(f"a taxonomy cannot be read from {path}: {reason}")


class _Tree:
    """The tree built from the lines of a file, one after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parents: dict[str, str] = {}
        self._lines: dict[str, int] = {}
        """The line of each node's place, or of its first mention."""
        self._first_level: list[tuple[str, int]] = []
        """Lines without indentation, by node; such a node may have its place elsewhere, below another node."""
        self._open: list[tuple[int, str]] = []
        """Indentation and name of the last line, and of the lines above it in the tree."""

    def read(self, number: int, text: str) -> None:
        """Add the node of a line, and those after its colon."""
        name, _, children = (part.strip() for part in text.partition(":"))
        parent = self._above(number, text)
        if parent is None:
            self._first_level.append((self._checked(number, name), number))
        else:
            self._place(number, name, parent)
        self._open.append((_indentation(text), name))
        for child in children.split(",") if children else ():
            self._place(number, child.strip(), name)

    def taxonomy(self) -> Taxonomy:
        """Return the tree of all lines."""
        inner = set(self._parents.values())
        line_of: dict[str, int] = {}
        for name, number in self._first_level:
            other = self._lines.get(name) if name in self._parents else line_of.get(name)
            if other is not None and (name not in inner or name in line_of):
                raise self._twice(max(number, other), name, min(number, other))
            line_of[name] = number
        for name, number in line_of.items():
            self._parents.setdefault(name, "")
            self._lines.setdefault(name, number)
        self._check_cycles()
        try:
            return Taxonomy(self._parents)
        except ValueError as error:
            raise InvalidInputError(f"{self.path}: {error}") from None

    def _above(self, number: int, text: str) -> str | None:
        """Return the parent of a line by its indentation; None on the first level."""
        indent, last = _indentation(text), None
        if text[indent] == "\t":
            raise self._error(number, "indent with spaces, not with tabs")
        while self._open and self._open[-1][0] >= indent:
            last = self._open.pop()[0]
        if (last is None and indent and not self._open) or (last is not None and last != indent):
            raise self._error(
                number, f"no line above has the indentation of {indent} spaces: align the line with its siblings"
            )
        return self._open[-1][1] if self._open else None

    def _place(self, number: int, name: str, parent: str) -> None:
        if self._checked(number, name) in self._parents:
            raise self._twice(number, name, self._lines[name])
        self._parents[name], self._lines[name] = parent, number

    def _checked(self, number: int, name: str) -> str:
        if not name:
            raise self._error(number, "a name is empty: write names as in parent: child, child")
        if ":" in name:
            raise self._error(number, f"the name {name!r} contains a colon: a line may have only one")
        return name

    def _check_cycles(self) -> None:
        if classes := cycle(self._parents):
            names = " below ".join(map(repr, classes[:_SHOWN]))
            raise self._error(max(self._lines[name] for name in classes), f"a class is below itself: {names}")

    def _twice(self, number: int, name: str, other: int) -> InvalidInputError:
        return self._error(number, f"line {other} already gives {name!r} a place: name each class once")

    def _error(self, number: int, reason: str) -> InvalidInputError:
        return InvalidInputError(f"{self.path}, line {number}: {reason}")


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
