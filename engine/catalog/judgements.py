"""The judgements of people in the catalog: on items of a search, on pairs of pictures, and answers to questions."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.schema import answers, judgements, pair_judgements
from crossview.engine.values.comparisons import Answer
from crossview.engine.values.duplicate import PairJudgement
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


_PAIR_COLUMNS = tuple(pair_judgements.c[name] for name in PairJudgement.__dataclass_fields__)


class PairJudgements:
    """The judgements of one transaction, in the order in which people made them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, judgement: PairJudgement, created: str) -> PairJudgement:
        """Store a judgement, and return it with its number and time."""
        values = {name: getattr(judgement, name) for name in ("first", "second", "same", "person")}
        statement = sa.insert(pair_judgements).values(**values, created=created).returning(*_PAIR_COLUMNS)
        return PairJudgement(**self._connection.execute(statement).one()._mapping)

    def all(self) -> list[PairJudgement]:
        """Return every judgement, also those that later ones replace."""
        rows = self._connection.execute(sa.select(*_PAIR_COLUMNS).order_by(pair_judgements.c.id))
        return [PairJudgement(**row._mapping) for row in rows]

    def delete(self, number: int) -> None:
        """Delete the judgement with a number."""
        self._connection.execute(sa.delete(pair_judgements).where(pair_judgements.c.id == number))


class Answers:
    """The answers of one transaction, in the order in which they were given."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, answer: Answer, created: str) -> Answer:
        """Store an answer and return it with its id."""
        columns = {
            name: getattr(answer, name) for name in ("person", "notion", "kind", "anchor", "near", "far", "feedback")
        }
        statement = sa.insert(answers).values(**columns, created=created).returning(*answers.c)
        return _answer(self._connection.execute(statement).one())

    def page(self, notion: str = "", person: str = "", after: int = 0, limit: int | None = None) -> list[Answer]:
        """Return up to ``limit`` answers with ids above ``after``; only those of ``notion`` and ``person`` if given."""
        query = sa.select(answers).where(answers.c.id > after, *_of(notion, person)).order_by(answers.c.id)
        return [_answer(row) for row in self._connection.execute(query.limit(limit))]

    def last(self, notion: str, person: str) -> Answer | None:
        """Return the last answer of a person in a notion; None if the person gave no answer."""
        query = sa.select(answers).where(*_of(notion, person)).order_by(answers.c.id.desc()).limit(1)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else _answer(row)

    def of_feedback(self, feedback: str) -> list[Answer]:
        """Return the answers that were made from the judgements of a feedback, in their order."""
        query = sa.select(answers).where(answers.c.feedback == feedback, answers.c.feedback != "")
        return [_answer(row) for row in self._connection.execute(query.order_by(answers.c.id))]

    def delete(self, answer: int) -> None:
        """Delete an answer by its id."""
        self._connection.execute(sa.delete(answers).where(answers.c.id == answer))


def _of(notion: str, person: str) -> list["sa.ColumnElement[bool]"]:
    pairs = ((answers.c.notion, notion), (answers.c.person, person))
    return [column == value for column, value in pairs if value]


def _answer(row: "sa.Row[Any]") -> Answer:
    columns = {name: value for name, value in row._mapping.items() if name != "kind"}
    return Answer(**columns | {"near": tuple(row.near), "far": tuple(row.far)})
