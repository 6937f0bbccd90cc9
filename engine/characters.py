"""Characters: which texts the catalog can store and gRPC can send."""

from typing import Any

from engine.errors import InvalidInputError

_QUOTED = 40


def check_characters(text: Any, what: str, most: int) -> str:
    """Return a text of at most ``most`` characters, all of them Unicode and none NUL.

    ``what`` is the subject of the InvalidInputError for any other, such as "a label".
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"{what} must be text, not {text!r}")
    quoted = repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "...")
    if len(text) > most:
        raise InvalidInputError(f"{what} has at most {most:,} characters; {quoted} has {len(text):,}")
    if "\0" in text:
        raise InvalidInputError(f"{what} must not hold NUL, as {quoted} does at position {text.index(chr(0))}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{what} must be Unicode; {quoted} is not at position {error.start}") from error
    return text
