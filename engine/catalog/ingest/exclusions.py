"""Patterns of files and folders that a search of folders leaves out."""

import fnmatch
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from crossview.engine.values.errors import InvalidInputError
from crossview.features.files import read_regular

IGNORE_FILE = ".crossviewignore"
"""The file whose lines are patterns for its folder and all folders below it."""
MADE_BY_SYSTEMS = frozenset(
    (
        *("@eaDir", "@Recycle", "@Recently-Snapshot", "@tmp", "#recycle", "#snapshot"),
        *("$RECYCLE.BIN", "$Recycle.Bin", "System Volume Information", "lost+found", "__MACOSX"),
    )
)
"""Names of folders in which storage systems keep thumbnails, snapshots and deleted files; hidden ones need no name."""
_LARGEST = 1 << 20
"""Maximum bytes of a file of patterns."""


@dataclass(frozen=True)
class Pattern:
    """A pattern of names or, with a slash before its end, of paths below a folder; ``*`` matches any characters.

    A slash at the end matches only folders.
    """

    folder: str
    """The absolute path of the folder."""
    expression: re.Pattern[str]
    of_paths: bool
    only_folders: bool

    @classmethod
    def of(cls, text: str, folder: str) -> Self:
        """Read a pattern; InvalidInputError for an empty one, and for ! before a pattern."""
        pattern = text.rstrip("/")
        if text.startswith("!") or not pattern:
            raise InvalidInputError(
                f"{text!r} is not a pattern of files to leave out: give a name such as *.tmp, a folder such as "
                "exports/, or a path such as 2021/drafts/*"
            )
        expression = re.compile(fnmatch.translate(pattern.lstrip("/").removeprefix("**/")))
        return cls(folder, expression, "/" in pattern and not pattern.startswith("**/"), text.endswith("/"))

    def matches(self, folder: str, name: str, is_folder: bool) -> bool:
        """Return whether the pattern matches a name in a folder."""
        if self.only_folders and not is_folder:
            return False
        if not self.of_paths:
            return self.expression.match(name) is not None
        below = os.path.relpath(os.path.join(folder, name), self.folder)
        return self.expression.match(below.replace(os.sep, "/")) is not None


def read_patterns(path: Path) -> tuple[tuple[Pattern, ...], list[str]]:
    """Return the patterns in the lines of an ignore file, and the reasons why lines, or the whole file, cannot be used.

    Empty lines and comments, which begin with #, are left out; ``\\#`` begins a pattern with #.
    """
    try:
        content = read_regular(path, _LARGEST + 1)
    except OSError as error:
        return (), [f"its patterns are not used: {error.strerror}"]
    if len(content) > _LARGEST:
        return (), [f"its patterns are not used: it has more than {_LARGEST:,} bytes"]
    text = content.decode("utf-8-sig", "surrogateescape")
    patterns, failures = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if (pattern := line.strip()) and not pattern.startswith("#"):
            try:
                patterns.append(Pattern.of(pattern.removeprefix("\\"), str(path.parent)))
            except InvalidInputError as error:
                failures.append(f"line {number}: {error}")
    return tuple(patterns), failures
