"""Search results as a contact sheet."""

from collections.abc import Sequence
from typing import Protocol

from engine.errors import NotFoundError
from engine.item import Item
from engine.query import Hit, HitList, Query
from server.drawing.sheet import Strip, Tile


class Items(Protocol):
    """What is drawn of a collection: its items and their thumbnails, by key."""

    def item(self, key: str) -> Item:
        """Returns an item; NotFoundError where no item has the key."""

    def thumbnail(self, key: str) -> bytes:
        """Returns an item's thumbnail, JPEG; NotFoundError where it has no picture."""


def strips(
    collection: Items, queries: Sequence[Query], results: Sequence[HitList], truth: str | None = None
) -> list[Strip]:
    """Returns a row for each list of hits; ``truth`` is the class of queries that are not items."""
    pictures: dict[str, bytes | None] = {}
    rows = []
    for hit_list in results:
        query = queries[hit_list.query]
        labels, tile = _query_tile(collection, query, truth)
        hits = [_hit_tile(collection, hit, labels, pictures) for hit in hit_list.hits]
        asked = f"{query.view} query" if query.inputs() else "every item"
        rows.append(Strip(f"{asked} -> {hit_list.target or 'merged'} database", tile, hits))
    return rows


def _query_tile(collection: Items, query: Query, truth: str | None) -> tuple[set[str], Tile]:
    if query.key is not None:
        item = collection.item(query.key)
        labels = set(item.labels)
        return labels, Tile(thumbnail_of(collection, item.key), ", ".join(item.labels) or item.key, text=item.text)
    if query.label is not None:
        return {query.label}, Tile(None, query.label)
    labels = {truth} if truth else set()
    if not query.inputs():
        return labels, Tile(None, "every item")
    if query.text is not None:
        return labels, Tile(None, truth or "text", text=query.text)
    return labels, Tile(query.image, truth or ("vector" if query.image is None else ""))


def _hit_tile(collection: Items, hit: Hit, labels: set[str], pictures: dict[str, bytes | None]) -> Tile:
    if hit.key not in pictures:
        pictures[hit.key] = thumbnail_of(collection, hit.key)
    correct = bool(labels.intersection(hit.labels)) if labels and hit.labels else None
    return Tile(
        pictures[hit.key], ", ".join(hit.labels) or hit.key, distance=hit.distance, correct=correct, text=hit.text
    )


def thumbnail_of(collection: Items, key: str) -> bytes | None:
    """Returns an item's thumbnail; None for an item without a picture."""
    try:
        return collection.thumbnail(key)
    except NotFoundError:
        return None
