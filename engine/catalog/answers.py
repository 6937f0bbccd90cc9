"""Answers in the catalog: people's choices between items in a notion of similarity."""

from typing import Any

import sqlalchemy as sa

from crossview.engine.catalog.schema import answers
from crossview.engine.values.comparisons import Answer


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
        found = self._connection.execute(query).one_or_none()
        return None if found is None else _answer(found)

    def of_feedback(self, feedback: str) -> list[Answer]:
        """Return the answers that were made from the judgements of a feedback, in their order."""
        query = sa.select(answers).where(answers.c.feedback == feedback, answers.c.feedback != "")
        return [_answer(row) for row in self._connection.execute(query.order_by(answers.c.id))]

    def delete(self, answer: int) -> None:
        """Delete an answer by its id."""
        self._connection.execute(sa.delete(answers).where(answers.c.id == answer))


def _of(notion: str, person: str) -> list["sa.ColumnElement[bool]"]:
    named = ((answers.c.notion, notion), (answers.c.person, person))
    return [column == value for column, value in named if value]


def _answer(row: "sa.Row[Any]") -> Answer:
    columns = {name: value for name, value in row._mapping.items() if name != "kind"}
    return Answer(**columns | {"near": tuple(row.near), "far": tuple(row.far)})
