"""The errors of the engine: one tree, each a builtin too, each with a message that names the remedy.

The root, and the errors of pictures that cannot be read, are in ``features.errors``.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from crossview.features.errors import CrossviewError as CrossviewError
from crossview.features.errors import EmptyImageError as EmptyImageError
from crossview.features.errors import ImageError as ImageError
from crossview.features.errors import ImageTooLargeError as ImageTooLargeError
from crossview.features.errors import NotAnImageError as NotAnImageError
from crossview.features.errors import TruncatedImageError as TruncatedImageError

_SHOWN = 3
_LIBRARIES_OF_THE_ENGINE = frozenset({"cv2", "faiss", "scipy", "sklearn", "threadpoolctl"})
"""What ``crossview[engine]`` installs, by the names of the imports; a client of a server goes without."""


class NotFoundError(CrossviewError, LookupError):
    """A collection, item, view, space or target that does not exist; the message lists those that do."""


class AlreadyExistsError(CrossviewError, ValueError):
    """A name that is taken."""


class InvalidInputError(CrossviewError, ValueError):
    """A value that cannot be used: wrong dimension, NaN, k < 1, unknown setting."""


class NotReadyError(CrossviewError, RuntimeError):
    """A step is missing (an unfitted view, no trained space); the message names the command that does it."""


class BusyError(CrossviewError, RuntimeError):
    """Others have been writing this collection for longer than a writer waits."""


class CancelledError(CrossviewError, RuntimeError):
    """The work was stopped because nobody waits for it any more; uncommitted changes are undone."""


class StorageError(CrossviewError, OSError):
    """The home cannot be read or written: disk full, read-only, damaged. Nothing acknowledged was lost."""


class NotInstalledError(CrossviewError, ImportError):
    """The work needs libraries that a client of a server goes without; the message states how to install them."""


class InputWarning(UserWarning):
    """A file that was read although it is not as documented; the message states how."""


@contextmanager
def engine_installed() -> Iterator[None]:
    """Raise NotInstalledError where the body imports a library of the engine that is absent."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES_OF_THE_ENGINE:
            raise
        raise NotInstalledError(
            f"this needs the engine, and {error.name} is not installed: run python -m pip install 'crossview[engine]', "
            "or send the work to a server"
        ) from error


def few(names: Iterable[str], separator: str = ", ") -> str:
    """Return the first names for a message, and how many more there are."""
    listed = list(names)
    more = [f"and {len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
    return separator.join([*listed[:_SHOWN], *more])
