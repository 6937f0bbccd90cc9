"""The page of errors: when each happens, and its statuses in gRPC and HTTP."""

import inspect
from collections.abc import Iterator

from crossview.server.wire.connect import HTTP_STATUSES
from crossview.server.wire.errors import ServerFaultError
from crossview.server.wire.status import BY_NAME, STATUSES, Code
from documents.tables import escaped, table


def errors() -> Iterator[str]:
    """Yield the lines of the page: a table of all errors, and one of the statuses that name no known error."""
    yield (
        "# Errors and statuses\n\nEvery error that a user can cause derives from `crossview.CrossviewError` and from a "
        "builtin error, which the first column names. The message of an error names the wrong value and the remedy. A "
        "server sends the status of the second column with the name of the error, and a client raises the same error. "
        "Any other error is a fault of the server: the status is INTERNAL, and the log of the server explains the id "
        "in the message.\n"
    )
    rows: list[tuple[str, ...]]
    rows = [(f"`{name}`, a `{_builtin(cls)}`", _statuses(cls), _when(cls)) for name, cls in sorted(BY_NAME.items())]
    yield from table(("error", "gRPC and HTTP status", "when"), rows)
    yield (
        "A full disk is RESOURCE_EXHAUSTED, also as `StorageError`. A proxy, or gRPC itself, can end a call without "
        "the name of an error. The client then raises `ServerUnavailableError` for UNAVAILABLE, and otherwise an "
        "error with the same status.\n"
    )


def _builtin(cls: type[Exception]) -> str:
    """Return the name of the first builtin error among the bases of a class."""
    return next(base.__name__ for base in cls.__mro__ if base.__module__ == "builtins")


def _status(cls: type[Exception]) -> Code | None:
    """Return the status of an error; None if only the client raises it."""
    sent: tuple[tuple[type[Exception], Code], ...] = (*STATUSES, (ServerFaultError, Code.INTERNAL))
    return next((code for parent, code in sent if issubclass(cls, parent)), None)


def _statuses(cls: type[Exception]) -> str:
    """Return the gRPC status and the HTTP status of an error."""
    code = _status(cls)
    return "of the client only" if code is None else f"`{code.name}`, {HTTP_STATUSES[code]}"


def _when(cls: type[Exception]) -> str:
    """Return the description of an error in one line."""
    return escaped(" ".join((inspect.getdoc(cls) or "").replace("``", "`").split()))
