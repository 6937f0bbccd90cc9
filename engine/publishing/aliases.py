"""Aliases: which generation of a published collection answers; one change of an alias replaces it for all servers."""

import json
import re
from collections.abc import Mapping
from typing import Any

from crossview.engine.publishing.generation import Generation, Names, alias_of, drop
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.values.errors import NotReadyError

_ALIASES = "cv_aliases"
"""The collection that stands for the aliases that Milvus Lite lacks."""
_FOLDER = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}/[0-9a-f]{12}")
"""Paths of bundles, none of which leads out of the place of all bundles."""
_KEPT = 1
"""Former generations that stay in the engine, for a way back."""
_FIELDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "alias": ("VARCHAR", {"max_length": 255}),
    "collection": ("VARCHAR", {"max_length": 255}),
    "vector": ("FLOAT_VECTOR", {"dim": 2}),
}


def point(engine: Milvus, name: str, collection: str) -> None:
    """Let the alias of a published collection stand for a collection of the engine, in one step."""
    alias = alias_of(name)
    if engine.address.is_file:
        _make(engine)
        engine.call("upsert", _ALIASES, [{"alias": alias, "collection": collection, "vector": [0.0, 0.0]}])
    elif pointed(engine, name):
        engine.call("alter_alias", collection, alias)
    else:
        engine.call("create_alias", collection, alias)


def pointed(engine: Milvus, name: str) -> str:
    """Return the collection of the engine that an alias stands for; "" if there is no such alias."""
    alias = alias_of(name)
    if engine.address.is_file:
        return all_pointed(engine).get(alias, "")
    exists = alias in engine.call("list_aliases")["aliases"]
    return str(engine.call("describe_alias", alias)["collection_name"]) if exists else ""


def all_pointed(engine: Milvus) -> dict[str, str]:
    """Return the collection of the engine for each alias of a published collection."""
    if engine.address.is_file:
        _make(engine)
        rows = engine.call("query", _ALIASES, filter='alias != ""', output_fields=["alias", "collection"])
        return {row["alias"]: row["collection"] for row in rows}
    collections = {}
    for alias in engine.call("list_aliases")["aliases"]:
        if alias.startswith("cv_"):
            collections[alias] = engine.call("describe_alias", alias)["collection_name"]
    return collections


def remove(engine: Milvus, name: str) -> None:
    """Remove the alias of a published collection."""
    alias = alias_of(name)
    if engine.address.is_file:
        engine.call("delete", _ALIASES, ids=[alias])
    elif pointed(engine, name):
        engine.call("drop_alias", alias)


def description(engine: Milvus, collection: str) -> Mapping[str, Any]:
    """Return name, bundle and space of a generation by the collection of its items.

    Raises NotReadyError for a collection of another program.
    """
    text = engine.call("describe_collection", collection)["description"]
    try:
        facts = json.loads(text)
        if not _FOLDER.fullmatch(facts["bundle"]):
            raise ValueError
        return {"name": str(facts["name"]), "bundle": str(facts["bundle"]), "space": str(facts["space"])}
    except (ValueError, LookupError, TypeError):
        raise NotReadyError(
            f"collection {collection} of engine {engine.address} was not published by crossview: publish again"
        ) from None


def generations(engine: Milvus, alias: str) -> list[Names]:
    """Return the names of the generations of an alias that the engine has."""
    pattern = re.compile(rf"{re.escape(alias)}_[0-9a-f]{{12}}_items")
    return [Names.of_items(name) for name in sorted(engine.call("list_collections")) if pattern.fullmatch(name)]


def drop_former(engine: Milvus, name: str) -> int:
    """Remove the generations before the one in use, but for the last one; return how many were removed."""
    used = pointed(engine, name)
    former = [names for names in generations(engine, alias_of(name)) if names.items != used]
    gone = sorted(former, key=lambda names: _published(engine, names))[: max(0, len(former) - _KEPT)]
    for names in gone:
        drop(engine, names)
    return len(gone)


def _published(engine: Milvus, names: Names) -> float:
    """Return when a generation was published completely, in seconds since 1970; 0 if it was not."""
    generation = Generation(engine=engine, names=names, views=(), targets=(), indexes={})
    return float(generation.state().get("published", 0.0))


def _make(engine: Milvus) -> None:
    if not engine.call("has_collection", _ALIASES):
        schema = engine.schema(_FIELDS, "")
        index = engine.index("vector", "FLAT", "L2", {})
        engine.call("create_collection", _ALIASES, schema=schema, index_params=index, consistency_level="Strong")
