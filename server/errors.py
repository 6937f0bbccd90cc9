"""Errors of the way to a server; what a server answers is raised as the engine's own errors."""

from engine.errors import CancelledError, CrossviewError


class ServerUnavailableError(CrossviewError, ConnectionError):
    """No server answers at the address, or the connection was lost."""


class ServerStoppedError(CancelledError):
    """The server stopped during the call, whose work was given up; what it had not committed is undone."""


class DeadlineExceededError(CrossviewError, TimeoutError):
    """A call had no answer within the client's timeout; the server gives its work up."""


class ServerFaultError(CrossviewError, RuntimeError):
    """The server failed in a way that is its own fault; the message holds the id under which its log explains it."""
