"""Joined views: several views as one, such as ``color+gist``, whose rows concatenate the rows of the parts."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Catalog, NamedViews, Transaction
from crossview.engine.catalog.extractors import find_view
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.values.errors import InvalidInputError

JOINT = "+"
"""Separates the parts in the name of a joined view; the names of single views cannot contain it."""
_COMPARED_AT_ONCE = 1_000


@dataclass(frozen=True)
class JoinedView:
    """The views of a collection that a name stands for, in order; a name without ``+`` stands for one view.

    An item has a joined view if it has every part. Its row concatenates the stored rows of the parts; a space that
    learns from them scales them.
    """

    parts: tuple[ViewRecord, ...]

    @cached_property
    def name(self) -> str:
        """The names of the parts, joined by ``+``."""
        return JOINT.join(part.name for part in self.parts)

    @cached_property
    def dim(self) -> int:
        """Length of its rows."""
        return sum(part.dim for part in self.parts)

    @property
    def revisions(self) -> dict[str, int]:
        """The current revision of every part, by its name."""
        return {part.name: part.revision for part in self.parts}

    def rows(self, tx: Transaction, ids: Iterable[int] | None = None) -> ViewRows:
        """Return the rows of the given items that have the view, of every item by default."""
        items = None if ids is None else list(ids)
        parts = [tx.rows.get(part, items) for part in self.parts]
        if len(parts) == 1:
            return parts[0]
        common = reduce(np.intersect1d, [part.ids for part in parts])
        return ViewRows(common, np.hstack([part.rows[np.searchsorted(part.ids, common)] for part in parts]))

    def of_keys(
        self, source: Catalog | Transaction, keys: Collection[str]
    ) -> tuple[tuple[str, int], dict[str, tuple[int, NDArray[np.float32]]]]:
        """Return the state of the catalog, as in ``Head``, and by key the id and row, (d,), of items with the view."""
        history, sequence, entries = source.row(self._query, json.dumps(list(keys)))
        by_key = {
            key: (item, np.frombuffer(bytes.fromhex("".join(parts)), "<f4").astype(np.float32))
            for key, item, *parts in json.loads(entries)
        }
        return (history, sequence), by_key

    @cached_property
    def _query(self) -> str:
        """Returns all items as one row, because the driver releases the interpreter lock for each row.

        ``CROSS JOIN`` lets SQLite begin with the keys, however many items there are.
        """
        tables, columns = "json_each(?) AS asked CROSS JOIN items ON items.key = asked.value AND items.deleted IS 0", ""
        for number, part in enumerate(self.parts):
            same = f"rows_{number}.view_id = {part.id} AND rows_{number}.revision = {part.revision}"
            tables += f" CROSS JOIN rows AS rows_{number} ON rows_{number}.item_id = items.id AND {same}"
            columns += f", hex(rows_{number}.data)"
        entries = f"SELECT json_group_array(json_array(items.key, items.id{columns})) FROM {tables}"  # noqa: S608 - numbers of this program
        return f"SELECT history, sequence, ({entries}) FROM collection"  # noqa: S608 - as above

    def ids(self, tx: Transaction) -> NDArray[np.int64]:
        """Return the ids of the items that have the view, ascending."""
        return reduce(np.intersect1d, [tx.rows.ids(part) for part in self.parts])

    def has_equal_rows(self, tx: Transaction) -> bool:
        """Return whether two or more items have the view, and all have the same row, which tells none from another."""
        ids, first = self.ids(tx), None
        for start in range(0, len(ids), _COMPARED_AT_ONCE):
            rows = self.rows(tx, ids[start : start + _COMPARED_AT_ONCE].tolist()).rows
            first = rows[0] if first is None else first
            if (rows != first).any():
                return False
        return len(ids) > 1


def part_names(view: str) -> tuple[str, ...]:
    """Return the names of a view's parts; a single view is its own part.

    Raises InvalidInputError if a part has no name or occurs twice.
    """
    names = tuple(view.split(JOINT))
    if len(names) > 1 and not all(names):
        raise InvalidInputError(f"{view!r} joins a view without a name: write two or more names, such as color+gist")
    if repeated := [name for number, name in enumerate(names) if name in names[:number]]:
        raise InvalidInputError(f"{view!r} contains view {repeated[0]!r} twice: name every view once")
    return names


def joined_view(tx: NamedViews, name: str) -> JoinedView:
    """Return the view or views that a name stands for.

    Raises NotFoundError for an unknown view, which lists the existing ones, and InvalidInputError as ``part_names``.
    """
    return JoinedView(tuple(find_view(tx, part) for part in part_names(name)))
