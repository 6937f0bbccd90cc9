"""Spaces in the catalog: generations beside each other, one of them answering."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from engine.catalog.schema import generations, spaces


@dataclass(frozen=True)
class Generation:
    """One training of a space."""

    space: str
    generation: int
    created: str
    sequence: int
    """The collection's sequence that the training saw."""
    summary: Mapping[str, Any]
    """What ``show`` tells of it, without reading the state."""


class Spaces:
    """The spaces of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def answering(self) -> dict[str, int]:
        """Return, by space, the generation that answers."""
        found = self._connection.execute(sa.select(spaces).order_by(spaces.c.name))
        return {row.name: row.generation for row in found}

    def generations(self, space: str) -> list[Generation]:
        """Return a space's generations, oldest first."""
        query = sa.select(generations).where(generations.c.space == space).order_by(generations.c.generation)
        return [
            Generation(row.space, row.generation, row.created, row.sequence, row.summary)
            for row in self._connection.execute(query)
        ]

    def state(self, space: str, generation: int) -> bytes:
        """Return the fitted state of a generation."""
        query = sa.select(generations.c.state).where(
            generations.c.space == space, generations.c.generation == generation
        )
        return bytes(self._connection.execute(query).scalar_one())

    def add(self, new: Generation, state: bytes) -> None:
        """Store a generation; it does not answer yet."""
        if new.space not in self.answering():
            self._connection.execute(sa.insert(spaces).values(name=new.space, generation=new.generation))
        self._connection.execute(
            sa.insert(generations).values(
                space=new.space,
                generation=new.generation,
                created=new.created,
                sequence=new.sequence,
                summary=dict(new.summary),
                state=state,
            )
        )

    def answer_with(self, space: str, generation: int) -> None:
        """Let a generation answer for its space."""
        self._connection.execute(sa.update(spaces).where(spaces.c.name == space).values(generation=generation))
