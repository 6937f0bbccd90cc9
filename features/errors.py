"""The root of all errors with their remedies, and the errors of reading pictures: each is about one file.

The root is here because every room that raises one of them may import ``features``.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A call that a message tells its reader to make, such as ``home.create('pets')``."""

    name: str
    arguments: tuple[Any, ...]
    """Values of JSON, and calls for the requests among them."""
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"`{self!r}`"

    def __repr__(self) -> str:
        options = (f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.name}({', '.join([*map(repr, self.arguments), *options])})"


class Argument(NamedTuple):
    """An argument that a message tells its reader to give, with its value or without one: ``pairs``, ``refit=True``."""

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return f"`{self.name}`" if self.value is ... else f"`{self.name}={self.value!r}`"


Remedy = Call | Argument


def call(name: str, *arguments: object, **options: object) -> Call:
    """Return the remedy of a call with these arguments."""
    return Call(name, arguments, options)


class Text(str):
    """A message with its ``remedies``, which are in the string as Python; each other door words them for its readers.

    Its parts are strings, remedies, and further messages or errors with theirs. Formatting loses the remedies.
    """

    remedies: tuple[Remedy, ...]

    def __new__(cls, *parts: object) -> "Text":
        """Join the parts."""
        text = super().__new__(cls, "".join(map(str, parts)))
        groups = ((part,) if isinstance(part, Remedy) else getattr(part, "remedies", ()) for part in parts)
        text.remedies = tuple(remedy for remedies in groups for remedy in remedies)
        return text

    @classmethod
    def of(cls, text: str, remedies: Iterable[Remedy]) -> "Text":
        """Return a text with those of the remedies that it names."""
        result = cls(text)
        result.remedies = tuple(remedy for remedy in remedies if str(remedy) in text)
        return result


def worded(text: str, words: Callable[[Remedy], str]) -> str:
    """Return a text with these words for its remedies; Python stays where they raise KeyError, as no reader has some.

    The remedy of a later version may be a call that this version does not know.
    """
    remedies, text = getattr(text, "remedies", ()), str.__str__(text)  # gRPC takes no subclass of str
    for remedy in remedies:
        with suppress(KeyError):
            text = text.replace(str(remedy), words(remedy))
    return text


class CrossviewError(Exception):
    """Base of every error that a user can cause and correct; the message consists of the parts of a ``Text``.

    ``detail`` is for the person who runs the program: a path, a process or a command. A server writes it to its log
    only.
    """

    def __init__(self, *parts: object, detail: object = None) -> None:
        self.message: Text = Text(*parts)
        """The message without the detail."""
        super().__init__(self.message)
        self.detail = detail

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The calls and arguments that the message names."""
        return self.message.remedies

    def __str__(self) -> str:
        return self.message if self.detail is None else Text(self.message, f" ({self.detail})")


class ImageError(CrossviewError, ValueError):
    """A picture that cannot be used; the message states the reason to the owner of the file."""


class EmptyImageError(ImageError):
    """The file is empty."""


class NotAnImageError(ImageError):
    """The bytes do not have a supported picture format."""


class TruncatedImageError(ImageError):
    """The picture's bytes end early or are damaged."""


class ImageTooLargeError(ImageError):
    """The picture declares more pixels than the limit; its pixels were not decoded."""


class NotEnoughMemoryError(CrossviewError, MemoryError):
    """The work needs more memory, processes or threads than there are; the message states the way out."""


class NotFittedError(ValueError):
    """An extractor must be fitted before it can compute rows."""


class ExtractorError(CrossviewError, ValueError):
    """An extractor of another package failed, or breaks its contract; the message states how, to its author."""


class ModelError(CrossviewError, ValueError):
    """A model that cannot be used; the message states the reason to its owner."""


class ModelInputError(ModelError):
    """A model that fails on one picture or text: it may be usable with others."""
