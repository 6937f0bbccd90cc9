"""Errors of the connection to a server; errors that a server reports are raised as the engine's own."""

from crossview.engine.errors import CancelledError, CrossviewError


class ServerUnavailableError(CrossviewError, ConnectionError):
    """No server answers at the address, or the connection was lost."""


class ServerStoppedError(CancelledError):
    """The server stopped during the call and gave up its work; what it had not committed is undone."""


class DeadlineExceededError(CrossviewError, TimeoutError):
    """A call had no answer within the client's timeout; the server gives up its work."""


class ServerFaultError(CrossviewError, RuntimeError):
    """The server failed unexpectedly; the message gives the id of the error in the server's log."""


class OverloadedError(CrossviewError, RuntimeError):
    """The server has more to do than it takes on; nothing of the call was done.

    ``retry_seconds`` is after how long another try is worth it.
    """

    def __init__(self, message: str, retry_seconds: float) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return type(self), (str(self), self.retry_seconds)


class JobStoppedError(ServerStoppedError):
    """The process of a job was killed, or its server stopped; what the job had not committed is undone."""


class SilentStreamError(CancelledError):
    """A stream was silent for so long that the server has ended it; the messages before are answered."""
