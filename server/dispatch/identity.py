"""The identity of a caller: the name of its key, and the rights of the key."""

from dataclasses import dataclass
from enum import Enum


class Scope(Enum):
    """The rights of a caller."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True)
class Identity:
    """A caller, by the name of its key.

    Attributes:
        name: name of the key; "" for a caller without a key.
        scope: the rights of the caller.
        collections: names of the collections that the caller may use; None: all collections.
    """

    name: str = ""
    scope: Scope = Scope.ADMIN
    collections: frozenset[str] | None = None


LOCAL = Identity()
"""A caller without a key, which has every right."""
