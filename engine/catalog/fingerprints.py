"""The pictures in the catalog, as the search for duplicates sees them: their facts, fingerprints and thumbnails."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from crossview.engine.catalog import bulk
from crossview.engine.catalog.schema import fingerprints, items, missing_files, thumbnails


class StoredPicture(NamedTuple):
    """The stored facts about an item with a picture."""

    id: int
    key: str
    content_hash: str
    size: int
    """Bytes of the file."""
    modified_ns: int
    """Time of the last write to the file, in nanoseconds since 1970; 0 if unknown."""
    width: int
    height: int
    codes: bytes
    """Its fingerprints; b"" if they are not stored."""


_PICTURES = (
    sa.select(
        *(items.c[name] for name in StoredPicture._fields if name != "codes"),
        sa.func.coalesce(fingerprints.c.codes, sa.literal_column("x''")),
    )
    .select_from(items.join(thumbnails).outerjoin(fingerprints, fingerprints.c.item_id == items.c.id))
    .where(items.c.deleted.is_(False), ~sa.exists().where(missing_files.c.item_id == items.c.id))
)
_THUMBNAILS = sa.select(thumbnails.c.item_id, thumbnails.c.jpeg)


class Fingerprints:
    """The pictures of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def pictures(self, ids: Iterable[int] | None = None) -> list[StoredPicture]:
        """Return the items with a thumbnail whose files are not missing, all or those among ``ids``, by id."""
        rows = bulk.each(self._connection, _PICTURES, items.c.id, ids)
        return sorted((StoredPicture(*row) for row in rows), key=lambda picture: picture.id)

    def thumbnails(self, ids: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the ids of items among ``ids`` that have a thumbnail (JPEG), with it."""
        yield from ((row[0], row[1]) for row in bulk.each(self._connection, _THUMBNAILS, thumbnails.c.item_id, ids))

    def put(self, codes: Mapping[int, bytes]) -> None:
        """Store the fingerprints of items, which replace their former ones."""
        bulk.insert(self._connection, fingerprints, ("item_id", "codes"), codes.items(), replacing=("item_id",))
