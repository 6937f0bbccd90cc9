"""Small and large thumbnails are made at indexing, and read one by one or many at once."""

import io
import sqlite3
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.server.client.client import Client
from crossview.server.core.services import collection_service
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb


def drawn(width: int, height: int, seed: int = 0) -> bytes:
    noise = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return cv2.imencode(".png", cv2.resize(noise, (width, height)))[1].tobytes()


def size(jpeg: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(jpeg)) as picture:
        assert picture.format == "JPEG"
        return picture.size


def fill(home: Home) -> None:
    with home.create("some", ["color", "v=vectors:dim=1"]) as made:
        made.items.put(
            [
                NewItem("large", image=drawn(600, 300)),
                NewItem("middle", image=drawn(240, 480)),
                NewItem("small", image=drawn(190, 150)),
                NewItem("none", rows={"v": [1.0]}),
            ]
        )


def test_each_picture_has_thumbnails_of_its_size(tmp_path: Path) -> None:
    fill(home := Home(tmp_path))
    keys = ["large", "none", "small", "no-such", "middle", "large"]
    with home.open("some") as made:
        small, large = made.items.thumbnails(keys), made.items.thumbnails(keys, "large")
        assert [one and size(one) for one in small] == [(128, 64), b"", (128, 101), b"", (64, 128), (128, 64)]
        assert [one and size(one) for one in large] == [(512, 256), b"", (128, 101), b"", (240, 480), (512, 256)]
        assert made.items.thumbnail("middle") == small[4]
        assert made.items.thumbnail("middle", "large") == large[4]
        with pytest.raises(NotFoundError, match="no thumbnail"):
            made.items.thumbnail("none", "large")
        with pytest.raises(InvalidInputError, match="small or large, not 'huge'"):
            made.items.thumbnails(keys, "huge")
        made.items.put([NewItem("large", image=drawn(100, 50))])  # another picture, without a large thumbnail
        made.items.delete(["middle"])
        assert size(made.items.thumbnail("large", "large")) == (100, 50)
    with sqlite3.connect(home.path / "some" / "catalog.db") as database:
        assert database.execute("SELECT count(*) FROM previews").fetchone() == (0,)
    database.close()


def test_a_server_returns_as_many_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client asks for the rest; a picture above the limit comes alone."""
    fill(home := Home(tmp_path))
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        some, keys = client.open("some"), ["large", "none", "middle", "no-such", "small"] * 120
        with home.open("some") as made:
            expected = made.items.thumbnails(keys, "large")
            assert some.items.thumbnails(keys, "large") == expected
            monkeypatch.setattr(collection_service, "_THUMBNAIL_BYTES", len(expected[0]) - 1)
            assert some.items.thumbnails(keys[:7], "large") == expected[:7]
        stub = some.connection.stubs.collections
        with pytest.raises(Exception, match="at most 500 thumbnails, not 501"):
            stub.GetThumbnails(pb.GetThumbnailsRequest(parent="collections/some", keys=["a"] * 501))
