"""Clients of a server, for programs with and without an event loop: they raise the errors of the engine."""
