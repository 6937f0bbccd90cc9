"""The identity of a caller: a name, a scope, and the collections that it reaches."""

import ast
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

from crossview.engine.values.errors import NotFoundError, Text, call
from crossview.server.wire.names import job_id


class Scope(Enum):
    """The rights of a caller, the least first: each scope contains the earlier ones."""

    READ = "read"
    """Search and read; evaluate; submit and manage jobs that change nothing."""
    WRITE = "write"
    """Change items, views, spaces, answers and judgements of existing collections."""
    ADMIN = "admin"
    """Create, copy, rename and delete collections and aliases; see the jobs of all keys and the paths of files."""


_MISSING = re.compile(r"""(?:no collection|alias) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
"""The beginning of the engine's messages on a missing collection, which may come from another process."""
_RANKS = {scope: rank for rank, scope in enumerate(Scope)}


@dataclass(frozen=True)
class Identity:
    """The caller of a method, as its key states it; the default is a local caller with every right."""

    name: str = ""
    """The name of the key; empty without a key."""
    scope: Scope = Scope.ADMIN
    collections: Container[str] | None = None
    """The collections and aliases that the caller may name; None for all."""
    paths: bool = True
    """Whether the caller sees absolute paths of source files."""
    id: str = ""
    """The public id of the key: jobs belong to the key with their id, also if a later key has its name."""

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has a scope, or one that contains it."""
        return _RANKS[self.scope] >= _RANKS[scope]

    def reaches(self, collection: str) -> bool:
        """Return whether the caller may name a collection or an alias."""
        return self.collections is None or collection in self.collections

    def check_reaches(self, collection: str) -> None:
        """Raise the NotFoundError of a missing collection unless the caller may name it, whether or not it exists."""
        if not self.reaches(collection):
            raise NotFoundError(_missing(collection))

    def owns(self, key: str) -> bool:
        """Return whether the caller sees and cancels the jobs of a key, by the id of the key."""
        return self.scope is Scope.ADMIN or (bool(self.id) and self.id == key)

    def shown(self, message: str) -> Text:
        """Return the message of an error as the caller may see it.

        The message on a missing collection lists others, and so becomes that on a refused one. Ids of the caller's own
        jobs lose the id of its key.
        """
        match = None if self.collections is None else _MISSING.match(message)
        if match is not None:
            return _missing(ast.literal_eval(match[1]))
        return Text.of(message.replace(job_id("", self.id), ""), getattr(message, "remedies", ()))


LOCAL = Identity()
"""A caller without a key: it has every right."""
_acting: ContextVar[Identity] = ContextVar("acting", default=LOCAL)


def _missing(collection: str) -> Text:
    """Return the message on a collection that does not exist, or that the key does not reach: it does not say which."""
    return Text(
        f"no collection {collection!r} for this key; list the collections of the key with: ", call("home.names")
    )


@contextmanager
def acting(identity: Identity) -> Iterator[None]:
    """Let ``identity_here`` return an identity inside the block."""
    token = _acting.set(identity)
    try:
        yield
    finally:
        _acting.reset(token)


def identity_here() -> Identity:
    """Return the caller of the call that this thread or task answers; ``LOCAL`` outside of a call."""
    return _acting.get()
