"""Clients of a server, with and without an event loop. They raise the errors of the engine."""
