"""Pages of a list: their sizes, and opaque tokens."""

import base64
import binascii

from crossview.engine.errors import InvalidInputError

DEFAULT_SIZE = 100
LARGEST_SIZE = 1000


def page_size(requested: int) -> int:
    """Returns how many entries a page has: the default for 0, and at most LARGEST_SIZE.

    Raises InvalidInputError for a negative size.
    """
    if requested < 0:
        raise InvalidInputError(f"page_size is {requested}; it must be 0, for {DEFAULT_SIZE}, or more")
    return min(requested or DEFAULT_SIZE, LARGEST_SIZE)


def to_token(last: str) -> str:
    """Returns the token of the page after the entry ``last``."""
    return base64.urlsafe_b64encode(last.encode()).decode()


def from_token(token: str) -> str:
    """Returns the entry before a token's page; raises InvalidInputError for what is not a token."""
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise InvalidInputError(f"page_token {token!r} is invalid; use the last page's next_page_token") from error
