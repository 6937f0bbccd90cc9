"""The state of the search page, which is the query of its address, so that links are permanent."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from crossview.server.edge.pages.fields import Fields

_EXAMPLES = {
    "like": ("key", True),
    "not-like": ("key", False),
    "picture": ("picture", True),
    "not-picture": ("picture", False),
}
"""The fields of examples, with their kind and whether results should be like them."""
_MOST_EXAMPLES = 40
EACH, ONE = "each", "one"


@dataclass(frozen=True)
class Example:
    """An item, by its key, or an uploaded picture, by its id, that results should or should not be like."""

    kind: str
    value: str
    liked: bool = True

    @property
    def field(self) -> str:
        """The name of the field in the address."""
        return next(name for name, parts in _EXAMPLES.items() if parts == (self.kind, self.liked))


@dataclass(frozen=True)
class Setting:
    """One way to search: the view of the query, the targets and the space; empty for the defaults."""

    view: str = ""
    targets: tuple[str, ...] = ()
    space: str = ""

    def fields(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield the fields of the address."""
        yield f"{prefix}view", self.view
        for target in self.targets:
            yield f"{prefix}target", target
        yield f"{prefix}space", self.space


def _setting(fields: Fields, prefix: str) -> Setting:
    targets = fields.texts(f"{prefix}target")
    return Setting(fields.text(f"{prefix}view"), targets, fields.text(f"{prefix}space"))


@dataclass(frozen=True)
class SearchState:
    """A search as a person has set it up."""

    text: str = ""
    examples: tuple[Example, ...] = ()
    where: str = ""
    lists: str = ONE
    """``one``: one list over all targets; ``each``: a list for each target, side by side."""
    per: str = ""
    """The field by whose values results are groups, of which only the first result is shown."""
    missing: bool = False
    """Whether items whose files are missing are shown, too."""
    setting: Setting = field(default_factory=Setting)
    other: Setting | None = None
    """The setting to compare with."""
    item: str = ""
    """The key of the item whose details are open."""
    order: str = ""
    """Without a query: ``key`` for the order of the keys, otherwise a sample."""

    @classmethod
    def of(cls, fields: Fields) -> "SearchState":
        """Return the state of an address."""
        examples = [(_EXAMPLES[name], value) for name, value in fields if name in _EXAMPLES and value]
        unique = {(kind, value): Example(kind, value, liked) for (kind, liked), value in examples}
        return cls(
            text=fields.text("q"),
            examples=tuple(unique.values())[:_MOST_EXAMPLES],
            where=fields.text("where"),
            lists=EACH if fields.text("lists") == EACH else ONE,
            per=fields.text("per"),
            missing=fields.text("missing") == "1",
            setting=_setting(fields, ""),
            other=_setting(fields, "b-") if fields.text("compare") == "1" else None,
            item=fields.text("item"),
            order="key" if fields.text("order") == "key" else "",
        )

    @property
    def asks(self) -> bool:
        """Whether there is a query."""
        return bool(self.text or self.examples)

    def fields(self) -> list[tuple[str, str]]:
        """Return the fields of the address, without empty ones."""
        pairs = [
            ("q", self.text),
            *((example.field, example.value) for example in self.examples),
            ("where", self.where),
            ("lists", self.lists if self.lists != ONE else ""),
            ("per", self.per),
            ("missing", "1" if self.missing else ""),
            ("order", self.order),
            *self.setting.fields(""),
            ("item", self.item),
        ]
        if self.other is not None:
            pairs += [("compare", "1"), *self.other.fields("b-")]
        return [(name, value) for name, value in pairs if value]

    def address(self, collection: str, page: str = "", **more: str) -> str:
        """Return the address of a page of the collection in this state."""
        query = urlencode([*self.fields(), *((name, value) for name, value in more.items() if value)])
        return f"/c/{quote(collection)}{page}" + (f"?{query}" if query else "")

    def by(self, key: str) -> "SearchState":
        """Return the state that searches by one item alone."""
        return replace(self, text="", examples=(Example("key", key),), item="")

    def having(self, example: Example) -> "SearchState":
        """Return the state with an example, instead of the same item or picture with another sign."""
        others = [other for other in self.examples if (other.kind, other.value) != (example.kind, example.value)]
        return replace(self, examples=(*others, example))

    def without(self, example: Example) -> "SearchState":
        """Return the state without an example."""
        return replace(self, examples=tuple(other for other in self.examples if other != example))

    def turned(self, example: Example) -> "SearchState":
        """Return the state with an example of the other sign, in its place."""
        turned = replace(example, liked=not example.liked)
        return replace(self, examples=tuple(turned if other == example else other for other in self.examples))

    def compared(self) -> "SearchState":
        """Return the state that compares the setting with itself, or stops to compare."""
        return replace(self, other=self.setting if self.other is None else None)

    def changed(self, **fields: Any) -> "SearchState":
        """Return the state with other values of some fields."""
        return replace(self, **fields)
