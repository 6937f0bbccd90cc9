"""Labels: what may be one, wherever it comes from."""

from collections.abc import Iterable

from engine.characters import check_characters
from engine.errors import InvalidInputError

MAX_LABEL = 1024
"""Characters that a label may have."""


def check_label(label: str) -> str:
    """Return a label that can be stored and sent; InvalidInputError says what is wrong with any other."""
    if check_characters(label, "a label", MAX_LABEL) == "":
        raise InvalidInputError("a label must not be empty: leave it out")
    return label


def check_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels that are each a ``check_label``; InvalidInputError for any other, and for a single text."""
    if isinstance(labels, str):
        raise InvalidInputError(f"labels must be a sequence of texts, not one text: [{labels[:MAX_LABEL]!r}]")
    return tuple(map(check_label, labels))
