"""Asking a person questions in a terminal: each is drawn into a file, and answered by keys."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crossview.engine.comparisons import Answer, Question, QuestionRequest
from crossview.engine.errors import NotFoundError
from crossview.server.commands.saying import say
from crossview.server.drawing.question import write_question

if TYPE_CHECKING:
    from crossview.server.backend import CollectionBackend

_ENTER, SKIP, UNDO, QUIT = "\r\n", "s", "u", ("q", "", "\x03", "\x04")
_CHOICE = 2
"""Candidates of a question that the first key answers."""


@dataclass
class Session:
    """One person's questions, until they quit or have given ``most`` answers."""

    collection: "CollectionBackend"
    request: QuestionRequest
    picture: Path
    """The file to draw each question in."""
    most: int | None = None
    given: int = 0
    """Answers stored, less those undone."""

    def run(self) -> None:
        """Ask the questions; the session stores every answer at once."""
        question: Question | None = self._next()
        while question is not None and self.given != self.most:
            question = self._asked(question)

    def _next(self) -> Question:
        seed = self.request.seed
        request = self.request if seed is None else replace(self.request, seed=seed + self.given)
        return self.collection.questions.next(request)

    def _asked(self, question: Question) -> Question | None:
        """Ask a question; return the next one, after an undo the previous one, or None if the person quits."""
        self._show(question)
        near: set[int] = set()
        while (key := pressed()) not in QUIT:
            if key == UNDO:
                return self._undone(question)
            if key == SKIP:
                near.clear()
            elif key.isdecimal() and 1 <= int(key) <= len(question.candidates):
                near ^= {int(key) - 1}
                say(f"near: {' '.join(str(place + 1) for place in sorted(near)) or 'none'}")
            if key == SKIP or (key in _ENTER if len(question.candidates) > _CHOICE else near):
                self.collection.questions.answer(self._answer(question, near))
                self.given += 1
                return self._next() if self.given != self.most else None
        return None

    def _show(self, question: Question) -> None:
        write_question(self.picture, self.collection.items, question)
        count = len(question.candidates)
        which, choose = "are", f"1-{count} near or not, Enter when done"
        if count == _CHOICE:
            which, choose = "is", "1 or 2"
        say(f"{self.picture}\n{question.notion}: which {which} like {question.anchor}?")
        for number, key in enumerate(question.candidates, 1):
            say(f"  {number} {key}")
        say(f"{choose}; s cannot tell, u undo, q quit")

    def _undone(self, question: Question) -> Question:
        """Undo the last answer, and return its question; the present one if there is none."""
        try:
            last = self.collection.questions.undo(self.request.notion, self.request.person)
        except NotFoundError as error:
            say(str(error))
            return question
        self.given -= 1
        say("undone")
        candidates = tuple(sorted((*last.near, *last.far)))
        return Question(notion=last.notion, anchor=last.anchor, candidates=candidates)

    def _answer(self, question: Question, near: set[int]) -> Answer:
        chosen = {key: place in near for place, key in enumerate(question.candidates)}
        return Answer(
            notion=question.notion,
            anchor=question.anchor,
            near=tuple(key for key, is_near in chosen.items() if is_near),
            far=tuple(key for key, is_near in chosen.items() if not is_near),
            person=self.request.person,
        )


def pressed() -> str:
    """Return the next key that the user presses; from a pipe the next character, and "" at its end."""
    return typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
