"""The demo: pictures and captions generated from a seed, and runs that show each step with its command.

This room imports the engine, ``server.commands.drawing`` and the types of ``server.commands.backend``, but neither gRPC
nor commands. Its callers pass the function that connects to a server.
"""
