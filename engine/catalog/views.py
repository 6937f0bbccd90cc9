"""Views as the catalog stores them: an extractor, its parameters, and its fitted revisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from crossview.engine.catalog.schema import collection, view_revisions, views


@dataclass(frozen=True, kw_only=True)
class ViewRecord:
    """One view of a collection."""

    id: int
    """Id of the view, never reused after a deletion: derived data is current if id and revision match."""
    name: str
    extractor: str
    params: Mapping[str, Any]
    dim: int
    revision: int
    """The current revision of the fitted extractor; 0 until it is fitted."""
    history: str
    """The catalog's history, new in a restored copy: ids and revisions of another history mean other things."""
    packaged: Mapping[str, Any] | None = None
    """The package of the extractor and what its class states; None for an extractor of crossview."""


_HISTORY = sa.select(collection.c.history).scalar_subquery().label("history")
_COLUMNS = tuple(views.c.get(name, _HISTORY) for name in ViewRecord.__dataclass_fields__)
_ALL = sa.select(*_COLUMNS).order_by(views.c.id)
"""Made once, like the other queries of each new version: making the expression takes longer than the query."""


class Views:
    """The views of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._known: tuple[ViewRecord, ...] | None = None
        """A cache: within a transaction only the methods below change the views."""

    def all(self) -> tuple[ViewRecord, ...]:
        """Return every view in the order of its creation."""
        if self._known is None:
            rows = self._connection.execute(_ALL)
            self._known = tuple(ViewRecord(**row._mapping) for row in rows)
        return self._known

    def add(self, *, revision: int, **described: Any) -> None:
        """Add a view at a revision; ``described`` are its other fields, without id and history."""
        self._known = None
        # SQLite would reuse the id of the last view after its deletion. ``delete`` keeps the sequence at or above
        # that id.
        highest = self._connection.scalar(sa.select(sa.func.max(views.c.id))) or 0
        sequence = self._connection.scalar(sa.select(collection.c.sequence)) or 0
        new = {**described, "id": max(highest, sequence) + 1, "revision": revision}
        self._connection.execute(sa.insert(views).values(**new))

    def delete(self, view: ViewRecord) -> None:
        """Delete a view and its fitted states; the caller removes its rows from the row store.

        The collection's sequence rises at least to the view's id, so that no later view gets this id.
        """
        self._known = None
        self._connection.execute(sa.delete(view_revisions).where(view_revisions.c.view_id == view.id))
        self._connection.execute(sa.delete(views).where(views.c.id == view.id))
        behind = sa.update(collection).where(collection.c.sequence < view.id)
        self._connection.execute(behind.values(sequence=view.id))

    def add_revision(self, view: ViewRecord, state: bytes | None, params: Mapping[str, Any] | None = None) -> int:
        """Store a state, None without one, as the view's current revision and return its number.

        The view has other parameters from this revision on, if there are ``params``.
        """
        self._known = None
        revision = view.revision + 1
        if state is not None:
            self._connection.execute(sa.insert(view_revisions).values(view_id=view.id, revision=revision, state=state))
        new = {"revision": revision, "params": view.params if params is None else dict(params)}
        self._connection.execute(sa.update(views).where(views.c.id == view.id).values(**new))
        return revision

    def state(self, view: ViewRecord, revision: int) -> bytes | None:
        """Return the fitted state of a revision; None for an extractor without fitted state."""
        query = sa.select(view_revisions.c.state).where(view_revisions.c.view_id == view.id)
        return self._connection.scalar(query.where(view_revisions.c.revision == revision))
