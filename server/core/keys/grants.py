"""The rights of a key on collections: each follows one collection through all its names, or is for one alias."""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from crossview.engine.catalog.names import Names

_SETTLED_NS = 2_000_000_000
"""Age of a change of the home after which no other change can have the same time: some file systems count seconds."""


@dataclass(frozen=True)
class HomeNames:
    """The names of a home at one moment."""

    identities: Mapping[str, str]
    """The identity of the collection of each name and alias; "" for a collection without one."""
    aliases: Mapping[str, str]
    """The collection of each alias."""

    @classmethod
    def of(cls, home: Path) -> "HomeNames":
        """Read the names of a home; StorageError."""
        names = Names(home)
        return cls(names.identities(), names.aliases())


@dataclass(frozen=True)
class Grant:
    """The right to one collection or alias."""

    name: str
    """The name by which the right was given."""
    identity: str = ""
    """The identity of the collection; "" for an alias, and as long as no collection has the name."""
    alias: bool = False
    """Whether the name is that of an alias: the right is for the collection that it stands for at each moment."""

    @property
    def bound(self) -> bool:
        """Whether the name belonged to a collection or an alias since the right was given."""
        return self.alias or bool(self.identity)

    def covers(self, name: str, names: HomeNames) -> bool:
        """Return whether callers may use a name."""
        if self.identity:
            return names.identities.get(name) == self.identity
        return name == self.name and (not self.alias or name in names.aliases or name not in names.identities)

    def binding(self, names: HomeNames, identities: Mapping[str, str]) -> "Grant":
        """Return the grant bound to what its name stands for; itself if it is bound, or nothing has the name."""
        if self.bound or self.name not in names.identities:
            return self
        if self.name in names.aliases:
            return Grant(self.name, alias=True)
        return Grant(self.name, identities.get(self.name, ""))

    def shown(self, names: HomeNames) -> tuple[str, ...]:
        """Return the names of the collection now, none if it was deleted; the name of an alias or of a missing one."""
        if not self.identity:
            return (self.name,)
        now = [name for name, identity in names.identities.items() if identity == self.identity]
        return tuple(sorted(name for name in now if name not in names.aliases))


class LiveNames:
    """The names of a home, read again when its folder has changed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._state: tuple[int, ...] = ()
        self._found = HomeNames({}, {})

    def now(self) -> HomeNames:
        """Return the names; raise StorageError if the home cannot be read."""
        try:
            facts = os.stat(self._home)
        except FileNotFoundError:
            return HomeNames({}, {})
        state = facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns
        if state != self._state or time.time_ns() - facts.st_mtime_ns < _SETTLED_NS:
            self._found, self._state = HomeNames.of(self._home), state
        return self._found

    def renew(self) -> None:
        """Read the names again at the next call of ``now``: identities, too, are new since the last one."""
        self._state = ()


class Reach:
    """The names that callers with a key may use, in a home that changes."""

    def __init__(self, grants: Iterable[Grant], names: LiveNames) -> None:
        self._grants, self._names = tuple(grants), names

    def __contains__(self, name: object) -> bool:
        names = self._names.now()
        return any(grant.covers(str(name), names) for grant in self._grants)
