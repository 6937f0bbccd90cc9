"""Roots: the folders of indexed files, each with an alias that is the first part of the keys."""

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from crossview.engine.catalog.schema import roots


class Roots:
    """The roots of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def aliases(self) -> dict[str, str]:
        """Return the alias of every root by its absolute path."""
        return {row.path: row.alias for row in self._connection.execute(sa.select(roots))}

    def replace(self, aliases: Mapping[str, str]) -> None:
        """Replace all roots: the aliases by path."""
        self._connection.execute(sa.delete(roots))
        if aliases:
            rows = [{"alias": alias, "path": path} for path, alias in aliases.items()]
            self._connection.execute(sa.insert(roots), rows)


def free_alias(wanted: str, taken: Iterable[str]) -> str:
    """Return the wanted alias, with the first free number after it if it is taken."""
    aliases, alias, number = set(taken), wanted, 1
    while alias in aliases:
        number += 1
        alias = f"{wanted}-{number}"
    return alias
