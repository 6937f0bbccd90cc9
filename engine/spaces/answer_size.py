"""The size of an answer, counted while the answer is made, so that too large an answer stops before it takes memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from crossview.engine.values.errors import InvalidInputError


class AnswerTooLargeError(InvalidInputError):
    """The hits of a search contain more bytes than the caller accepts."""


class _Room:
    def __init__(self, most: int) -> None:
        self.most = self.left = most


_room: ContextVar[_Room | None] = ContextVar("room", default=None)


@contextmanager
def room_for(most: int) -> Iterator[None]:
    """Limit the content of hits to ``most`` bytes in the block; outside such a block it has no limit."""
    token = _room.set(_Room(most))
    try:
        yield
    finally:
        _room.reset(token)


def take_room(size: int) -> None:
    """Count ``size`` bytes of an answer; AnswerTooLargeError if the room is too small."""
    check_room(size)
    if (room := _room.get()) is not None:
        room.left -= size


def check_room(size: int) -> None:
    """Raise AnswerTooLargeError if the room is too small for ``size`` bytes."""
    room = _room.get()
    if room is not None and size > room.left:
        raise AnswerTooLargeError(
            f"one answer may contain {room.most / 1e6:,.1f} MB of keys, labels, attributes, texts and vectors, and "
            "this one contains more: lower k, or send fewer queries at a time"
        )
