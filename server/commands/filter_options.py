"""The options that choose items, and a check that each condition applies to some item."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import typer

if TYPE_CHECKING:
    from crossview.engine.condition import Filter
    from crossview.server.backend import CollectionBackend

_COMPARISON = re.compile(r"([^=<>!~]*)([<>!~]=?|==)(.*)", re.DOTALL)
"""A comparison other than equality."""


@dataclass(frozen=True)
class FilterOptions:
    """Conditions; items must meet all of them."""

    PANEL: ClassVar[str] = "Filters"

    label: Annotated[
        list[str] | None,
        typer.Option("--filter-label", metavar="LABEL", help="Only items with this label; repeat for any of several."),
    ] = None
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--filter-without", metavar="LABEL", help="Only items without this label; repeat for none of several."
        ),
    ] = None
    prefix: Annotated[
        str,
        typer.Option("--filter-prefix", metavar="TEXT", help="Only items whose keys begin with this text."),
    ] = ""
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--filter-attribute",
            metavar="KEY=VALUE",
            help="Only items with this attribute; VALUE is JSON, or text.",
        ),
    ] = None

    def given(self) -> bool:
        """Return whether there is any condition."""
        return self != FilterOptions()

    def filter(self, keys: tuple[str, ...] = ()) -> "Filter":
        """Return the filter of these options, among these keys; raise typer.BadParameter for an invalid one."""
        from crossview.engine.condition import Filter

        return Filter(
            labels=tuple(self.label or ()),
            without_labels=tuple(self.without or ()),
            keys=keys,
            key_prefix=self.prefix,
            attributes=attributes(self.attribute, "--filter-attribute"),
        )


def check_names(collection: "CollectionBackend", chosen: "Filter") -> None:
    """Raise NotFoundError for a condition that no item meets, with similar names.

    The engine accepts names that no item has yet, but a person who types such a name has probably mistyped it.
    """
    from crossview.engine.errors import NotFoundError

    if unmet := "; ".join(_unmet(collection, chosen)):
        raise NotFoundError(f"{unmet} in collection {collection.name!r}")


def _unmet(collection: "CollectionBackend", chosen: "Filter") -> Iterator[str]:
    from crossview.engine.condition import Filter

    for label in (*chosen.labels, *chosen.without_labels):
        if not collection.count(Filter(labels=(label,))):
            yield f"no item has the label {label!r}{_similar(label, collection.info().labels)}"
    for name, value in chosen.attributes.items():
        if not collection.count(Filter(attributes={name: value})):
            known = collection.items.attribute_names()
            what = f"{name}={json.dumps(value, ensure_ascii=False)}" if name in known else repr(name)
            yield f"no item has the attribute {what}" + ("" if name in known else _similar(name, known))
    if chosen.key_prefix and not collection.count(Filter(key_prefix=chosen.key_prefix)):
        yield f"no key begins with {chosen.key_prefix!r}"


def _similar(name: str, known: Iterable[str]) -> str:
    from crossview.engine.ingest.near_names import near_names

    found = near_names(name, known)
    return f" (similar: {', '.join(found)})" if found else ""


def attributes(pairs: list[str] | None, option: str) -> dict[str, Any]:
    """Return the values of an option KEY=VALUE by key."""
    values: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if compared := _COMPARISON.fullmatch(pair):
            name, _, value = compared.groups()
            raise typer.BadParameter(
                f"{option} tests for equality, not {pair!r}: write {name}={value}. For a range, choose the "
                "items in Python, and name them with Filter(keys=...)"
            )
        if not equals:
            raise typer.BadParameter(f"{option} takes KEY=VALUE, not {pair!r}")
        if key in values:
            raise typer.BadParameter(f"{option} {key} is given twice, but an attribute has one value")
        values[key] = _value(text)
    return values


def _value(text: str) -> Any:
    from crossview.engine.ingest.cells import json_or_text

    return json_or_text(text, _refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")  # although Python's parser accepts it
