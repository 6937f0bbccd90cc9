"""The size of an answer, counted while it is made: what is too large is given up before it takes memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from crossview.engine.errors import InvalidInputError


class AnswerTooLargeError(InvalidInputError):
    """What the hits of a search show takes more than whoever asked can take."""


class _Room:
    def __init__(self, most: int) -> None:
        self.most = self.left = most


_room: ContextVar[_Room | None] = ContextVar("room", default=None)


@contextmanager
def room_for(most: int) -> Iterator[None]:
    """Let what hits show take at most so many bytes in the block; without it they may take any."""
    token = _room.set(_Room(most))
    try:
        yield
    finally:
        _room.reset(token)


def take_room(size: int) -> None:
    """Count so many bytes of an answer; AnswerTooLargeError where there is no room for them."""
    check_room(size)
    if (room := _room.get()) is not None:
        room.left -= size


def check_room(size: int) -> None:
    """Raise AnswerTooLargeError where there is no room for so many bytes."""
    room = _room.get()
    if room is not None and size > room.left:
        raise AnswerTooLargeError(
            f"the hits of one search may show {room.most / 1e6:,.1f} MB of keys, labels, attributes and texts, and "
            "these show more: lower k, or send fewer queries at a time"
        )
