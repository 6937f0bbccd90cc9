"""Answers page by page, of a collection here or on a server."""

from collections.abc import Iterator
from typing import Protocol

from crossview.engine.comparisons import Answer

ANSWERS_AT_ONCE = 1_000


class Asked(Protocol):
    """Questions of a collection, here or on a server."""

    def answers(self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE) -> list[Answer]:
        """Some of the answers."""


def every_answer(questions: Asked, notion: str = "", person: str = "") -> Iterator[Answer]:
    """Yield all answers, in one notion or of one person where these are named, in the order in which they came."""
    after = 0
    while page := questions.answers(notion, person, after):
        yield from page
        after = page[-1].id
