"""The demo: pictures and captions generated from a seed, and runs that show each step with its command.

This room imports the engine, ``server.drawing`` and the types of ``server.backend``, but neither gRPC nor commands. Its
callers pass the function that connects to a server.
"""
