"""Pages of the vectors of items as messages and back."""

import numpy as np

from crossview.engine.query import ItemEmbeddings
from crossview.server.wire import pages
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import collections_pb2 as pb


def to_item_embeddings(message: pb.EmbedItemsResponse) -> ItemEmbeddings:
    """Return a page of vectors or codes."""
    values = np.frombuffer(message.codes, np.uint8) if message.bits else np.fromiter(message.vectors, np.float32)
    vectors = values.reshape(len(message.keys), message.width)
    return to_value(ItemEmbeddings, message, vectors=vectors, after=pages.from_token(message.next_page_token))


def from_item_embeddings(page: ItemEmbeddings) -> pb.EmbedItemsResponse:
    """Return the message of a page of vectors or codes."""
    return to_message(
        pb.EmbedItemsResponse,
        page,
        width=page.vectors.shape[1],
        vectors=[] if page.bits else page.vectors.ravel().tolist(),
        codes=page.vectors.tobytes() if page.bits else b"",
        next_page_token=pages.to_token(page.after),
    )
