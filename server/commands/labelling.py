"""Asking a person in a terminal whether changes are important; the answers are lines of a file."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crossview.server.commands.asking import QUIT, SKIP, UNDO, pressed
from crossview.server.commands.saying import say

if TYPE_CHECKING:
    from crossview.engine.changes.request import Change, ChangesRequest
    from crossview.server.commands.versions import Versions

_ANSWERS = {"y": True, "n": False, SKIP: None}


@dataclass
class Labelling:
    """Questions about pairs, one by one: each is about the pair whose label is most informative after the last."""

    versions: "Versions"
    request: "ChangesRequest"
    file: Path
    """The file to which each answer is appended at once."""
    picture: Path
    """The file to draw each pair in."""
    most: int
    sizes: list[int] = field(default_factory=list)
    """The sizes of the file before each answer since the start; an undo truncates the file to the last one."""

    def run(self) -> None:
        """Ask until ``most`` labels are given, the person quits, or no question is left."""
        from crossview.engine.changes.label_file import read_labels

        while len(self.sizes) < self.most:
            found = self.versions.collection.changes(replace(self.request, labels=read_labels(self.file)))
            if not found.questions:
                say("every change has a label")
                return
            if not self._asked(found.changes[found.questions[0]]):
                return

    def _asked(self, change: "Change") -> bool:
        """Ask about a change; return whether to go on."""
        from crossview.server.drawing.changes import write_pair

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
        from crossview.engine.changes.label_file import add_labels
        from crossview.engine.changes.request import PairLabel

        self.sizes.append(add_labels(self.file, [PairLabel(change.earlier, change.later, important)]))

    def _undo(self) -> None:
        """Take back the last answer of this session."""
        if not self.sizes:
            say("no answer since the start is left to undo")
            return
        os.truncate(self.file, self.sizes.pop())
        say("undone")


@contextmanager
def picture_file(path: Path | None) -> Iterator[Path]:
    """Yield the file in which pairs are drawn: one that the user names and keeps, or a temporary one."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        yield Path(folder) / "pair.png"
