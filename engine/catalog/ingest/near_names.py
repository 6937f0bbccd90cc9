"""Near misses: the known names that a user probably meant by an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
SIMILAR, NEAR = 0.6, 0.8
"""Likeness by difflib: of names worth showing, and of a name that is probably a typing error."""


def near_names(name: str, known_names: Iterable[str], likeness: float = SIMILAR) -> list[str]:
    """Return the known names most like another, the nearest first; upper and lower case count as equal."""
    forms = {known_name.casefold(): known_name for known_name in sorted(known_names)}
    return [forms[form] for form in get_close_matches(name.casefold(), forms, _MOST, likeness)]
