"""The story by a client of grpclib, whose code protoc makes from the folder proto alone."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from crossview.v1.collections_grpc import CollectionServiceStub  # type: ignore[import-not-found]
from crossview.v1.search_grpc import SearchServiceStub  # type: ignore[import-not-found]
from grpclib.client import Channel  # type: ignore[import-not-found]

from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2


async def main(address: str, name: str, files: list[Path]) -> None:
    """Create a collection, fit its views, index pictures, train and search."""
    host, _, port = address.rpartition(":")
    parent, pictures = f"collections/{name}", {file.name: file.read_bytes() for file in files}
    async with Channel(host, int(port)) as channel:
        collections: Any = CollectionServiceStub(channel)
        await collections.CreateCollection(
            pb.CreateCollectionRequest(collection_id=name, views=["color", "sift:words=8"])
        )
        samples = [pb.Picture(image=image) for image in pictures.values()]
        await collections.FitViews([pb.FitViewsRequest(parent=parent), pb.FitViewsRequest(pictures=samples)])
        items = [pb.NewItem(key=key, image=image, labels=[key.split("-")[0]]) for key, image in pictures.items()]
        report = await collections.ImportItems(pb.ImportItemsRequest(parent=parent, items=items))
        print("added", report.added)
        space = await collections.Train(pb.TrainRequest(parent=parent, learner="cca", views=["color", "sift"], dim=2))
        print("trained", space.spec)
        query = search_pb2.Query(view="color", image=pictures[files[0].name])
        request = search_pb2.SearchRequest(parent=parent, k=1, queries=[query], targets=["color"])
        found = await SearchServiceStub(channel).Search(request)
        print("hit", found.results[0].hits[0].key)
        counted = await collections.CountItems(pb.CountItemsRequest(parent=parent))
        print("items", counted.items)


asyncio.run(main(sys.argv[1], sys.argv[2], [Path(one) for one in sys.argv[3:]]))
