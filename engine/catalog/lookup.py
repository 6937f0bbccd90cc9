"""Items of a catalog, by key, with the names of their views."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from posixpath import normpath

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.checks import normal
from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.item import Item


def item_id(tx: Transaction, key: str) -> int:
    """Return the id of an item; NotFoundError if the key does not exist."""
    ids = tx.items.ids_of([key])
    if not ids:
        raise NotFoundError(f"no item {key!r} in collection {tx.name()!r}")
    return ids[key]


def named_keys(tx: Transaction, names: Sequence[str], match_paths: bool = True) -> dict[str, list[str]]:
    """Return the keys of the items that each name stands for; unknown names are left out.

    A name is a key or, with ``match_paths``, the path of an item's file, full or below a root, with slashes or
    backslashes; a key takes precedence.
    """
    keys_of = {name: [name] for name in tx.items.ids_of(names)}
    if match_paths and (unknown := [name for name in names if name not in keys_of]):
        keys_of |= _by_path(tx, unknown)
        # A name from Windows. A file can also have a backslash in its name, which then takes precedence.
        if slashed := {name: name.replace("\\", "/") for name in unknown if name not in keys_of and "\\" in name}:
            of_slashed = named_keys(tx, list(slashed.values()))
            keys_of |= {name: of_slashed[other] for name, other in slashed.items() if other in of_slashed}
    return keys_of


def _by_path(tx: Transaction, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the keys of the items that were read from these paths, each a full path or a path below a root."""
    # The roots of the catalog do not help: the catalog has no roots for items that a client of a server sent.
    plain = {name: normal(normpath(name)) for name in names}  # ./big/6.jpg is big/6.jpg
    names_of: dict[str, list[str]] = {}
    for name, path in plain.items():
        names_of.setdefault(path, []).append(name)
    keys_of: dict[str, list[str]] = {}
    for key in tx.items.keys().values():
        _, slash, path = key.partition("/")
        for name in (*names_of.get(normal(key), ()), *(names_of.get(normal(path), ()) if slash else ())):
            keys_of.setdefault(name, []).append(key)
    full = {path for path in plain.values() if path.startswith("/") or path[1:3] == ":/"}
    for path, keys in (tx.items.with_sources(full) if full else {}).items():
        for name in names_of[path]:
            keys_of.setdefault(name, []).extend(keys)
    return keys_of


def with_views(tx: Transaction, items: Mapping[int, Item]) -> list[Item]:
    """Return items, given by id, each with the names of the views for which it has a row."""
    names = {view.id: view.name for view in tx.views.all()}
    views = tx.rows.views_of(items)
    return [replace(item, views=tuple(names[view] for view in views.get(number, ()))) for number, item in items.items()]
