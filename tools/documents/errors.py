"""The page of errors: when each happens, and its statuses in gRPC and HTTP."""

import inspect
import itertools
from collections.abc import Iterator

from crossview.server.wire.connect import HTTP_STATUSES
from crossview.server.wire.status import BY_CODE, BY_NAME, STATUSES, Code
from documents.tables import escaped, table


def errors() -> Iterator[str]:
    """Yield the lines of the page: a table of all errors, and one of the statuses that name no known error."""
    yield (
        "# Errors and statuses\n\nEvery error that a user can cause derives from `crossview.CrossviewError`, and from "
        "the builtin error of the second column. Its message names the wrong value and the remedy. A server sends the "
        "status of the third column with the name of the error, and a client raises the same error. Any other error is "
        "a fault of the server: the status is INTERNAL, and the log of the server explains the id in the message.\n"
    )
    found = sorted(BY_NAME.items())
    rows: list[tuple[str, ...]] = [
        (f"`{name}`", f"`{_builtin(cls)}`", _code(cls), _http(cls), _when(cls)) for name, cls in found
    ]
    yield from table(("error", "also a", "gRPC status", "HTTP", "when"), rows)
    yield (
        "A full disk is RESOURCE_EXHAUSTED, also as `StorageError`. If a message is too large, gRPC itself refuses "
        "the call.\n\n## Statuses without a known error\n\nA proxy, or gRPC itself, can end a call without the name of "
        "an error. The client then raises the error of the code.\n"
    )
    rows = [(f"`{code.name}`", str(HTTP_STATUSES[code]), f"`{cls.__name__}`") for code, cls in sorted(BY_CODE.items())]
    yield from table(("gRPC status", "HTTP", "error of the client"), rows)


def _builtin(cls: type[Exception]) -> str:
    """Return the name of the first builtin error among the bases of a class."""
    return next(base.__name__ for base in cls.__mro__ if base.__module__ == "builtins")


def _status(cls: type[Exception]) -> Code | None:
    """Return the status of an error; None if only the client raises it."""
    raised = ((one, code) for code, one in BY_CODE.items())
    return next((code for one, code in itertools.chain(STATUSES, raised) if issubclass(cls, one)), None)


def _code(cls: type[Exception]) -> str:
    code = _status(cls)
    return "" if code is None else f"`{code.name}`"


def _http(cls: type[Exception]) -> str:
    code = _status(cls)
    return "" if code is None else str(HTTP_STATUSES[code])


def _when(cls: type[Exception]) -> str:
    """Return the description of an error in one line."""
    return escaped(" ".join((inspect.getdoc(cls) or "").replace("``", "`").split()))
