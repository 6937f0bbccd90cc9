"""The keys that follow a collection whose name becomes free."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import StorageError
from crossview.server.core.keys.keys import Keys

_log = logging.getLogger("crossview.server")


def followers(home: Home, collection: str) -> list[str]:
    """Return the names of the keys that follow a collection, sorted, after binding those that have only its name.

    A disk that is full must not keep a collection from being deleted: StorageError becomes a warning in the log.
    """
    keys = Keys(home.path)
    try:
        keys.bind()
    except StorageError as error:
        _log.warning("cannot bind keys to collection %r: %s", collection, error)
    return keys.of_collection(collection)


@contextmanager
def freeing(home: Home, collection: str, outcome: str) -> Iterator[None]:
    """Log the keys that follow a collection, with what happens to them, after the block that frees its name."""
    names = followers(home, collection)
    yield
    if names:
        _log.info("%s: %s", outcome, ", ".join(names))
