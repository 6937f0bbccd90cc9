"""What the commands work on: a home on this machine, or a server. Both have the same methods."""

from crossview.engine.any_collection import AnyCollection
from crossview.engine.home import Home
from crossview.server.client.client import Client

CollectionBackend = AnyCollection
Backend = Home | Client
