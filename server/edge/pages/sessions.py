"""The sessions of browsers: a cookie with a random id, a token against forged requests, and what the server keeps."""

import hmac
import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from crossview.server.edge.pages.uploads import Uploads

_ID = re.compile(r"[A-Za-z0-9_-]{43}")
_IDLE_SECONDS, _WHOLE_SECONDS = 12 * 3_600.0, 7 * 86_400.0
"""A session ends after this time without a request, and after this time at the latest."""
_MOST = 2_000
"""Maximum number of kept sessions; the one that has been idle longest ends first."""


@dataclass(eq=False)
class Session:
    """The state of a browser in the server: the key of its user, and uploaded pictures."""

    key: str = field(default="", repr=False)
    """The key for calls; empty without one."""
    uploads: Uploads = field(default_factory=Uploads)
    began: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether the session has ended."""
        now = time.monotonic()
        return now - self.used > _IDLE_SECONDS or now - self.began > _WHOLE_SECONDS


class Sessions:
    """The sessions of a server, in its memory alone; only the event loop uses them.

    A browser without a session has an id, too, for its token; the server keeps it only after an upload or a login.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._secret = secrets.token_bytes(32)

    @staticmethod
    def new_id() -> str:
        """Return a random id."""
        return secrets.token_urlsafe(32)

    @staticmethod
    def is_id(text: str) -> bool:
        """Return whether a text has the form of an id."""
        return _ID.fullmatch(text) is not None

    def get(self, session_id: str) -> Session | None:
        """Return the kept session of an id; None if there is none, or it has ended."""
        session = self._kept.get(session_id)
        if session is None or session.over:
            self._kept.pop(session_id, None)
            return None
        session.used = time.monotonic()
        self._kept.move_to_end(session_id)
        return session

    def keep(self, session_id: str, session: Session) -> None:
        """Keep a session."""
        self._kept[session_id] = session
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def end(self, session_id: str) -> None:
        """Forget a session."""
        self._kept.pop(session_id, None)

    def token(self, session_id: str) -> str:
        """Return the token that requests of a session must contain to change something."""
        return hmac.digest(self._secret, session_id.encode(), "sha256").hex()

    def is_token(self, session_id: str, text: str) -> bool:
        """Return whether a text is the token of a session."""
        return hmac.compare_digest(self.token(session_id).encode(), text.encode(errors="replace"))

    def make_room(self, size: int) -> None:
        """Forget uploads of the sessions that have been idle longest, until all have room for so many bytes more."""
        total = sum(session.uploads.size for session in self._kept.values())
        for session in self._kept.values():
            if total + size <= Uploads.MOST_OF_ALL:
                return
            total -= session.uploads.size
            session.uploads.clear()
