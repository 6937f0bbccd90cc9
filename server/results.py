"""The answer of a search as a contact sheet."""

from collections.abc import Sequence
from pathlib import Path

from engine.errors import NotFoundError
from engine.query import Hit, HitList, Query
from server.backend import CollectionBackend
from server.sheet import Strip, Tile, write_sheet


def strips(
    collection: CollectionBackend, queries: Sequence[Query], results: Sequence[HitList], truth: str | None = None
) -> list[Strip]:
    """One row per list of hits; ``truth`` is the class of the queries, an item's own labels are known."""
    pictures: dict[str, bytes | None] = {}
    made = []
    for found in results:
        query = queries[found.query]
        labels, tile = _query_tile(collection, query, truth)
        hits = [_hit_tile(collection, hit, labels, pictures) for hit in found.hits]
        made.append(Strip(f"{query.view} query -> {found.target or 'merged'} database", tile, hits))
    return made


def write_results(
    path: Path,
    collection: CollectionBackend,
    queries: Sequence[Query],
    results: Sequence[HitList],
    truth: str | None = None,
) -> str:
    """Draws the hits of every list; returns the characters that no font has. Errors are those of ``write_sheet``."""
    return write_sheet(path, strips(collection, queries, results, truth))


def _query_tile(collection: CollectionBackend, query: Query, truth: str | None) -> tuple[set[str], Tile]:
    if query.key is not None:
        item = collection.item(query.key)
        labels = set(item.labels)
        return labels, Tile(_thumbnail(collection, item.key), ", ".join(item.labels) or item.key, text=item.text)
    labels = {truth} if truth else set()
    if query.text is not None:
        return labels, Tile(None, truth or "text", text=query.text)
    return labels, Tile(query.image, truth or ("vector" if query.image is None else ""))


def _hit_tile(collection: CollectionBackend, hit: Hit, labels: set[str], pictures: dict[str, bytes | None]) -> Tile:
    if hit.key not in pictures:
        pictures[hit.key] = _thumbnail(collection, hit.key)
    right = bool(labels.intersection(hit.labels)) if labels and hit.labels else None
    return Tile(pictures[hit.key], ", ".join(hit.labels) or hit.key, hit.distance, right, hit.text)


def _thumbnail(collection: CollectionBackend, key: str) -> bytes | None:
    """None for an item without a picture."""
    try:
        return collection.thumbnail(key)
    except NotFoundError:
        return None
