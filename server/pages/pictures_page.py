"""The pictures on pages: thumbnails of items, and pictures that the browser has uploaded."""

import asyncio
import hashlib
import json
from typing import Any

from crossview.server.pages.answer import NO_STORE, SVG, Answer
from crossview.server.pages.page_calls import PageError
from crossview.server.pages.site import Page
from crossview.server.pages.uploads import media_type
from crossview.server.pages.visit import Visit
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
    """Return the small picture of an item, ``key``, or with ``size=large`` the preview of it."""
    large = visit.query.text("size") == "large"
    request = collections_pb2.GetThumbnailRequest(
        name=f"{visit.collection}/items/{visit.query.text('key')}",
        size=collections_pb2.THUMBNAIL_SIZE_LARGE if large else collections_pb2.THUMBNAIL_SIZE_SMALL,
    )
    try:
        found = await _patient(visit, request)
    except PageError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return Answer(_NONE, SVG)
    tag = f'"{hashlib.blake2b(found.image, digest_size=12).hexdigest()}"'
    headers = (_FRESH, ("etag", tag), ("vary", "cookie"))
    if tag in visit.headers.get("if-none-match", ""):
        return Answer(b"", found.media_type, 304, headers)
    return Answer(found.image, found.media_type, headers=headers)


async def _patient(visit: Visit, request: collections_pb2.GetThumbnailRequest) -> Any:
    """Return a thumbnail; ask again if the server has too much to do, because a page asks for many at once."""
    for _ in range(_TRIES):
        try:
            return await visit.call("GetThumbnail", request)
        except PageError as error:
            if error.retry_seconds is None:
                raise
            await asyncio.sleep(min(error.retry_seconds, _WAIT_SECONDS))
    return await visit.call("GetThumbnail", request)


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
    Page("/pictures", upload, "POST"),
    Page("/pictures/{id}", uploaded),
)
