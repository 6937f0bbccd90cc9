"""Errors of the connection to a server. A client raises the other errors of a server as errors of the engine."""

from crossview.engine.values.errors import CancelledError, CrossviewError


class ServerUnavailableError(CrossviewError, ConnectionError):
    """No server answers at the address, or the connection was lost."""


class ServerStoppedError(CancelledError):
    """The server stopped during the call and gave up its work; uncommitted changes are undone."""


class DeadlineExceededError(CrossviewError, TimeoutError):
    """The client's timeout passed without an answer; the server stops working on the call."""


class ServerFaultError(CrossviewError, RuntimeError):
    """The server failed unexpectedly; the message contains the id of the error in the server's log."""


class NotServedError(CrossviewError, NotImplementedError):
    """The server answers from a bundle and an engine, and the call needs the catalog of a collection."""


class UnauthenticatedError(CrossviewError, PermissionError):
    """The server takes only calls with a key, and the call has none, or one that is unknown, revoked or expired."""


class PermissionDeniedError(CrossviewError, PermissionError):
    """The key of the call is valid, but its scope does not allow the call."""


class OverloadedError(CrossviewError, RuntimeError):
    """The server has too much work and refused the call; the call changed nothing.

    ``retry_seconds`` is the time to wait before the next attempt.
    """

    def __init__(self, message: str, retry_seconds: float) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return type(self), (str(self), self.retry_seconds)


class JobStoppedError(ServerStoppedError):
    """The process of a job died, or its server stopped; uncommitted changes of the job are undone."""


class SilentStreamError(CancelledError):
    """The server ended a stream that was silent for too long; it has answered all earlier messages."""
