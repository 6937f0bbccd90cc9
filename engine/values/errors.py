"""The errors of the engine: each also derives from a builtin error, and its message names the remedy.

The root, and the errors of pictures that cannot be read, are in ``features.errors``.
"""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from crossview.features.errors import Argument as Argument
from crossview.features.errors import Call as Call
from crossview.features.errors import CrossviewError as CrossviewError
from crossview.features.errors import EmptyImageError as EmptyImageError
from crossview.features.errors import ExtractorError as ExtractorError
from crossview.features.errors import ImageError as ImageError
from crossview.features.errors import ImageTooLargeError as ImageTooLargeError
from crossview.features.errors import ModelError as ModelError
from crossview.features.errors import ModelInputError as ModelInputError
from crossview.features.errors import NotAnImageError as NotAnImageError
from crossview.features.errors import NotEnoughMemoryError as NotEnoughMemoryError
from crossview.features.errors import Remedy as Remedy
from crossview.features.errors import Text as Text
from crossview.features.errors import TruncatedImageError as TruncatedImageError
from crossview.features.errors import call as call
from crossview.features.errors import worded as worded
from crossview.features.extras import lacking as lacking

_SHOWN = 3
"""Number of names that a message lists."""
_LIBRARIES_OF_THE_ENGINE = frozenset({"cv2", "faiss", "prometheus_client", "scipy", "sklearn", "threadpoolctl"})
"""Import names of the libraries that ``crossview[engine]`` installs; a client of a server works without these."""


class NotFoundError(CrossviewError, LookupError):
    """A collection, item, view, space or target does not exist; the message lists the existing ones."""


class AlreadyExistsError(CrossviewError, ValueError):
    """The name is already in use."""


class InvalidInputError(CrossviewError, ValueError):
    """A value is invalid: a wrong dimension, NaN, k < 1, an unknown setting."""


class NotReadyError(CrossviewError, RuntimeError):
    """A step is missing (an unfitted view, no trained space); the message names the command for this step."""


class BusyError(CrossviewError, RuntimeError):
    """Another process or thread writes the collection for longer than the maximum wait."""


class CancelledError(CrossviewError, RuntimeError):
    """The work was cancelled because no caller waits for its result; uncommitted changes are undone."""


class StorageError(CrossviewError, OSError):
    """The home cannot be read or written: disk full, read-only, damaged. Acknowledged changes are not lost."""


class NotInstalledError(CrossviewError, ImportError):
    """The work needs libraries that are not installed; the message states how to install them."""


class EngineUnavailableError(CrossviewError, ConnectionError):
    """The engine of a published collection does not answer, or not in time; what it has acknowledged is not lost."""


class EngineFullError(CrossviewError, RuntimeError):
    """The engine of a published collection takes no more data, because its memory, its disk or a quota is full."""


class InputWarning(UserWarning):
    """Something was given in an odd way and used nevertheless; the message states what, and how it was used.

    A file deviates from the documented format, or a condition names a label or an attribute that no item has.
    """


_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def warn_of(text: str) -> None:
    """Warn of the input of a caller: in the list of ``collected_warnings``, or as an InputWarning elsewhere."""
    texts = _collected.get()
    if texts is None:
        warnings.warn(text, InputWarning, stacklevel=3)
    elif text not in texts:
        texts.append(text)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the texts of ``warn_of`` in the block, for an answer that carries them."""
    texts = list[str]()
    token = _collected.set(texts)
    try:
        yield texts
    finally:
        _collected.reset(token)


@contextmanager
def engine_installed() -> Iterator[None]:
    """Raise NotInstalledError if the block imports a library of the engine that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES_OF_THE_ENGINE:
            raise
        what = f"this needs a server, or the engine with {error.name}"
        raise lacking(NotInstalledError, what, "engine") from error


def few(names: Iterable[str], separator: str = ", ") -> str:
    """Return the first names and the number of further ones, for a message."""
    listed = list(names)
    more = [f"and {len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
    return separator.join([*listed[:_SHOWN], *more])
