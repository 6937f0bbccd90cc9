"""Pages of a list: sizes and opaque tokens."""

import base64
import binascii

from engine.errors import InvalidInputError

DEFAULT_SIZE = 100
LARGEST_SIZE = 1000


def page_size(asked: int) -> int:
    """How many entries a page has: 0 asks for the default, more than the largest gives the largest.

    Raises InvalidInputError where it is negative.
    """
    if asked < 0:
        raise InvalidInputError(f"page_size is {asked}; it cannot be negative")
    return min(asked or DEFAULT_SIZE, LARGEST_SIZE)


def to_token(last: str) -> str:
    """The token of the page after the entry ``last``."""
    return base64.urlsafe_b64encode(last.encode()).decode()


def from_token(token: str) -> str:
    """The entry that a token's page comes after; raises InvalidInputError where no list gave such a token."""
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise InvalidInputError("bad page_token; use the next_page_token of the page before") from error
