"""Judgements in the catalog on pairs of pictures: whether they are the same photograph."""

import sqlalchemy as sa

from crossview.engine.catalog.schema import pair_judgements
from crossview.engine.values.duplicate import PairJudgement

_COLUMNS = tuple(pair_judgements.c[name] for name in PairJudgement.__dataclass_fields__)


class PairJudgements:
    """The judgements of one transaction, in the order in which people made them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, judgement: PairJudgement, created: str) -> PairJudgement:
        """Store a judgement, and return it with its number and time."""
        values = {name: getattr(judgement, name) for name in ("first", "second", "same", "person")}
        statement = sa.insert(pair_judgements).values(**values, created=created).returning(*_COLUMNS)
        return PairJudgement(**self._connection.execute(statement).one()._mapping)

    def all(self) -> list[PairJudgement]:
        """Return every judgement, also those that later ones replace."""
        found = self._connection.execute(sa.select(*_COLUMNS).order_by(pair_judgements.c.id))
        return [PairJudgement(**row._mapping) for row in found]

    def delete(self, number: int) -> None:
        """Delete the judgement with a number."""
        self._connection.execute(sa.delete(pair_judgements).where(pair_judgements.c.id == number))
