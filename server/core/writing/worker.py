"""A process that writes items for a server; it ends with the server, even if the server is killed."""

import os
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection

from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

from crossview.engine.catalog.ingest import importing  # noqa: F401  # the fork server imports it once for all forks
from crossview.engine.collections.home import Home
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.runtime.threads import one_blas_thread
from crossview.features.priority import give_way
from crossview.server.core.cache import OpenCollections
from crossview.server.core.channel import ERROR, RESPONSE, STOP, Channel
from crossview.server.core.logs import log_to_stderr
from crossview.server.core.writing.item_writes import ItemWrites
from crossview.server.wire.methods import METHODS, Touch
from crossview.server.wire.status import error_in, refusal

_METHODS = {
    method.descriptor.input_type.full_name: method
    for method in METHODS.values()
    if method.touches is Touch.ITEMS and method.each is None
}
"""The methods that this process runs, by the type of their requests."""
_LOOK_SECONDS = 0.02
"""Minimum interval between two checks whether the caller of a write has left."""
_UPKEEP_SECONDS = 30.0
"""Interval at which the process closes idle collections."""


def main(connections: Sequence["Connection[bytes, bytes]"], home: str, idle_seconds: float) -> None:
    """Run the writes of each connection in a separate thread; close collections unused for ``idle_seconds``."""
    give_way(to_writes=False)
    log_to_stderr()
    collections = OpenCollections(Home(home))
    channels = [Channel(connection) for connection in connections]
    for channel in channels:
        threading.Thread(target=_Writes(ItemWrites(collections), channel).carry_out, name="writes", daemon=True).start()
    channels[0].send(RESPONSE)  # this process is ready
    while True:
        time.sleep(_UPKEEP_SECONDS)
        collections.close_idle(idle_seconds)


class _Writes:
    """The writes of one channel, one after another."""

    def __init__(self, writes: ItemWrites, channel: Channel) -> None:
        self._writes, self._channel = writes, channel
        self._looked = 0.0

    def carry_out(self) -> None:
        """Answer each request; exit the process once the server has ended."""
        try:
            while True:
                self._carry_out_next()  # a function, so that its request leaves memory before the next one arrives
        except EOFError:
            os._exit(0)

    def _carry_out_next(self) -> None:
        tag, body = self._channel.receive() or (STOP, b"")
        if tag != STOP:  # a STOP for a write that had already ended
            self._channel.send(*self._answer(Any.FromString(body)))

    def _answer(self, packed: Any) -> tuple[bytes, Message]:
        try:
            with cancellable(self._check), one_blas_thread():
                response = Any()
                response.Pack(self._carried_out(packed))
        except EOFError:
            raise
        except Exception as error:  # noqa: BLE001  # every error becomes a status
            return ERROR, refusal(error).status
        return RESPONSE, response

    def _carried_out(self, packed: Any) -> Message:
        method = _METHODS[packed.TypeName()]
        request = method.request()
        packed.Unpack(request)
        response: Message = getattr(self._writes, method.name)(request, None)
        return response

    def _check(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        if (received := self._channel.receive(0.0)) is not None:
            raise error_in(Status.FromString(received[1]))
