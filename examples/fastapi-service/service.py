"""A web service over one collection of a crossview server: search by an uploaded picture or by words, and thumbnails.

CROSSVIEW_SERVER is the address of the server [default: localhost:50051], CROSSVIEW_KEY a key if the server needs one,
and CROSSVIEW_COLLECTION the name of the collection [default: art].
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, File, Form, HTTPException, Query, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

import crossview

SECONDS = 10.0
"""Maximum time of a call of the crossview server."""
MAX_BYTES = 20 * 2**20
"""Maximum size of an uploaded picture."""
STATUSES: tuple[tuple[type[crossview.CrossviewError], int], ...] = (
    (crossview.NotFoundError, 404),
    (crossview.ImageError, 415),
    (crossview.InvalidInputError, 422),
    (crossview.NotReadyError, 409),
    (crossview.OverloadedError, 503),
    (crossview.BusyError, 503),
    (crossview.ServerUnavailableError, 503),
    (crossview.ServerStoppedError, 503),
    (crossview.DeadlineExceededError, 504),
)
"""The HTTP status of each error; all other errors of crossview are 502, because the client of this service cannot
correct them."""
FORM = """<!doctype html>
<html lang="en"><title>Similar pictures</title>
<h1>Similar pictures</h1>
<form action="similar" method="post" enctype="multipart/form-data">
<label>Picture <input type="file" name="picture" accept="image/*" required></label>
<label>Number of items <input type="number" name="k" value="10" min="1" max="100"></label>
<button>Search</button>
</form></html>"""


class FoundItem(BaseModel):
    """An item that a search found; a smaller distance is nearer."""

    key: str
    labels: list[str]
    distance: float
    match: float | None
    """The probability that the item is relevant, or null if the space is not calibrated."""
    thumbnail: str
    """The path of the item's thumbnail in this service."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep one connection to the crossview server while the service runs."""
    address = os.environ.get("CROSSVIEW_SERVER", "localhost:50051")
    async with crossview.AsyncClient(address, SECONDS, os.environ.get("CROSSVIEW_KEY")) as client:
        app.state.collection = client.collection(os.environ.get("CROSSVIEW_COLLECTION", "art"))
        yield


app = FastAPI(title="Similar pictures", lifespan=lifespan)


@app.exception_handler(crossview.CrossviewError)
async def refused(request: Request, error: crossview.CrossviewError) -> JSONResponse:
    """Answer with the status of an error and its message."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 502)
    headers = {}
    if isinstance(error, crossview.OverloadedError):
        headers["Retry-After"] = str(max(1, round(error.retry_seconds)))
    return JSONResponse({"error": type(error).__name__, "detail": str(error)}, status, headers)


@app.get("/", response_class=HTMLResponse)
async def form() -> str:
    """Return a page with a form that uploads a picture to ``/similar``."""
    return FORM


@app.post("/similar")
async def similar(
    request: Request, picture: Annotated[UploadFile, File()], k: Annotated[int, Form(ge=1, le=100)] = 10
) -> list[FoundItem]:
    """Return the items that are most similar to a picture, the most similar first."""
    image = await picture.read(MAX_BYTES + 1)
    if len(image) > MAX_BYTES:
        raise HTTPException(413, f"the picture has more than {MAX_BYTES >> 20} MiB: upload a smaller one")
    return found_items(request, await request.app.state.collection.search(image=image, k=k))


@app.get("/search")
async def search(
    request: Request, text: Annotated[str, Query(min_length=1)], k: Annotated[int, Query(ge=1, le=100)] = 10
) -> list[FoundItem]:
    """Return the items that words find, the best first; the collection needs a view that takes texts."""
    return found_items(request, await request.app.state.collection.search(text=text, k=k))


@app.get("/thumbnails/{key:path}", response_class=Response, name="thumbnail")
async def thumbnail(request: Request, key: str) -> Response:
    """Return the thumbnail of an item, a JPEG of at most 512 pixels."""
    picture = await request.app.state.collection.items.thumbnail(key, "large")
    return Response(picture, media_type="image/jpeg", headers={"Cache-Control": "max-age=3600"})


def found_items(request: Request, lists: list[crossview.HitList]) -> list[FoundItem]:
    """Return the hits of a search by all views, which is one list."""
    return [
        FoundItem(
            key=hit.key,
            labels=list(hit.labels),
            distance=hit.distance,
            match=hit.match,
            thumbnail=str(request.app.url_path_for("thumbnail", key=hit.key)),
        )
        for one in lists
        for hit in one.hits
    ]
