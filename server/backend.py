"""What the commands work on: a home on this machine, or a server. Both have the same methods."""

from crossview.engine.collection import Collection
from crossview.engine.home import Home
from crossview.server.client import Client
from crossview.server.remote_collection import RemoteCollection

CollectionBackend = Collection | RemoteCollection
Backend = Home | Client
