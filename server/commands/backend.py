"""The types that commands work on: a home of this machine or a client of a server, which have the same methods."""

from crossview.engine.collections.home import Home
from crossview.engine.values.any_collection import AnyCollection
from crossview.server.client.client import Client

CollectionBackend = AnyCollection
Backend = Home | Client
