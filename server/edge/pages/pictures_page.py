"""The pictures on pages: thumbnails of items, and pictures that the browser has uploaded."""

import asyncio
import hashlib
import json
from typing import Any

from google.protobuf.message import Message

from crossview.server.edge.pages.answer import NO_STORE, SVG, Answer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.uploads import media_type
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.settings import THUMBNAILS_AT_ONCE
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2

_FRESH = ("cache-control", "private, max-age=300, stale-while-revalidate=3600")
"""A browser asks again after five minutes, and then gets only a 304 if nothing changed."""
_TRIES, _WAIT_SECONDS = 5, 2.0
"""Number of times that a thumbnail is asked for again on a busy server, and maximum time between them."""
_PICTURE_BYTES = 64 << 20
_NONE = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
"""For items without a picture: what is behind it shows through."""


async def thumbnail(visit: Visit) -> Answer:
    """Return the small picture of an item, ``key``, or with ``size=large`` its preview."""
    large = visit.query.text("size") == "large"
    request = collections_pb2.GetThumbnailRequest(
        name=f"{visit.collection}/items/{visit.query.text('key')}",
        size=collections_pb2.THUMBNAIL_SIZE_LARGE if large else collections_pb2.THUMBNAIL_SIZE_SMALL,
    )
    try:
        response = await _patient(visit, "GetThumbnail", request)
    except PageError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return Answer(_NONE, SVG)
    return _unless_known(visit, response.image, response.media_type)


async def thumbnails(visit: Visit) -> Answer:
    """Return the small pictures of items, several ``key``, one after another.

    Before each come its bytes in four bytes, the highest first: 0 for an item without a picture. A request for each
    picture would hold up the scrolling of a page.
    """
    keys, images = visit.query.texts("key")[:THUMBNAILS_AT_ONCE], list[bytes]()
    while len(images) < len(keys):
        request = collections_pb2.GetThumbnailsRequest(parent=visit.collection, keys=keys[len(images) :])
        response = await _patient(visit, "GetThumbnails", request)
        images += [picture.image for picture in response.thumbnails]
    body = b"".join(len(image).to_bytes(4, "big") + image for image in images)
    return _unless_known(visit, body, "application/octet-stream")


def _unless_known(visit: Visit, body: bytes, media_type: str) -> Answer:
    """Return the answer with its tag, without the body if the browser has it."""
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = (_FRESH, ("etag", tag), ("vary", "cookie"))
    if tag in visit.headers.get("if-none-match", ""):
        return Answer(b"", media_type, 304, headers)
    return Answer(body, media_type, headers=headers)


async def _patient(visit: Visit, method: str, request: Message) -> Any:
    """Return the answer of a method; ask again if the server has too much to do, because a page asks often at once."""
    for _ in range(_TRIES):
        try:
            return await visit.call(method, request)
        except PageError as error:
            if error.retry_seconds is None:
                raise
            await asyncio.sleep(min(error.retry_seconds, _WAIT_SECONDS))
    return await visit.call(method, request)


async def upload(visit: Visit) -> Answer:
    """Keep an uploaded picture in the session; return its id as JSON."""
    await visit.call("ListCollections", collections_pb2.ListCollectionsRequest(page_size=1))  # strangers upload nothing
    picture = await visit.body(_PICTURE_BYTES)
    if not picture:
        raise PageError(400, "the picture is empty: choose another file")
    return Answer(json.dumps({"id": visit.upload(picture)}).encode(), "application/json")


async def uploaded(visit: Visit) -> Answer:
    """Return an uploaded picture, to the browser that has uploaded it."""
    picture = visit.session.uploads.get(visit.path["id"])
    kind = None if picture is None else media_type(picture)
    if picture is None or kind is None:
        return Answer(_NONE, SVG)
    return Answer(picture, kind, headers=(NO_STORE,))


PAGES = (
    Page("/c/{collection}/thumbnail", thumbnail),
    Page("/c/{collection}/thumbnails", thumbnails),
    Page("/pictures", upload, "POST"),
    Page("/pictures/{id}", uploaded),
)
