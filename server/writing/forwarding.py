"""Which writes go to the process for writes, and how."""

from collections.abc import Callable

from google.protobuf.message import Message

from crossview.server.cache import OpenCollections
from crossview.server.wire.names import parse_collection, parse_item
from crossview.server.writing.process import WriteProcess
from crossview.v1 import collections_pb2 as pb

Answer = Callable[[Message, None], Message]


def forwarded(answer: Answer, response: type[Message], process: WriteProcess, collections: OpenCollections) -> Answer:
    """Return the function that answers a method of ``ItemWrites`` in the process for writes, as ``answer`` would here.

    Pictures are read by the processes of this one, so imports of pictures stay here, as do writes while there is no
    process for writes.
    """

    def forward(request: Message, context: None) -> Message:
        if not _has_pictures(request):
            with collections.use(_collection(request)):  # so that a deletion waits for the write
                packed = process.answer(request)
            if packed is not None:
                return response.FromString(packed.value)
        return answer(request, context)

    return forward


def _has_pictures(request: Message) -> bool:
    return isinstance(request, pb.ImportItemsRequest) and any(item.image for item in request.items)


def _collection(request: Message) -> str:
    if isinstance(request, pb.DeleteItemRequest):
        return parse_item(request.name)[0]
    return parse_collection(getattr(request, "parent", ""))
