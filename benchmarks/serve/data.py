"""The served data: a home of three collections, and the queries of each kind as bytes of their requests.

``vectors`` has the vectors of the benchmark ``store``, with labels and an attribute, and a space of 64-bit codes;
``texts`` has short texts; ``pictures`` has pictures with the default views, and a space of the three views together.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from google.protobuf.json_format import MessageToJson

from benchmarks.frame.record import ROOT
from benchmarks.serve.drawn import picture
from benchmarks.store.data import DIM, VIEW, Data, K, draw, keys
from benchmarks.store.writing import import_items
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe
from crossview.v1 import search_pb2 as pb
from crossview.v1.types_pb2 import Vector

VECTORS, TEXTS, PICTURES = "vectors", "texts", "pictures"
CODES, BITS, LEARNED_FROM = "lsh", 64, 20_000
JOINED, TOGETHER = "color+sift+gist", "joined"
SHARED = ROOT.parent / "shared" / "data"
KINDS = ("vector", "code", "key", "text", "picture")
BATCH, QUERIES, MOST_TEXTS, STORED_PICTURES, ASKED_PICTURES = 64, 500, 5_000, 60, 40
_WORDS = 2_000


def fill(folder: Path, items: int, seed: int, photographs: Path = SHARED) -> None:
    """Make the home in a folder."""
    home, data = Home(folder), drawn(items, seed)
    with home.create(VECTORS, [f"{VIEW}=vectors:dim={DIM}"]) as collection:
        import_items(collection, data)
        held_out = max(0.0, 1 - LEARNED_FROM / items)
        collection.train(Recipe(spec=f"lsh:{BITS}", views=(VIEW,), holdout=held_out), space=CODES, activate=False)
    with home.create(TEXTS, ["text"]) as collection:
        texts = _texts(min(items, MOST_TEXTS), seed)
        collection.items.put([NewItem(f"text {number}", text=text) for number, text in enumerate(texts)])
        collection.views.fit([])
    with home.create(PICTURES) as collection:
        images = pictures(photographs)[ASKED_PICTURES:]
        collection.views.fit(images)
        collection.items.put([NewItem(f"picture {number}", image=image) for number, image in enumerate(images)])
        collection.train(Recipe(spec="scale", views=(JOINED,), dim=None), space=TOGETHER)


def drawn(items: int, seed: int) -> Data:
    """Return the vectors with their labels, and those that are searched for."""
    return draw(items, QUERIES, seed)


def pictures(photographs: Path = SHARED) -> list[bytes]:
    """Return encoded pictures, the queries first: photographs if there are any, otherwise drawn ones."""
    count = ASKED_PICTURES + STORED_PICTURES
    files = sorted(photographs.glob("corel1k/images/*/*.jpg"))
    if len(files) < count:
        return [picture(number) for number in range(count)]
    numbers = np.random.default_rng(0).choice(len(files), count, replace=False)
    return [files[number].read_bytes() for number in numbers]


def requests(items: int, seed: int, photographs: Path = SHARED) -> Mapping[str, tuple[bytes, ...]]:
    """Return encoded requests of one query by kind, and of 64 vectors as "batch"."""
    rows = [pb.Query(view=VIEW, vector=Vector(values=row.tolist())) for row in drawn(items, seed).queries]
    by_key = [pb.Query(view=VIEW, key=key) for key in keys(0, min(items, QUERIES))]
    written = [pb.Query(view="text", text=text) for text in _texts(QUERIES, seed + 1)]
    by_image = [pb.Query(view=JOINED, image=image) for image in pictures(photographs)[:ASKED_PICTURES]]
    return {
        "vector": tuple(map(search, rows)),
        "code": tuple(map(partial(search, space=CODES), rows)),
        "key": tuple(map(search, by_key)),
        "text": tuple(map(partial(search, collection=TEXTS), written)),
        "picture": tuple(map(partial(search, collection=PICTURES, space=TOGETHER), by_image)),
        "batch": tuple(search(*rows[start : start + BATCH]) for start in range(0, QUERIES - BATCH, BATCH)),
    }


def search(*queries: pb.Query, collection: str = VECTORS, space: str = "raw") -> bytes:
    """Return an encoded request of so many queries."""
    request = pb.SearchRequest(parent=f"collections/{collection}", queries=queries, space=space, k=K)
    return request.SerializeToString()


def as_json(requests: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return encoded searches as JSON."""
    return tuple(MessageToJson(pb.SearchRequest.FromString(request), indent=None).encode() for request in requests)


def _texts(count: int, seed: int) -> list[str]:
    return list(_written(count, np.random.default_rng(seed)))


def _written(count: int, generator: np.random.Generator) -> Iterator[str]:
    """Ten words each, by Zipf's law."""
    shares = 1 / np.arange(1, _WORDS + 1)
    for words in generator.choice(_WORDS, (count, 10), p=shares / shares.sum()):
        yield " ".join(f"word{number}" for number in words)
