"""A bad picture from the network is its sender's problem alone."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from deadly import FATAL, Deadly
from drawn import CLASSES, draw, encode
from PIL import Image

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError, NotReadyError
from crossview.engine.values.item import ImportReport, NewItem, Picture
from crossview.engine.values.query import Query, SearchRequest, SuggestRequest
from crossview.features.errors import ImageError, ImageTooLargeError
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import PictureLimits
from crossview.features.registry import EXTRACTORS
from crossview.server.client.client import Client
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import SubmitJobRequest


def picture(label: str, number: int, fatal: bool = False) -> bytes:
    image = draw(label, number)
    image[0, 0, 0] = FATAL if fatal else 0
    return encode(image)


def bomb() -> bytes:
    """Return a small file of 100 megapixels."""
    file = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with the collection ``pets`` of nine pictures, and a view that is deadly."""
    home = Home(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXTRACTORS, "deadly", Deadly)
        with home.create("pets", ("color", "deadly")) as made:
            new = [
                NewItem(f"{label}/{number}", image=picture(label, number), labels=(label,))
                for label in CLASSES
                for number in range(3)
            ]
            assert made.items.put(new).added == 9
        with RunningServer(ServerSettings(home=home.path, port=0)) as server:
            server.collections.pictures = PicturePool(2, PictureLimits(seconds=600))
            yield server
        assert server.collections.pictures.pids() == []


@pytest.fixture
def pets(running: RunningServer) -> Iterator[RemoteCollection]:
    with Client(running.address) as client:
        yield client.open("pets")


def test_answers_are_those_of_the_engine(running: RunningServer, pets: RemoteCollection) -> None:
    """Searches, embeddings and suggested labels by pictures are equal."""
    queries = [Query("color", image=picture(label, 7)) for label in CLASSES]
    with running.collections.home.open("pets") as local:
        mine = [[(hit.key, hit.distance) for hit in one.hits] for one in local.search(SearchRequest(queries, k=3))]
        theirs = [[(hit.key, hit.distance) for hit in one.hits] for one in pets.search(SearchRequest(queries, k=3))]
        assert mine == theirs
        for here, there in zip(local.embed(queries), pets.embed(queries), strict=True):
            assert np.array_equal(here.vector, there.vector)
        asked = SuggestRequest(queries, k=3)
        assert local.suggest(asked) == pets.suggest(asked)


def test_a_picture_that_kills_its_process_is_an_invalid_argument(pets: RemoteCollection) -> None:
    """It names the query, and the server answers the next call."""
    good, bad = Query("deadly", image=picture("red", 7)), Query("deadly", image=picture("red", 7, fatal=True))
    with pytest.raises(ImageError, match="query 1: reading this picture kills the process that does it"):
        pets.search(SearchRequest([good, bad]))
    (found,) = pets.search(SearchRequest([good], k=1))
    assert found.hits[0].key.startswith("red/")


def test_of_an_import_only_the_bad_pictures_fail(pets: RemoteCollection) -> None:
    """One kills its process, one has too many pixels, and one is not a picture."""
    images = {"good": picture("blue", 8), "fatal": picture("blue", 8, fatal=True), "bomb": bomb(), "none": b"text"}
    report = pets.items.put([NewItem(f"new/{name}", image=data) for name, data in images.items()])
    assert report.added == 1
    reasons = {failure.key: failure.reason for failure in report.failures}
    assert reasons.keys() == {"new/fatal", "new/bomb", "new/none"}
    assert "kills the process" in reasons["new/fatal"]
    assert "25,000,000" in reasons["new/bomb"]
    assert pets.items.delete(["new/good"]) == 1


def test_a_bomb_is_refused_at_once(pets: RemoteCollection) -> None:
    """Its header decides, before a pixel is decoded: one without its pixels is refused alike.

    Programs on this machine may read such a picture.
    """
    data = bomb()
    assert len(data) < 400_000
    for sent in (data, data[:100]):
        with pytest.raises(ImageTooLargeError, match="10000 x 10000 pixels, and at most 25,000,000"):
            pets.search(SearchRequest([Query("color", image=sent)]))


def test_views_are_fitted_on_the_pictures_that_can_be_read(pets: RemoteCollection) -> None:
    """A bomb among them is left out."""
    pets.views.add("sift:words=8")
    pets.views.fit([*(Picture(picture(label, number)) for label in CLASSES for number in range(5)), Picture(bomb())])
    assert next(view for view in pets.views() if view.name == "sift").fitted


def test_jobs_read_pictures_within_the_same_limits(running: RunningServer) -> None:
    """An import and a fit without a waiting caller refuse the bomb that a call refuses."""
    images = {"job/good": picture("blue", 8), "job/bomb": bomb()}
    items = [pb.NewItem(key=key, image=data) for key, data in images.items()]
    with Client(running.address) as client:
        made = client.create("jobs", ("color", "sift:words=8"))
        fit = pb.FitViewsRequest(parent=made.resource, pictures=[pb.Picture(image=bomb())])
        failed = client.jobs.submit(SubmitJobRequest(fit_views=fit))
        fit.pictures.extend(pb.Picture(image=picture(label, number)) for label in CLASSES for number in range(3))
        fitted = client.jobs.wait(client.jobs.submit(SubmitJobRequest(fit_views=fit)).id).result
        assert isinstance(fitted, tuple)
        with pytest.raises(NotReadyError, match="sift"):
            client.jobs.wait(failed.id)
        imported = SubmitJobRequest(import_items=pb.ImportItemsRequest(parent=made.resource, items=items))
        report = client.jobs.wait(client.jobs.submit(imported).id).result
        client.delete("jobs")
    assert isinstance(report, ImportReport)
    assert report.added == 1
    ((key, reason),) = [(one.key, one.reason) for one in report.failures]
    assert key == "job/bomb"
    assert "10000 x 10000 pixels, and at most 25,000,000" in reason


def test_the_limit_is_a_setting(tmp_path: Path) -> None:
    """It is in megapixels, and must be positive."""
    assert ServerSettings(max_megapixels=0.5).picture_limits.pixels == 500_000
    with pytest.raises(CrossviewError, match="max_megapixels"):
        ServerSettings(max_megapixels=0.0)
