"""The error of a call that may be refused or not, so that a test can state both."""

from collections.abc import Callable
from typing import TypeVar

Refusal = TypeVar("Refusal", bound=Exception)


def error_of(kind: type[Refusal], call: Callable[[], object]) -> Refusal | None:
    """Return the error of this kind that a call raises; None if it raises none."""
    try:
        call()
    except kind as error:
        return error
    return None
