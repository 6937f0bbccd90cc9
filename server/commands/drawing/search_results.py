"""Strips, which sheets and reports show: a query and its hits, or a picture and those beside it."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.item import Item, content_hash
from crossview.engine.values.query import Hit, HitList, Query
from crossview.engine.values.strategy import list_name


class Items(Protocol):
    """The part of a collection that drawing needs: items and their thumbnails, by key."""

    def get(self, key: str) -> Item:
        """Return an item; raise NotFoundError if no item has the key."""

    def thumbnail(self, key: str) -> bytes:
        """Return the JPEG thumbnail of an item; raise NotFoundError if the item has no picture."""


@dataclass(frozen=True)
class Tile:
    """A picture of a sheet with its caption."""

    picture: bytes | None
    """Encoded picture; None for an empty tile."""
    label: str = ""
    """Class label."""
    _: KW_ONLY
    name: str = ""
    """Name of the file."""
    key: str = ""
    """Key of the item, which a page shows on hovering."""
    match: float | None = None
    similarity: float | None = None
    distance: float | None = None
    correct: bool | None = None
    """Whether a hit is relevant to the query: True marks it green with a tick, False red with a cross, None not."""
    text: str = ""
    """Text to show if the tile has no picture."""
    note: str = ""
    """Further words, instead of match and distance."""

    @property
    def figures(self) -> str:
        """The note, or the match and the distance of a hit, its similarity, or the distance alone."""
        distance = _number(self.distance) if self.similarity is None else f"similarity {self.similarity:.4f}"
        return self.note or (distance if self.match is None else f"match {self.match:.2f}, {distance}")


@dataclass(frozen=True)
class Strip:
    """A row of a sheet: a query and its hits, the nearest first."""

    title: str
    """Title with the query and the target, such as "color query -> sift database"."""
    query: Tile
    hits: Sequence[Tile]
    badge: str = "query"
    """The word in the picture on the left."""

    @property
    def tally(self) -> str:
        """The number of marked hits that are right, in words; "" if no hit is marked."""
        marks = [hit.correct for hit in self.hits if hit.correct is not None]
        return f"{sum(marks)} of {len(marks)} right" if marks else ""


def _number(distance: float | None) -> str:
    if distance is None:
        return ""
    return f"{distance:,.0f}" if distance >= 1000 else f"{distance:.4g}"


def strips(
    items: Items, queries: Sequence[Query], results: Sequence[HitList], truth: str | None = None, name: str = ""
) -> list[Strip]:
    """Return a row of a contact sheet for each list of hits.

    ``truth`` is the class of the queries: it marks hits of the class as right and others as wrong, except exact copies
    of the query, which are never wrong. Without it, no hit is marked. ``name`` is the name of the file of the queries.
    """
    tiles = _Tiles(items, truth)
    rows = []
    for hit_list in results:
        query = queries[hit_list.query]
        tile = _query_tile(items, query, truth or "", name)
        hits = [tiles.hit(hit, query) for hit in hit_list.hits]
        source = f"{query.view or 'every view'} query" if query.inputs() else "every item"
        rows.append(Strip(f"{source} -> {list_name(hit_list.target)} database", tile, hits))
    return rows


def _query_tile(items: Items, query: Query, truth: str, name: str) -> Tile:
    if query.key is not None:
        item = items.get(query.key)
        return Tile(
            thumbnail_of(items, item.key),
            ", ".join(item.labels),
            name=file_name(item.key),
            key=item.key,
            text=item.text,
        )
    if query.label is not None:
        return Tile(None, query.label)
    if not query.inputs():
        return Tile(None, "every item")
    if query.text is not None:
        return Tile(None, truth or "text", text=query.text)
    return Tile(query.image, truth or ("vector" if query.image is None else ""), name=name)


class _Tiles:
    """The tiles of hits; each thumbnail is read once."""

    def __init__(self, items: Items, truth: str | None) -> None:
        self._items, self._truth = items, truth
        self._pictures: dict[str, bytes | None] = {}

    def hit(self, hit: Hit, query: Query) -> Tile:
        """Return the tile of a hit of a query."""
        if hit.key not in self._pictures:
            self._pictures[hit.key] = thumbnail_of(self._items, hit.key)
        return Tile(
            self._pictures[hit.key],
            ", ".join(hit.labels),
            name=file_name(hit.key),
            key=hit.key,
            distance=hit.distance,
            match=hit.match,
            similarity=hit.similarity,
            correct=self._correct(hit, query),
            text=hit.text,
        )

    def _correct(self, hit: Hit, query: Query) -> bool | None:
        if self._truth is None or not hit.labels:
            return None
        return self._truth in hit.labels or (None if self._is_copy(hit, query) else False)

    def _is_copy(self, hit: Hit, query: Query) -> bool:
        """Return whether a hit and a query have the same file content."""
        content = "" if query.image is None else content_hash(query.image)
        if query.key is not None:
            content = self._items.get(query.key).content_hash
        return bool(content) and self._items.get(hit.key).content_hash == content


def file_name(key: str) -> str:
    """Return the last part of a key, usually the name of a file."""
    return key.rpartition("/")[2] or key


def thumbnail_of(items: Items, key: str) -> bytes | None:
    """Return the thumbnail of an item; None for an item without a picture."""
    try:
        return items.thumbnail(key)
    except NotFoundError:
        return None
