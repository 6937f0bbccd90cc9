"""Items that follow their files: new keys of moved files, and items whose files are missing."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import sqlalchemy as sa

from crossview.engine.catalog import bulk
from crossview.engine.catalog.bulk import batches, each, listed
from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.schema import answers, items, judgements, missing_files, pair_judgements, renames
from crossview.engine.values.item import FileMove

Renames = Sequence[Mapping[str, str]]
"""New keys by former key, for each change in their order."""
_SINCE = sa.select(missing_files.c.item_id, missing_files.c.since)


class Moves:
    """The moved and missing files of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def missing(self, ids: Iterable[int] | None = None) -> dict[int, str]:
        """Return since when the files of items are missing, by id, of all items or of those in ``ids``."""
        return {row[0]: row[1] for row in each(self._connection, _SINCE, missing_files.c.item_id, ids)}

    def any_missing(self) -> bool:
        """Return whether the file of any item is missing."""
        return bool(self._connection.scalar(sa.select(sa.exists().select_from(missing_files))))

    def mark(self, ids: Iterable[int], since: str) -> None:
        """Mark items whose files are missing."""
        bulk.insert(self._connection, missing_files, ("item_id", "since"), ((item, since) for item in ids))

    def unmark(self, ids: Iterable[int]) -> None:
        """Remove the marks of items."""
        for some in batches(ids):
            self._connection.execute(sa.delete(missing_files).where(missing_files.c.item_id.in_(listed(some))))

    def move(self, moves: Mapping[int, FileMove], sequence: int) -> None:
        """Give items, by id, the keys and sources of their moved files, as one change.

        Answers and judgements get the new keys, too. No other live item may have one of the keys.
        """
        renamed = {item: move for item, move in moves.items() if move.key != move.new_key}
        # Items can exchange their keys, so first set all keys free: no key contains a NUL.
        bulk.update(self._connection, items, ["key", "normal_key"], ((f"\0{item}", None, item) for item in renamed))
        rows = (
            (key, form if (form := normal(key)) != key else None, source, sequence, item)
            for item, (_, key, source) in moves.items()
        )
        bulk.update(self._connection, items, ["key", "normal_key", "source", "sequence"], rows)
        names = {move.key: move.new_key for move in renamed.values()}
        new = ((sequence, former, key) for former, key in names.items())
        bulk.insert(self._connection, renames, ("sequence", "former", "key"), new)
        self._rename_judged(names)

    def _rename_judged(self, names: Mapping[str, str]) -> None:
        """Rename items in answers and judgements, which can name them in another Unicode form."""
        if not names:
            return
        names = {normal(former): key for former, key in names.items()} | dict(names)
        judged = self._connection.execute(sa.select(judgements.c.id, judgements.c.key)).all()
        changed = ((names[row.key], row.id) for row in judged if row.key in names)
        bulk.update(self._connection, judgements, ["key"], changed)
        for row in self._connection.execute(sa.select(pair_judgements)).all():
            if names.keys() & {row.first, row.second}:
                first, second = sorted(normal(names.get(key, key)) for key in (row.first, row.second))
                new = sa.update(pair_judgements).where(pair_judgements.c.id == row.id)
                self._connection.execute(new.values(first=first, second=second))
        for row in self._connection.execute(sa.select(answers)).all():
            if not names.keys().isdisjoint((row.anchor, *row.near, *row.far)):
                near, far = ([names.get(key, key) for key in keys] for keys in (row.near, row.far))
                values = {"anchor": names.get(row.anchor, row.anchor), "near": near, "far": far}
                self._connection.execute(sa.update(answers).where(answers.c.id == row.id).values(values))

    def last_rename(self) -> int:
        """Return the sequence of the last change that gave items new keys; 0 without one."""
        return int(self._connection.scalar(sa.select(sa.func.max(renames.c.sequence))) or 0)

    def renames_since(self, sequence: int) -> Renames:
        """Return the new keys of items in each change after ``sequence``."""
        query = sa.select(renames.c.sequence, renames.c.former, renames.c.key).where(renames.c.sequence > sequence)
        rows = self._connection.execute(query.order_by(renames.c.sequence, renames.c.id)).all()
        return [{row.former: row.key for row in some} for _, some in groupby(rows, key=lambda row: row.sequence)]
