import numpy as np
import pytest

from crossview.engine.values.comparisons import Question
from crossview.engine.values.item import Item
from crossview.server.commands.drawing.sheet import MARGIN, PAPER, question_sheet


class Texts:
    """Items without pictures."""

    def get(self, key: str) -> Item:
        return Item(key, text="words")

    def thumbnail(self, key: str) -> bytes:
        return b""


@pytest.mark.parametrize("notion", ["color", "the-way-in-which-both-of-them-are-drawn"])
@pytest.mark.parametrize("count", [2, 9])
def test_a_question_is_drawn_whole(notion: str, count: int) -> None:
    """This holds for any length of the name of its notion."""
    question = Question(notion=notion, anchor="anchor", candidates=tuple(map(str, range(count))))
    sheet = np.asarray(question_sheet(Texts(), question))
    assert (sheet[:, -MARGIN // 2 :] == PAPER).all()
