"""Pages of a list: their sizes, and the opaque tokens of the next pages."""

import base64
import binascii
import re

from crossview.engine.values.errors import InvalidInputError

DEFAULT_SIZE = 100
LARGEST_SIZE = 1000
_NUMBER = re.compile(r"[0-9]{1,18}")
"""Digits that always fit into an integer of SQLite."""


def page_size(requested: int) -> int:
    """Return the number of entries of a page: DEFAULT_SIZE for 0, and at most LARGEST_SIZE.

    Raises InvalidInputError for a negative size.
    """
    if requested < 0:
        raise InvalidInputError(f"page_size is {requested}; it must be 0, for {DEFAULT_SIZE}, or more")
    return min(requested or DEFAULT_SIZE, LARGEST_SIZE)


def to_token(last: str) -> str:
    """Return the token of the page after the entry ``last``."""
    return base64.urlsafe_b64encode(last.encode()).decode()


def from_token(token: str) -> str:
    """Return the last entry before the page of a token; raise InvalidInputError for an invalid token."""
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise InvalidInputError(f"page_token {token!r} is invalid; use the last page's next_page_token") from error


def number_from_token(token: str) -> int | None:
    """Return the last number before the page of a token, None for ""; raise InvalidInputError for an invalid token."""
    text = from_token(token)
    if text and not _NUMBER.fullmatch(text):
        raise InvalidInputError(f"page_token {token!r} is invalid; use the last page's next_page_token")
    return int(text) if text else None
