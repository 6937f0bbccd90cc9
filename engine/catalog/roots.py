"""Roots: the folders that items were indexed from, each under an alias that begins their keys."""

from collections.abc import Iterable

import sqlalchemy as sa

from crossview.engine.catalog.schema import roots


class Roots:
    """The roots of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def aliases(self) -> dict[str, str]:
        """Return the alias of every root by its absolute path."""
        return {row.path: row.alias for row in self._connection.execute(sa.select(roots))}

    def add(self, path: str, wanted: str) -> str:
        """Return the alias that a new root is given: ``wanted``, or ``wanted-2`` ... where that is taken."""
        alias = free_alias(wanted, self.aliases().values())
        self._connection.execute(sa.insert(roots).values(alias=alias, path=path))
        return alias


def free_alias(wanted: str, taken: Iterable[str]) -> str:
    """Return the alias that is wanted, with the first free number behind it where it is taken."""
    aliases, alias, number = set(taken), wanted, 1
    while alias in aliases:
        number += 1
        alias = f"{wanted}-{number}"
    return alias
