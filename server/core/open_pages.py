"""The pages of searches and of duplicates that clients of a server read, one call after another."""

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from crossview.engine.values.duplicate import Duplicates
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.server.wire import pages as wire
from crossview.server.wire.identity import identity_here

MOST = 32
"""Maximum number of searches whose pages are kept; the least recently read one is closed first."""
IDLE_SECONDS = 300.0
"""Time without a read after which the pages of a search are closed."""
_GONE = (
    "the pages of this search are gone: nobody read them for {:.0f} minutes, or the server closed them to keep "
    "others, or ended: search again from the first page"
)


class Closable(Protocol):
    """An object that a call keeps for the next ones."""

    def close(self) -> None:
        """Free what it holds."""


@dataclass(frozen=True)
class FoundDuplicates:
    """The answer to a search for duplicates, whose groups a client reads page by page."""

    duplicates: Duplicates

    def close(self) -> None:
        """Do nothing: the answer holds only memory."""


P = TypeVar("P", bound=Closable)


@dataclass
class _Open(Generic[P]):
    reader: tuple[str, str]
    """The collection, and the id of the key of the caller."""
    pages: P
    used: float


class OpenPages(Generic[P]):
    """The open pages of one process, by a random id, which belongs to the key of the caller that opened them.

    Several threads may call the methods at once.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open[P]] = {}
        self._lock = threading.Lock()

    def add(self, collection: str, pages: P) -> str:
        """Keep the pages of a search in a collection; return their id."""
        pages_id = secrets.token_urlsafe(16)
        with self._lock:
            self._open[pages_id] = _Open(_reader(collection), pages, time.monotonic())
            closing = [self._open.pop(next(iter(self._open))) for _ in range(len(self._open) - MOST)]
        _close(closing)
        return pages_id

    def get(self, collection: str, pages_id: str) -> P:
        """Return the pages of an id; NotFoundError if they are gone, of another collection, or of another key."""
        with self._lock:
            entry = self._open.get(pages_id)
            if entry is None or entry.reader != _reader(collection):
                raise NotFoundError(_GONE.format(IDLE_SECONDS / 60))
            self._open[pages_id] = self._open.pop(pages_id)  # at the end: the most recently used
            entry.used = time.monotonic()
            return entry.pages

    def end(self, pages_id: str) -> None:
        """Close the pages of an id, if they are open."""
        with self._lock:
            entry = self._open.pop(pages_id, None)
        _close([entry] if entry else [])

    def close_idle(self, seconds: float = IDLE_SECONDS) -> None:
        """Close the pages that nobody has read for ``seconds``."""
        latest = time.monotonic() - seconds
        with self._lock:
            idle = [pages_id for pages_id, entry in self._open.items() if entry.used <= latest]
            closing = [self._open.pop(pages_id) for pages_id in idle]
        _close(closing)


def _reader(collection: str) -> tuple[str, str]:
    """Return the collection with the key of the caller here."""
    return collection, identity_here().id


def _close(entries: list[_Open[P]]) -> None:
    for entry in entries:
        entry.pages.close()


def to_token(pages_id: str, first: int) -> str:
    """Return the token of the page from a place on."""
    return wire.to_token(f"{pages_id}:{first}")


def from_token(token: str) -> tuple[str, int]:
    """Return the id and the first place of a token; InvalidInputError for a text that is not a token."""
    pages_id, colon, first = wire.from_token(token).partition(":")
    if not colon or not first.isdecimal() or not first.isascii() or len(first) > 9:
        raise InvalidInputError(f"page_token {token!r} is invalid; use the last page's next_page_token")
    return pages_id, int(first)
