from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossview.engine.values import errors
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import IndexOptions, NewItem, Picture
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.errors import NotAnImageError
from crossview.features.forest import Forest
from crossview.server.client.client import Client
from crossview.server.commands.backend import Backend, CollectionBackend
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

DOTS = "pictures/dots/dots-00.jpg"
VIEWS = ("color", "sift:words=24")


@pytest.fixture
def collection(backend: Backend) -> CollectionBackend:
    return backend.open("drawn")


def test_both_tell_the_same(server: RunningServer) -> None:
    """Collections, views, spaces, items, thumbnails, hits and evaluations are equal from both sides."""
    home = server.collections.home
    with Client(server.address) as client, home.open("drawn") as local:
        remote = client.open("drawn")
        assert "drawn" in client.names() == home.names()
        assert remote.info() == local.info()
        assert remote.views() == local.views()
        assert remote.spaces() == local.spaces()
        assert remote.spaces.get("cca") == local.spaces.get("cca")
        assert remote.items(limit=7) == local.items(limit=7)
        assert remote.items.get(DOTS) == local.items.get(DOTS)
        assert remote.items.thumbnail(DOTS) == local.items.thumbnail(DOTS)
        queries = [Query("color", key=DOTS), Query("sift", vector=np.ones(24, np.float32))]
        for merge in (False, True):
            assert remote.search(SearchRequest(queries, k=4, merge=merge)) == local.search(
                SearchRequest(queries, k=4, merge=merge)
            )
        for way in ("distance", "rank", "learn"):
            fused = SearchRequest([Query(key=DOTS), queries[1]], k=4, fuse=way, space="raw")
            assert remote.search(fused) == local.search(fused)
            assert [one.target for one in local.search(fused)] == [f"{way} of color, sift", f"{way} of sift"]
        for mine, its in zip(local.embed(queries), remote.embed(queries), strict=True):
            assert (its.query, its.target, its.bits, its.vector.dtype) == (mine.query, mine.target, 0, np.float32)
            np.testing.assert_array_equal(its.vector, mine.vector)
        ours, theirs = (
            local.evaluate(EvaluationRequest(view="color", k=(2, 3))),
            remote.evaluate(EvaluationRequest(view="color", k=(2, 3))),
        )
        assert (theirs.rows, theirs.queries, theirs.databases) == (ours.rows, ours.queries, ours.databases)
        assert (theirs.protocol, theirs.codebook) == (ours.protocol, ours.codebook)


def test_search_answers_within_and_across(collection: CollectionBackend, pictures: Path) -> None:
    """Without targets every view answers; an indexed picture is its own nearest hit in its view."""
    image = (pictures / "dots" / "dots-00.jpg").read_bytes()
    within, across = collection.search(SearchRequest([Query("color", image=image)], k=3))
    assert (within.target, across.target) == ("color", "sift")
    assert within.hits[0].key == DOTS
    assert within.hits[0].labels == ("dots",)
    assert within.hits[0].distance < within.hits[1].distance <= within.hits[2].distance


def test_targets_space_and_filter_are_passed_on(collection: CollectionBackend) -> None:
    """Only the requested targets answer."""
    query = Query("color", key=DOTS)
    (only,) = collection.search(SearchRequest([query], targets=("sift",), k=20, filter=Filter(labels=("waves",))))
    assert only.target == "sift"
    assert {hit.labels for hit in only.hits} == {("waves",)}
    (raw,) = collection.search(SearchRequest([query], space="raw", k=2, filter=Filter(key_prefix="pictures/bricks")))
    assert raw.target == "color"
    assert len(raw.hits) == 2
    assert all(hit.key.startswith("pictures/bricks") for hit in raw.hits)


def test_pages_follow_each_other(collection: CollectionBackend) -> None:
    """A page after the last key lists every item once, in order, and count agrees."""
    keys: list[str] = []
    while page := collection.items(after=keys[-1] if keys else "", limit=5):
        keys += [item.key for item in page]
    assert keys == sorted(set(keys))
    assert len(keys) == collection.count() == 18
    assert collection.count(Filter(without_labels=("dots",))) == 12


def test_both_raise_the_same(backend: Backend, collection: CollectionBackend) -> None:
    """A mistake is the same error, here and through a server."""
    with pytest.raises(errors.NotFoundError, match="no collection 'no'; there are: drawn"):
        backend.open("no")
    with pytest.raises(errors.InvalidInputError, match="k must be at least 1"):
        collection.search(SearchRequest([Query("color", key=DOTS)], k=0))
    with pytest.raises(errors.InvalidInputError, match="at least one query"):
        collection.search(SearchRequest([]))
    with pytest.raises(NotAnImageError):
        collection.search(SearchRequest([Query("color", image=b"words")]))
    with pytest.raises(errors.NotFoundError, match="no/such"):
        collection.items.get("no/such")
    with pytest.raises(errors.NotFoundError, match="there are: cca"):
        collection.spaces.get("no")
    with pytest.raises(errors.InvalidInputError, match="foo"):
        collection.train(Recipe(spec="cca", views=("color", "sift"), settings={"foo": 1}))
    with pytest.raises(errors.AlreadyExistsError):
        backend.create("drawn", views=("color",))


