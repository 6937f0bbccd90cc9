"""The spaces and extractors of an open collection that are in memory, each loaded when it is first needed.

What learns, searches or decodes is imported with the first of them, so that a collection is described in a moment.
"""

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from engine.catalog.catalog import Transaction
from engine.catalog.description import RAW, no_space, raw_identity
from engine.catalog.extractors import load_extractor
from engine.catalog.views import ViewRecord
from engine.errors import InvalidInputError, StorageError

if TYPE_CHECKING:
    from engine.spaces.live import LiveSpace
    from engine.spaces.space import Space
    from features.base import Extractor

_log = logging.getLogger(__name__)


class LoadedSpaces:
    """Spaces by name, each with its indexes, whose snapshots lie in the folder ``indexes``."""

    def __init__(self, indexes: Path) -> None:
        self.indexes = indexes
        self.live: dict[str, LiveSpace] = {}
        self._loading = threading.Lock()
        self._extractors: dict[tuple[int, int], Extractor] = {}

    def get(self, tx: Transaction, name: str) -> "LiveSpace":
        """Return a space as it is in the catalog, by default the active one; NotFoundError lists those that exist."""
        name = name or tx.active_space() or RAW
        identity = _identity(tx, name)
        if identity is None:
            raise no_space(tx, name)
        from engine.spaces.live import LiveSpace
        from engine.spaces.space import raw_space

        with self._loading:
            if name not in self.live or self.live[name].identity != identity:
                space = raw_space(tx.views.all()) if name == RAW else stored_space(tx, name)
                self.live[name] = LiveSpace(space, self.indexes, identity)
            return self.live[name]

    def save(self, tx: Transaction) -> None:
        """Write snapshots of the spaces that the catalog still has: those of others would only take room."""
        for name, live in self.live.items():
            if _identity(tx, name) == live.identity:
                save(live)

    def extractor(self, tx: Transaction, view: ViewRecord) -> "Extractor":
        """Return the extractor of a view at its present revision."""
        identity = (view.id, view.revision)
        if identity not in self._extractors:
            self._extractors[identity] = load_extractor(tx, view)
        return self._extractors[identity]


def stored_space(tx: Transaction, name: str) -> "Space":
    """Return a trained space by the generation that answers; InvalidInputError for ``raw``, NotFoundError."""
    if name == RAW:
        raise InvalidInputError(f"{RAW!r} is every view already: name a trained space")
    from engine.spaces.space import Space

    number = tx.spaces.in_use().get(name)
    if number is None:
        raise no_space(tx, name)
    return Space.from_state(name, number, tx.spaces.state(name, number))


def save(live: "LiveSpace") -> None:
    """Write snapshots; without them nothing is lost but the time to build the indexes again."""
    try:
        live.save()
    except StorageError as error:
        _log.info("%s", error)


def _identity(tx: Transaction, name: str) -> tuple[int, ...] | None:
    """Return what distinguishes a space from others that had its name; None where there is no space of the name."""
    return raw_identity(tx.views.all()) if name == RAW else tx.spaces.identity(name)
