"""What the commands work on: a home on this machine, or a server. Both have the same methods."""

from engine.collection import Collection
from engine.home import Home
from server.client import Client
from server.remote_collection import RemoteCollection

CollectionBackend = Collection | RemoteCollection
Backend = Home | Client
