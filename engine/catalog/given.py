"""What programs give in more than one form: a picture by its bytes or its file, names as several or as one."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import overload

from engine.errors import InvalidInputError


def encoded(given: object) -> bytes:
    """Return the bytes of an encoded picture that is given by these, or by the path of its file.

    Raises InvalidInputError for a file that cannot be read, and for anything else.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if not isinstance(given, str | PathLike):
        raise InvalidInputError(
            f"a picture is given by the path of its file or by the bytes of that, not by {type(given).__name__}"
        )
    path = Path(given)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(
            f"the picture {path} cannot be read ({error.strerror}): name a file, or give its bytes"
        ) from error


class Encoded:
    """A field of a dataclass: the bytes of an encoded picture, or None. A path in their place is read at once."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> None: ...

    @overload
    def __get__(self, instance: object, owner: type) -> bytes | None: ...

    def __get__(self, instance: object | None, owner: type) -> bytes | None:
        return None if instance is None else vars(instance)[self._name]  # the class gives the default

    def __set__(self, instance: object, given: bytes | str | PathLike[str] | None) -> None:
        vars(instance)[self._name] = None if given is None else encoded(given)


def one_or_several(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names; a string is one, and not as many as it has letters."""
    if isinstance(given, str):
        return (given,) if given else ()
    return tuple(given)


def let_one_be_several(request: object, *fields: str) -> None:
    """Let a string in fields of a frozen dataclass stand for one name."""
    for field in fields:
        if isinstance(given := getattr(request, field), str):
            object.__setattr__(request, field, one_or_several(given))
