"""The demo: pictures and captions drawn from a seed, and the story told with them.

Imports the engine, ``server.drawing`` and the backends of ``server.backend``, through which it reaches its server:
nothing of gRPC, and no command.
"""
