"""Docstrings in Google's style as reStructuredText."""

import inspect
import re
from typing import Any

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

_SETTINGS: Any = Config(napoleon_use_ivar=True)
_ROOM = re.compile(r"(:\w+:`~?)(?=(?:engine|features|index|server)\.)")
"""The beginning of a reference to a name of a room, which lacks the package."""
_MARK = re.compile(r"(`+[^`]+`+)|(\||(?<=\w)_(?!\w))")
"""Code, or a mark of reStructuredText that docstrings use in formulas and in the names of fitted attributes."""


def read_docstring(app: Any, what: Any, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring, for the event ``autodoc-process-docstring`` of Sphinx.

    Descriptions of attributes have no sections: the extension napoleon would read their words before a colon as a type.
    """
    if what not in {"attribute", "data", "property"}:
        lines[:] = GoogleDocstring(lines, _SETTINGS, app, what, name, value, options).lines()
    text = _ROOM.sub(r"\1crossview.", "\n".join(lines))
    lines[:] = _MARK.sub(lambda mark: mark[1] or f"\\{mark[2]}", text).split("\n")


def skip_foreign(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out the methods of other packages' classes, for the event ``autodoc-skip-member`` of Sphinx."""
    foreign = inspect.isroutine(value) and not (getattr(value, "__module__", "") or "").startswith("crossview")
    return True if foreign else None
