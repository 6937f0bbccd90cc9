"""The mapping of a source: what each of its columns becomes, guessed from names and values, and corrected by people."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crossview.engine.catalog.ingest.near_names import near_names
from crossview.engine.catalog.transfer.source import UNNAMED, Column, Source
from crossview.engine.values.errors import Argument, InvalidInputError

ROLES = ("key", "label", "text", "attribute", "picture", "vector", "skip")
"""The meanings that a column can have."""
_NAMED = {"label": "notion", "attribute": "name", "vector": "view"}
"""Roles that take a name, and its meaning."""
_ONE = ("key", "text", "picture")
"""Roles of at most one column."""
_KEYS = ("key", "keys", "id", "uuid", "path", "file", "filename", "file_name", "image_id", "image_path")
_LABELS = ("label", "labels", "class", "classes", "category", "categories", "tag", "tags")
_TEXTS = ("text", "caption", "captions", "description", "sentence", "sentences", "document")
_PICTURES = ("image", "picture", "img", "photo", "file_name", "path", "file")
"""Usual names of columns, the first ones preferred."""
_INDEX = re.compile(rf"__index_level_\d+__|index|{UNNAMED}0")
"""The names that pandas gives to the index of a table: texts are keys, and numbers only count rows."""
_NO_NAME = re.compile(r"[^a-z0-9_-]+")
_MOST_NAME = 63


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The meaning of a column."""

    column: str
    content: str
    """Its values in words."""
    role: str
    """One of ``ROLES``."""
    name: str = ""
    """The view of vectors, the name of an attribute, or the notion of labels, "" for an item's own labels."""
    example: str = ""

    @property
    def becomes(self) -> str:
        """The role with its name, in words."""
        if self.role == "label" and self.name:
            return f"label in the notion {self.name}"
        return {
            "vector": f"row of the view {self.name}",
            "attribute": f"attribute {self.name}",
            "skip": "left out",
        }.get(self.role, self.role)


def mapping(
    source: Source, columns: Sequence[Column], corrections: Mapping[str, str], example_length: int = 40
) -> tuple[Meaning, ...]:
    """Return what each column becomes; ``corrections`` by column are written ``role`` or ``role:name``.

    Raises InvalidInputError for an unknown column or role, and for two columns of a role that takes one.
    """
    table = {column.name: column for column in columns}
    _checked(table, corrections)
    roles = {name: _parsed(corrections.get(name) or source.hints.get(name, "")) for name in table}
    claimed = {_parsed(role)[0] for role in corrections.values()}.intersection(_ONE)
    roles |= {name: ("", "") for name, (role, _) in roles.items() if role in claimed and name not in corrections}
    _guess(table, roles)
    for role in _ONE:
        names = [name for name, (kind, _) in roles.items() if kind == role]
        if len(names) > 1:
            raise InvalidInputError(f"the columns {' and '.join(names)} are both the {role}: only one can be")
    return tuple(_meaning(table[name], role, detail, example_length) for name, (role, detail) in roles.items())


def views_of(meanings: Iterable[Meaning], columns: Sequence[Column]) -> dict[str, int]:
    """Return the dimension of each view that columns of vectors fill."""
    widths = {column.name: column.width for column in columns}
    dims: dict[str, int] = {}
    for meaning in meanings:
        if meaning.role == "vector":
            if meaning.name in dims:
                raise InvalidInputError(
                    f"two columns fill the view {meaning.name}: name another view with ",
                    Argument("columns", {meaning.column: "vector:VIEW"}),
                )
            if not widths[meaning.column]:
                raise InvalidInputError(
                    f"the column {meaning.column!r} contains {meaning.content}, not vectors of one length: leave it "
                    "out, or correct the file"
                )
            dims[meaning.name] = widths[meaning.column]
    return dims


def _checked(table: Mapping[str, Column], corrections: Mapping[str, str]) -> None:
    for column, role in corrections.items():
        if column not in table:
            near = near_names(column, table) or list(table)
            raise InvalidInputError(f"no column {column!r}; there are: {', '.join(near)}")
        kind, colon, name = role.partition(":")
        if kind not in ROLES or (colon and (not name or kind not in _NAMED)):
            forms = [f"{choice}[:{_NAMED[choice].upper()}]" if choice in _NAMED else choice for choice in ROLES]
            raise InvalidInputError(f"{column!r} cannot become {role!r}: choose from {', '.join(forms)}")


def _parsed(role: str) -> tuple[str, str]:
    kind, _, name = role.partition(":")
    return kind, name


def _guess(table: Mapping[str, Column], roles: dict[str, tuple[str, str]]) -> None:
    """Give a role to each column that has none."""

    def free(role: str) -> bool:
        return all(used != role for used, _ in roles.values())

    def first(names: Sequence[str], kinds: Sequence[str], distinct: bool = False) -> str:
        candidates = [
            (names.index(name.lower()) if name.lower() in names else len(names), name)
            for name, (role, _) in roles.items()
            if not role and table[name].kind in kinds and (table[name].distinct or not distinct)
        ]
        place, name = min(candidates, default=(len(names), ""))
        return name if place < len(names) else ""

    if free("picture") and (name := first(_PICTURES, ("picture", "path")) or _of_kind(table, roles, "picture", "path")):
        roles[name] = ("picture", "")
    if free("key") and (name := first(_KEYS, ("text", "number", "path", "lost"), distinct=True)):
        roles[name] = ("key", "")
    for name, (role, _) in roles.items():
        if not role and _INDEX.fullmatch(name) and table[name].kind == "text" and table[name].distinct and free("key"):
            roles[name] = ("key", "")
    if free("text") and (name := first(_TEXTS, ("text", "texts"))):
        roles[name] = ("text", "")
    for name, (role, _) in roles.items():
        if not role:
            roles[name] = (_rest(table[name]), "")


def _of_kind(table: Mapping[str, Column], roles: Mapping[str, tuple[str, str]], *kinds: str) -> str:
    names = (name for kind in kinds for name, (role, _) in roles.items() if not role and table[name].kind == kind)
    return next(names, "")


def _rest(column: Column) -> str:
    """Return the role of a column that is neither key, text nor picture."""
    if column.kind == "vector":
        return "vector"
    if column.kind in ("empty", "bytes", "picture") or _INDEX.fullmatch(column.name):
        return "skip"
    return "label" if column.name.lower() in _LABELS else "attribute"


def _meaning(column: Column, role: str, name: str, length: int) -> Meaning:
    if role == "vector":
        name = name or _view_name(column.name)
    elif role == "attribute":
        name = name or column.name
    return Meaning(
        column=column.name, content=column.content, role=role, name=name, example=_shown(column.example, length)
    )


def _view_name(column: str) -> str:
    """Return the name of a view for a column: a letter first, then letters, digits, - and _."""
    name = _NO_NAME.sub("-", column.lower()).strip("-_")
    return (name if name[:1].isalpha() and name.isascii() else f"view-{name}".rstrip("-"))[:_MOST_NAME]


def _shown(value: object, length: int) -> str:
    """Return the beginning of a value in one line."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if isinstance(value, Mapping) and isinstance(value.get("bytes"), bytes):
        return f"{len(value['bytes']):,} bytes"
    if hasattr(value, "tolist"):
        value = [float(f"{number:.3g}") for number in value[:4].tolist()]  # type: ignore[index]
    text = " ".join(str(value).split())
    return text if len(text) <= length else f"{text[: length - 3]}..."
