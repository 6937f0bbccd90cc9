"""The state of the pages for browsing, which is the query of their addresses, so that links are permanent."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from crossview.server.edge.pages.fields import Fields
from crossview.v1.types_pb2 import Filter

_PERIOD = re.compile(r"\d{4}(?:-\d\d){0,2}")
_FIELD = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")
_RESERVED = ("and", "or", "not", "in", "true", "false", "null", "exists", "between", "like", "contains", "prefix")
TAKEN = "file.taken"
"""The field of capture times, as the files state them."""


@dataclass(frozen=True)
class BrowseState:
    """The items that a person looks at: those that pass all parts, in an order, from a page on."""

    folder: str = ""
    """The beginning of the keys: a folder, with its slash."""
    label: str = ""
    unlabelled: bool = False
    """Whether the items have no label."""
    when: str = ""
    """A year, a month or a day."""
    date: str = TAKEN
    """The field of times that ``when`` and the time line are about."""
    missing: bool = False
    """Whether the files of the items are missing."""
    where: str = ""
    """A condition as text."""
    sort: str = ""
    """A field, as in ListItems; empty for the order of keys."""
    after: str = ""
    """The token of the page at which the grid begins."""

    @classmethod
    def of(cls, fields: Fields) -> "BrowseState":
        """Return the state of an address or a form."""
        when, date = fields.text("when"), fields.text("date")
        return cls(
            folder=fields.raw("folder"),
            label=fields.raw("label"),
            unlabelled=fields.text("unlabelled") == "1",
            when=when if _PERIOD.fullmatch(when) else "",
            date=date if _is_field(date) else TAKEN,
            missing=fields.text("missing") == "1",
            where=fields.text("where"),
            sort=fields.text("sort"),
            after=fields.text("after"),
        )

    @property
    def narrows(self) -> bool:
        """Whether the state leaves items out."""
        return bool(self.folder or self.label or self.unlabelled or self.when or self.missing or self.where)

    def filter(self) -> Filter:
        """Return the filter of a request."""
        chosen = Filter(key_prefix=self.folder, labels=[self.label] if self.label else [])
        chosen.where = " and ".join(self._tests())
        return chosen

    def _tests(self) -> Iterator[str]:
        if self.where:  # each part in its own brackets, so that a wrong one cannot close those of another
            yield f"({self.where})" if len(list(self._others())) else self.where
        yield from self._others()

    def _others(self) -> Iterator[str]:
        if self.unlabelled:
            yield "not label exists"
        if self.missing:
            yield "missing exists"
        if self.when:
            year = len(self.when) == len("2021")
            yield f"{self.date} between {self.when}-01 and {self.when}-12" if year else f"{self.date} = {self.when}"

    def fields(self) -> list[tuple[str, str]]:
        """Return the fields of the address, without empty ones."""
        pairs = [
            ("folder", self.folder),
            ("label", self.label),
            ("unlabelled", "1" if self.unlabelled else ""),
            ("when", self.when),
            ("date", self.date if self.date != TAKEN else ""),
            ("missing", "1" if self.missing else ""),
            ("where", self.where),
            ("sort", self.sort),
            ("after", self.after),
        ]
        return [(name, value) for name, value in pairs if value]

    def address(self, collection: str, page: str = "/browse", **more: str) -> str:
        """Return the address of a page of the collection in this state."""
        query = urlencode([*self.fields(), *((name, value) for name, value in more.items() if value)])
        return f"/c/{quote(collection)}{page}" + (f"?{query}" if query else "")

    def changed(self, **fields: Any) -> "BrowseState":
        """Return the state with other values of some fields, at the beginning of its list."""
        return replace(self, **({"after": ""} | fields))

    def crumbs(self) -> list[tuple[str, str]]:
        """Return the names of the folder and of the folders around it, each with its beginning of keys."""
        parts = self.folder.split("/")[:-1] if self.folder.endswith("/") else []
        return [(name, "/".join(parts[: n + 1]) + "/") for n, name in enumerate(parts)]


def field_text(names: str) -> str:
    """Return the path of an attribute as a condition writes it; empty for one that needs quotes."""
    return names if _is_field(names) else ""


def _is_field(text: str) -> bool:
    return bool(_FIELD.fullmatch(text)) and not any(part.lower() in _RESERVED for part in text.split("."))
