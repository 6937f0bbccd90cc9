"""Judgements in the catalog: which items people like and dislike, by the name of the feedback."""

from collections.abc import Iterable

import sqlalchemy as sa

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.schema import judgements
from crossview.engine.values.feedback import Judgement

_COLUMNS = tuple(judgements.c[name] for name in Judgement.__dataclass_fields__)


class Judgements:
    """The judgements of one transaction, in the order in which people made them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, feedback: str, judgement: Judgement, created: str) -> None:
        """Store a judgement under the name of a feedback."""
        columns = {name: getattr(judgement, name) for name in ("key", "weight", "person")}
        self._connection.execute(sa.insert(judgements).values(**columns, feedback=feedback, created=created))

    def names(self) -> list[str]:
        """Return the names of all feedback, sorted."""
        query = sa.select(judgements.c.feedback).distinct().order_by(judgements.c.feedback)
        return list(self._connection.scalars(query))

    def all(self, feedback: str) -> list[Judgement]:
        """Return every judgement of a feedback, also those that later ones replace."""
        query = sa.select(*_COLUMNS).where(judgements.c.feedback == feedback).order_by(judgements.c.id)
        return [Judgement(**row._mapping) for row in self._connection.execute(query)]

    def delete(self, ids: Iterable[int]) -> None:
        """Delete judgements by their ids."""
        for some in batches(ids):
            self._connection.execute(sa.delete(judgements).where(judgements.c.id.in_(some)))
