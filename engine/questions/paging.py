"""Answers page by page, from a local collection or from a server."""

from collections.abc import Iterator
from typing import Protocol

from crossview.engine.comparisons import Answer

ANSWERS_AT_ONCE = 1_000


class Asked(Protocol):
    """The questions of a local collection, or of one on a server."""

    def answers(self, notion: str = "", person: str = "", after: int = 0, limit: int = ANSWERS_AT_ONCE) -> list[Answer]:
        """Return a page of answers."""


def every_answer(questions: Asked, notion: str = "", person: str = "") -> Iterator[Answer]:
    """Yield all answers in the order in which people gave them; ``notion`` and ``person`` restrict them."""
    after = 0
    while page := questions.answers(notion, person, after):
        yield from page
        after = page[-1].id