def test_a_collection_lives_through_either(backend: Backend, pictures: Path, tmp_path: Path) -> None:
    """Create, index with failures, index again, train twice, roll back, delete items, delete."""
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    one = backend.create("other", views=VIEWS, description="a test")
    try:
        seen: list[tuple[str, int, int]] = []
        report = one.index(
            [pictures, tmp_path], IndexOptions(labels="folder", workers=1), progress=lambda *counts: seen.append(counts)
        )
        assert (report.added, report.updated, report.unchanged) == (18, 0, 0)
        assert [failure.key for failure in report.failures] == [str(tmp_path / "bad.jpg")]
        assert "not a picture" in report.failures[0].reason
        assert seen[-1] == ("indexing", 19, 19)
        again = one.index([pictures], IndexOptions(labels="folder"))
        assert (again.added, again.updated, again.unchanged) == (0, 0, 18)
        kept = one.index([pictures])
        assert kept.unchanged == 18
        assert one.items.get(DOTS).source == str(pictures / "dots" / "dots-00.jpg")
        first = one.train(Recipe(spec="cca", views=("color", "sift"), dim=3, seed=1), space="shared")
        second = one.train(
            Recipe(spec="cca", views=("color", "sift"), dim=4, settings={}), space="shared", activate=False
        )
        assert (first.generation, first.active, second.active) == (1, True, True)
        assert one.spaces.get("shared").generation == 1
        assert one.spaces.activate("shared", 2).generation == 2
        assert one.spaces.get("shared").generations == (1, 2)
        assert one.items.delete([DOTS, "no/such"]) == 1
        assert one.count() == 17
        assert one.info().description == "a test"
    finally:
        one.close()
        backend.delete("other")
    assert "drawn" in backend.names()


def test_rows_and_pictures_are_imported(backend: Backend, pictures: Path) -> None:
    """Rows alone make an item; a bad one is a failure, the others are taken."""
    one = backend.create("rows", views=("color",))
    try:
        dim = one.views()[0].dim
        image = (pictures / "dots" / "dots-00.jpg").read_bytes()
        items = [
            NewItem("a/row", rows={"color": np.full(dim, 0.5, np.float32)}, labels=("x",), attributes={"year": 1999}),
            NewItem("picture", image=image),
            NewItem("short", rows={"color": [1.0]}),
            NewItem("nothing"),
        ]
        report = one.items.put(items)
        assert (report.added, [failure.key for failure in report.failures]) == (2, ["short", "nothing"])
        assert one.items.get("a/row").attributes == {"year": 1999}
        (hits,) = one.search(SearchRequest([Query("color", vector=np.full(dim, 0.5, np.float32))], k=1))
        assert hits.hits[0].key == "a/row"
        assert hits.hits[0].attributes == {"year": 1999}
        (hits,) = one.search(SearchRequest([Query("color", key="picture")], filter=Filter(attributes={"year": 1999})))
        assert [hit.key for hit in hits.hits] == ["a/row"]
        with pytest.raises(errors.NotFoundError):
            one.items.thumbnail("a/row")
    finally:
        one.close()
        backend.delete("rows")


def test_unfitted_views_name_the_remedy(backend: Backend, pictures: Path) -> None:
    """Words are never fitted silently by a search or an import; fitting makes both work."""
    one = backend.create("unfitted", views=("sift:words=8",))
    images = [path.read_bytes() for path in sorted(pictures.rglob("*.jpg"))[:4]]
    try:
        with pytest.raises(errors.NotReadyError, match=r"`collection.index\(\[.PATH.\]\)`"):
            one.items.put([NewItem("a", image=images[0])])
        views = one.views.fit(iter(images))
        assert [(view.name, view.revision, view.fitted) for view in views] == [("sift", 1, True)]
        assert one.items.put([NewItem("a", image=images[0])]).added == 1
        with pytest.raises(errors.InvalidInputError, match="already fitted"):
            one.views.fit(images, views=("sift",))
        assert one.views.fit(images, views=("sift",), refit=True)[0].revision == 2
    finally:
        one.close()
        backend.delete("unfitted")


def test_views_are_fitted_with_labels(backend: Backend, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first indexing takes those of the files, and pictures take the given ones."""
    seen: list[set[tuple[str, ...]]] = []
    fit = Forest.fit

    def remember(self: Forest, samples: Any, seed: int = 0, labels: Any = None) -> Any:
        seen.append(set(labels))
        return fit(self, samples, seed, labels)

    monkeypatch.setattr(Forest, "fit", remember)
    one = backend.create("forested", views=("forest:words=24",))
    try:
        one.index([pictures], IndexOptions(labels="folder", workers=1))
        images = [path.read_bytes() for path in sorted(pictures.rglob("*.jpg"))]
        one.views.fit([Picture(image, ("one",)) for image in images], views=("forest",), refit=True)
        folders = {(path.name,) for path in pictures.iterdir() if path.is_dir()}
        assert seen == [folders, {("one",)}]
    finally:
        one.close()
        backend.delete("forested")


def test_folders_of_one_name_keep_apart_on_a_server(tmp_path: Path, pictures: Path, server: RunningServer) -> None:
    """A second folder of the same name gets its own alias, and keeps it."""
    image = (pictures / "dots" / "dots-00.jpg").read_bytes()
    for parent in ("one", "two"):
        (tmp_path / parent / "photos").mkdir(parents=True)
        (tmp_path / parent / "photos" / "a.jpg").write_bytes(image)
    with Client(server.address) as client:
        made = client.create("apart", views=("color",))
        try:
            for _ in range(2):
                for parent in ("one", "two"):
                    made.index([tmp_path / parent / "photos"])
            assert [item.key for item in made.items()] == ["photos-2/a.jpg", "photos/a.jpg"]
        finally:
            client.delete("apart")


def test_a_deleted_collection_can_be_made_again(tmp_path: Path) -> None:
    """The server does not remember the old one."""
    with RunningServer(ServerSettings(home=tmp_path, port=0)) as running, Client(running.address) as client:
        for views in (("color",), ("color", "gist")):
            made = client.create("pets", views=views)
            assert tuple(view.name for view in made.views()) == views
            client.delete("pets")
        with pytest.raises(errors.NotFoundError, match="there are none"):
            made.info()
