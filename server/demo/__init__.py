"""The demo: pictures and captions drawn from a seed, and the run of commands that shows them.

Imports the engine, ``server.drawing`` and the types of ``server.backend``: nothing of gRPC, and no command. The way
to reach a server is given to it.
"""
