"""Pages of the vectors of items as messages and back."""

import numpy as np

from engine.spaces.item_embeddings import ItemEmbeddings
from server import pages
from server.pb.crossview.v1 import collections_pb2 as pb


def to_item_embeddings(message: pb.EmbedItemsResponse) -> ItemEmbeddings:
    """A page of vectors or codes."""
    values = np.frombuffer(message.codes, np.uint8) if message.bits else np.fromiter(message.vectors, np.float32)
    return ItemEmbeddings(
        space=message.space,
        generation=message.generation,
        keys=tuple(message.keys),
        vectors=values.reshape(len(message.keys), message.width),
        bits=message.bits,
        after=pages.from_token(message.next_page_token),
    )


def from_item_embeddings(found: ItemEmbeddings) -> pb.EmbedItemsResponse:
    """The message of a page of vectors or codes."""
    return pb.EmbedItemsResponse(
        space=found.space,
        generation=found.generation,
        keys=found.keys,
        width=found.vectors.shape[1],
        vectors=[] if found.bits else found.vectors.ravel().tolist(),
        codes=found.vectors.tobytes() if found.bits else b"",
        bits=found.bits,
        next_page_token=pages.to_token(found.after),
    )
