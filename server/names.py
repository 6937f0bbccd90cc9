"""Resource names: ``collections/{c}``, ``collections/{c}/items/{key=**}``, ``collections/{c}/spaces/{s}``."""

import re

from engine.errors import InvalidInputError

COLLECTION = re.compile(r"collections/(?P<collection>[^/\s]+)")
ITEM = re.compile(r"collections/(?P<collection>[^/\s]+)/items/(?P<key>.+)", re.DOTALL)
SPACE = re.compile(r"collections/(?P<collection>[^/\s]+)/spaces/(?P<space>[^/\s]+)")


def collection_name(collection: str) -> str:
    """Returns the resource name of a collection."""
    return f"collections/{collection}"


def item_name(collection: str, key: str) -> str:
    """Returns the resource name of an item, whose key may contain slashes."""
    return f"collections/{collection}/items/{key}"


def space_name(collection: str, space: str) -> str:
    """Returns the resource name of a space."""
    return f"collections/{collection}/spaces/{space}"


def parse_collection(name: str) -> str:
    """Returns the collection of a resource name; raises InvalidInputError for a name of another form."""
    return _match(COLLECTION, name, "collections/COLLECTION")["collection"]


def parse_item(name: str) -> tuple[str, str]:
    """Returns collection and key of a resource name; raises InvalidInputError for a name of another form."""
    match = _match(ITEM, name, "collections/COLLECTION/items/KEY")
    return match["collection"], match["key"]


def parse_space(name: str) -> tuple[str, str]:
    """Returns collection and space of a resource name; raises InvalidInputError for a name of another form."""
    match = _match(SPACE, name, "collections/COLLECTION/spaces/SPACE")
    return match["collection"], match["space"]


def _match(pattern: re.Pattern[str], name: str, form: str) -> re.Match[str]:
    match = pattern.fullmatch(name)
    if match is None:
        raise InvalidInputError(f"invalid resource name {name!r}; it must have the form {form}")
    return match
