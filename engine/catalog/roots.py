"""Roots: the folders that items were indexed from, each under an alias that begins their keys."""

import sqlalchemy as sa

from engine.catalog.schema import roots


class Roots:
    """The roots of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def alias(self, path: str) -> str | None:
        """Return the alias of a root's absolute path."""
        return self._connection.scalar(sa.select(roots.c.alias).where(roots.c.path == path))

    def add(self, path: str, wanted: str) -> str:
        """Return the root's alias, given to it now (``wanted``, or ``wanted-2`` ... where taken) if it is new."""
        if (known := self.alias(path)) is not None:
            return known
        taken = set(self._connection.scalars(sa.select(roots.c.alias)))
        alias, number = wanted, 1
        while alias in taken:
            number += 1
            alias = f"{wanted}-{number}"
        self._connection.execute(sa.insert(roots).values(alias=alias, path=path))
        return alias
