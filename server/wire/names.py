"""Resource names: ``collections/{c}``, its ``/items/{key=**}`` and ``/spaces/{s}``, and ``operations/{id}``."""

import re

from crossview.engine.values.errors import InvalidInputError

_COLLECTION = r"collections/([^/\s]+)"
OF_KEY = "~"
"""Separates the id of a key from the id that its caller chose for a request; neither contains it."""


def collection_name(collection: str) -> str:
    """Return the resource name of a collection."""
    return f"collections/{collection}"


def item_name(collection: str, key: str) -> str:
    """Return the resource name of an item, whose key may contain slashes."""
    return f"collections/{collection}/items/{key}"


def space_name(collection: str, space: str) -> str:
    """Return the resource name of a space."""
    return f"collections/{collection}/spaces/{space}"


def operation_name(job: str) -> str:
    """Return the resource name of a job's operation."""
    return f"operations/{job}"


def job_id(request: str, key: str) -> str:
    """Return the id of the job of a request, by the id that the caller chose and the id of its key; "" for no key.

    Callers of different keys can choose the same id, and learn nothing about the ids of others.
    """
    return f"{key}{OF_KEY}{request}" if key else request


def parse_collection(name: str) -> str:
    """Return the collection of a resource name; raise InvalidInputError for a name of another form."""
    return _groups(_COLLECTION, name, "collections/COLLECTION")[0]


def parse_item(name: str) -> tuple[str, str]:
    """Return collection and key of a resource name; raise InvalidInputError for a name of another form."""
    collection, key = _groups(f"{_COLLECTION}/items/(.+)", name, "collections/COLLECTION/items/KEY")
    return collection, key


def parse_space(name: str) -> tuple[str, str]:
    """Return collection and space of a resource name; raise InvalidInputError for a name of another form."""
    collection, space = _groups(rf"{_COLLECTION}/spaces/([^/\s]+)", name, "collections/COLLECTION/spaces/SPACE")
    return collection, space


def parse_operation(name: str) -> str:
    """Return the id of a job, from its operation's name; raise InvalidInputError for a name of another form."""
    return _groups(rf"operations/((?:[0-9a-f]{{12}}{OF_KEY})?[a-zA-Z0-9._-]{{1,63}})", name, "operations/ID")[0]


def _groups(pattern: str, name: str, form: str) -> tuple[str, ...]:
    match = re.fullmatch(pattern, name, re.DOTALL)
    if match is None:
        raise InvalidInputError(f"invalid resource name {name!r}; it must have the form {form}")
    return match.groups()
