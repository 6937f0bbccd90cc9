"""Near misses: which known names somebody probably meant by an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
SIMILAR, NEAR = 0.6, 0.8
"""Likeness by difflib: of names that are worth showing, and of one that is probably a slip of the pen."""


def near_names(name: str, known: Iterable[str], likeness: float = SIMILAR) -> list[str]:
    """Return the known names most like another, the nearest first; upper and lower case count as equal."""
    forms = {one.casefold(): one for one in sorted(known)}
    return [forms[form] for form in get_close_matches(name.casefold(), forms, _MOST, likeness)]
