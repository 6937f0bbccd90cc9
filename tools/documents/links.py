"""Links of pages to files of the repository that are not pages."""

import os
import re
from collections.abc import Callable
from pathlib import Path

_PART = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ \t]*$"
    r"|(?P<text>!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)"
    r"|(?P<ticks>`+)[^`]+(?P=ticks)",
    re.M | re.S,
)
"""A block of code, a link to a file, or code in a line: the leftmost counts, so links in code stay."""


class Links:
    """The links of pages, resolved from the place of their source in the repository.

    Args:
        root: folder of the repository.
        address: address at which the files of the repository can be read, with the version; a link to a file becomes
            plain text if this is empty.
        pages: page of the site for each file outside ``docs`` that is one, both as paths from the root.
        warn: takes a message for each link that leads nowhere.
    """

    def __init__(self, root: Path, address: str, pages: dict[str, str], warn: Callable[[str], None]) -> None:
        self._root, self._address, self._pages, self._warn = root, address.rstrip("/"), pages, warn

    def resolved(self, text: str, source: str, page: str) -> str:
        """Return the text of a source as that of a page; both are paths from the root.

        Links among the files of ``docs`` keep their targets, and Sphinx checks them.
        """

        def link(match: re.Match[str]) -> str:
            if not match["path"]:
                return match.group()
            target = os.path.normpath(os.path.join(os.path.dirname(source), match["path"]))
            target = self._pages.get(target, target)
            if target.startswith("docs/") and not (self._root / target).is_dir():
                return f"{match['text']}({os.path.relpath(target, os.path.dirname(page))}{match['anchor'] or ''})"
            if not (self._root / target).exists():
                self._warn(f"{source}: the link to {match['path']} leads nowhere")
            return (
                f"{match['text']}({self._address}/{target}{match['anchor'] or ''})"
                if self._address
                else match["text"][1:-1]
            )

        return _PART.sub(link, text)
