"""Errors of the way to a server; what a server answers is raised as the engine's own errors."""

from engine.errors import CrossviewError


class ServerUnavailableError(CrossviewError, ConnectionError):
    """No server answers at the address, or the connection was lost."""


class ServerFaultError(CrossviewError, RuntimeError):
    """The server failed in a way that is its own fault; the message holds the id under which its log explains it."""
