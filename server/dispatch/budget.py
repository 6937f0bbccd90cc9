"""A budget of bytes: what the requests under way take together."""

from collections.abc import Iterator
from contextlib import contextmanager

from crossview.server.errors import OverloadedError

_RETRY_SECONDS = 1.0


class Budget:
    """So many bytes of requests may be under way at once; it is used in the event loop alone."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0

    @contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Count the bytes of a request during the block; raise OverloadedError if too many are counted already."""
        if self._taken and self._taken + size > self._most:
            raise OverloadedError(
                f"the requests under way take {self._taken / 1e6:,.0f} MB, and this one {size / 1e6:,.1f} MB more: try "
                f"again in {_RETRY_SECONDS:g} s, or send less at a time",
                _RETRY_SECONDS,
            )
        self._taken += size
        try:
            yield
        finally:
            self._taken -= size
