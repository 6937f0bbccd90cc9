"""Sessions in a terminal that ask a person about drawn pictures: similar items, and important changes."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crossview.engine.values.comparisons import Answer, Question, QuestionRequest
from crossview.engine.values.errors import NotFoundError
from crossview.server.commands.output import say

if TYPE_CHECKING:
    from crossview.engine.values.changes import Change, ChangesRequest
    from crossview.server.commands.backend import CollectionBackend
    from crossview.server.commands.picture_versions import Versions

_ENTER, SKIP, UNDO, QUIT = "\r\n", "s", "u", ("q", "", "\x03", "\x04")
_CHOICE = 2
"""Number of candidates of a question that one key answers."""


@dataclass
class QuestionSession:
    """Questions about items to one person, who quits or gives ``most`` answers."""

    collection: "CollectionBackend"
    request: QuestionRequest
    picture: Path
    """The file to draw each question in."""
    most: int | None = None
    given: int = 0
    """Number of stored answers, without undone ones."""

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
        from crossview.server.commands.drawing.sheet import write_question

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
        """Undo the last answer and return its question, or the current question without an answer."""
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
        judged = {key: place in near for place, key in enumerate(question.candidates)}
        return Answer(
            notion=question.notion,
            anchor=question.anchor,
            near=tuple(key for key, is_near in judged.items() if is_near),
            far=tuple(key for key, is_near in judged.items() if not is_near),
            person=self.request.person,
        )


def pressed() -> str:
    """Return the next key that the user presses; from a pipe the next character, and "" at its end."""
    return typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)


_ANSWERS = {"y": True, "n": False, SKIP: None}


@dataclass
class LabellingSession:
    """Questions about pairs of versions: the next is always the pair whose label is the most informative now."""

    versions: "Versions"
    request: "ChangesRequest"
    file: Path
    """The file to which each answer is appended at once."""
    picture: Path
    """The file to draw each pair in."""
    most: int
    sizes: list[int] = field(default_factory=list)
    """Sizes of the file before each answer of this session; an undo truncates the file to the last size."""

    def run(self) -> None:
        """Ask until ``most`` labels are given, the person quits, or no question is left."""
        from crossview.engine.findings.changes.label_file import read_labels

        while len(self.sizes) < self.most:
            result = self.versions.collection.changes(replace(self.request, labels=read_labels(self.file)))
            if not result.questions:
                say("every change has a label")
                return
            if not self._asked(result.changes[result.questions[0]]):
                return

    def _asked(self, change: "Change") -> bool:
        """Ask about a change; return whether to continue."""
        from crossview.server.commands.drawing.change_report import write_pair

        write_pair(self.picture, self.versions.drawn(), change)
        say(
            f"{self.picture}\n{change.earlier} -> {change.later} ({len(self.sizes) + 1} of {self.most}): "
            "is the change important?\ny yes, n no, s cannot tell, u undo, q quit"
        )
        while (key := pressed()) not in QUIT:
            if key in _ANSWERS:
                self._answer(change, _ANSWERS[key])
                return True
            if key == UNDO:
                self._undo()
                return True
        return False

    def _answer(self, change: "Change", important: bool | None) -> None:
        from crossview.engine.findings.changes.label_file import add_labels
        from crossview.engine.values.changes import PairLabel

        self.sizes.append(add_labels(self.file, [PairLabel(change.earlier, change.later, important)]))

    def _undo(self) -> None:
        """Remove the last answer of this session from the file."""
        if not self.sizes:
            say("this session has no answer to undo")
            return
        os.truncate(self.file, self.sizes.pop())
        say("undone")


@contextmanager
def picture_file(path: Path | None, name: str) -> Iterator[Path]:
    """Yield the file to draw in: the one that the user names and keeps, or a temporary file with the given name."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        yield Path(folder) / name
