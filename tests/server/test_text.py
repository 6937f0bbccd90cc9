"""Searching by words and by outside vectors through a server: requests of a client, and their hits."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
from terminal import done

from crossview.engine.values import errors
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.base import QueryWords
from crossview.server.client.client import Client
from crossview.server.commands.backend import Backend, CollectionBackend
from crossview.server.commands.demo.dataset import STYLES, WORDS, caption, write_captions, write_pictures
from crossview.server.commands.drawing.search_results import strips
from crossview.server.edge.listen import RunningServer
from crossview.server.wire import message_batches
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc, search_pb2, search_pb2_grpc, types_pb2

PER_CLASS = 18
NAME = "collections/words"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with pictures of ten classes, two in three with a caption, indexed and trained through it."""
    folder = tmp_path_factory.mktemp("words")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crossview.server.commands.demo.dataset.SIZE", (112, 84))
        write_pictures(folder / "pictures", PER_CLASS)
    write_captions(folder / "all.csv", folder / "pictures")
    header, *lines = (folder / "all.csv").read_text().splitlines()
    captions = folder / "captions.csv"
    captions.write_text("\n".join([header, *(line for number, line in enumerate(lines) if number % 3)]))
    with RunningServer(ServerSettings(home=folder / "home", port=0)) as running, Client(running.address) as client:
        words = client.create("words", views=("color", "text:dim=40"))
        report = words.index([folder / "pictures"], IndexOptions(labels="folder", captions=captions))
        assert (report.added, report.failures) == (PER_CLASS * len(STYLES), ())
        again = words.index([folder / "pictures"], IndexOptions(labels="folder", captions=captions))
        assert (again.updated, again.unchanged) == (0, report.added)
        # CCA compares the views item by item; Multi-NPP learns from every row
        for learner, trained in (("cca", report.added * 2 // 3), ("multi-npp", report.added)):
            assert words.train(Recipe(spec=learner, views=("text", "color"), dim=9)).trained_items == trained
        yield running


@pytest.mark.parametrize("space", ["cca", "multi-npp"])
def test_a_text_query_over_grpc_finds_pictures_by_class(served: RunningServer, space: str) -> None:
    """New captions find pictures without captions: of the first five, far more than the tenth of chance have the class,
    which neither the query nor any caption names."""
    with grpc.insecure_channel(served.address) as channel:
        items = collections_pb2_grpc.CollectionServiceStub(channel)
        listed = items.ListItems(pb.ListItemsRequest(parent=NAME, page_size=1000)).items
        bare = [item.key for item in listed if not item.text]
        assert len(bare) == PER_CLASS * len(STYLES) // 3
        rng = np.random.default_rng(7)
        asked = [(name, caption(name, rng)) for name in STYLES for _ in range(6)]
        request = search_pb2.SearchRequest(
            parent=NAME,
            queries=[search_pb2.Query(view="text", text=text) for _, text in asked],
            targets=["color"],
            space=space,
            k=5,
            filter=types_pb2.Filter(keys=bare),
        )
        answers = search_pb2_grpc.SearchServiceStub(channel).Search(request).results
    assert not any(name in text for name, text in asked)
    pairs = zip(asked, answers, strict=True)
    precision = np.mean([[name in hit.labels for hit in answer.hits] for (name, _), answer in pairs])
    assert precision > 0.55


@pytest.mark.parametrize("space", ["cca", "raw"])
def test_words_and_pictures_are_examples_together(served: RunningServer, space: str) -> None:
    """Each counts in the views that it has; the words of the question are in no answer."""
    with Client(served.address) as client:
        words = client.open("words")
        waves, bricks = ([item.key for item in words.items(f"label = {name}", limit=3)] for name in ("waves", "bricks"))
        text = " ".join(WORDS["waves"][:3])
        examples = [
            Query(text=text),
            *(Query(key=key) for key in waves),
            *(Query(key=key, weight=-1) for key in bricks),
        ]
        (answer,) = words.search(SearchRequest(examples, combine="learn", space=space, k=10))
        assert np.mean(["waves" in hit.labels for hit in answer.hits]) > 0.5
        (answer,) = words.search(SearchRequest([Query(text=text)], combine="mean", space=space, k=5))
        assert len(answer.hits) == 5


def test_hits_and_items_tell_their_text(served: RunningServer) -> None:
    """It is beside the class, and pictures find words, too."""
    with Client(served.address) as client:
        words = client.open("words")
        (answer,) = words.search(
            SearchRequest([Query("text", text=" ".join(WORDS["waves"][:3]))], targets=["text"], k=3)
        )
        assert all(hit.text == words.items.get(hit.key).text != "" for hit in answer.hits)
        bare = words.search(SearchRequest([Query("text", text="surf")], targets=["color"], k=100))[0]
        (picture,) = [hit.key for hit in bare.hits if not hit.text][:1]
        (across,) = words.search(SearchRequest([Query("color", key=picture)], targets=["text"], k=3))
        assert len(across.hits) == 3
        with pytest.raises(errors.InvalidInputError, match="no row of view 'text'"):
            words.search(SearchRequest([Query("text", key=picture)]))


STATUSES = {
    "unknown words": (search_pb2.Query(view="text", text="xyzzy"), "does not know any word of 'xyzzy'"),
    "stop words": (search_pb2.Query(view="text", text="in the"), "stop words do not count; use words of the items"),
    "only stop words known": (search_pb2.Query(view="text", text="the xyzzy in a"), "unknown: xyzzy; use words of the"),
    "no words": (search_pb2.Query(view="text", text=""), "the text of the query is empty"),
    "text in a picture view": (search_pb2.Query(view="color", text="sea"), "by view text, with color as the target"),
    "picture in a text view": (search_pb2.Query(view="text", image=b"x"), "by view color, with text as the target"),
}


@pytest.mark.parametrize("case", STATUSES)
def test_words_that_cannot_be_asked_are_invalid_arguments(served: RunningServer, case: str) -> None:
    """The message has the remedy."""
    query, words = STATUSES[case]
    with grpc.insecure_channel(served.address) as channel, pytest.raises(grpc.RpcError) as caught:
        search_pb2_grpc.SearchServiceStub(channel).Search(search_pb2.SearchRequest(parent=NAME, queries=[query]))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert words in caught.value.details()


def test_unknown_words_are_named_and_stop_words_do_not_count(served: RunningServer) -> None:
    """The known words determine the hits; the command line prints the unknown ones, and every backend returns both."""
    asked = ("search", "words", "--view", "text", "--targets", "color", "--server", served.address)
    output = done(*asked, "--text", "the surf in xyzzy")
    assert output.startswith("known words: surf; unknown words, which do not count: xyzzy\n")
    assert "unknown" not in done(*asked, "--text", "the surf")
    with Client(served.address) as client:
        queries = [Query("text", text=text) for text in ("the surf in xyzzy", "surf")]
        found = client.open("words").search(SearchRequest(queries, targets=["color"]))
    assert found[0].hits == found[1].hits
    assert [one.words for one in found] == [QueryWords(("surf",), ("xyzzy",)), QueryWords(("surf",), ())]


def test_a_sheet_of_a_text_query_shows_the_words(served: RunningServer) -> None:
    """They are in the query's tile, and in those of hits without a picture."""
    with Client(served.address) as client:
        words = client.open("words")
        queries = [Query("text", text="surf and tide")]
        rows = strips(words.items, queries, words.search(SearchRequest(queries, targets=["color"], k=3)), truth="waves")
    assert (rows[0].query.text, rows[0].query.picture, rows[0].query.label) == ("surf and tide", None, "waves")
    assert all(hit.picture for hit in rows[0].hits)


# -- the same from both sides


@pytest.fixture
def made(backend: Backend) -> Iterator[CollectionBackend]:
    one = backend.create("made", views=("color", "tags=text:dim=4"))
    yield one
    one.close()
    backend.delete("made")


def test_texts_and_vectors_live_through_either(made: CollectionBackend, pictures: Path, tmp_path: Path) -> None:
    """Captions with a stray line, changed captions, vectors in order and by key, a view added later."""
    csv = tmp_path / "captions.csv"
    csv.write_text("dots/dots-00.jpg,a spotted thing\nwaves/waves-00.jpg,sea\nno/such.jpg,nothing\n")
    report = made.index([pictures], IndexOptions(labels="folder", workers=1, captions=csv))
    assert (report.added, [failure.key for failure in report.failures]) == (18, ["no/such.jpg"])
    assert [view.fitted for view in made.views()] == [True, True]
    assert made.items.get("pictures/dots/dots-00.jpg").views == ("color", "tags")
    csv.write_text("dots/dots-00.jpg,a dotted sea\nbricks/bricks-00.jpg,spotted\n")
    report = made.index([pictures], IndexOptions(workers=1, captions=csv))
    assert (report.added, report.updated, report.unchanged) == (0, 2, 16)
    (answer,) = made.search(SearchRequest([Query("tags", text="SPOTTED")], k=1))
    assert (answer.hits[0].key, answer.hits[0].labels) == ("pictures/bricks/bricks-00.jpg", ("bricks",))
    np.save(tmp_path / "rows.npy", np.eye(18, 5, dtype=np.float64))
    assert made.items.index_vectors("clip", tmp_path / "rows.npy").updated == 18
    (tmp_path / "keys.txt").write_text("new/one\npictures/dots/dots-00.jpg\n")
    np.save(tmp_path / "rows.npy", np.full((2, 5), 7.0))
    report = made.items.index_vectors("clip", tmp_path / "rows.npy", tmp_path / "keys.txt")
    assert (report.added, report.updated) == (1, 1)
    (answer,) = made.search(SearchRequest([Query("clip", key="new/one")], k=1))
    assert (answer.hits[0].key, answer.hits[0].distance) == ("pictures/dots/dots-00.jpg", 0.0)
    with pytest.raises(errors.InvalidInputError, match="rows of 5 numbers; view 'color' has 64"):
        made.items.index_vectors("color", tmp_path / "rows.npy")
    added = made.views.add("gist")
    assert (added.name, added.dim) == ("gist", 512)
    with pytest.raises(errors.AlreadyExistsError, match="gist2=gist"):
        made.views.add("gist")
    assert made.index([pictures], IndexOptions(workers=1)).updated == 18
    assert made.items.get("pictures/dots/dots-00.jpg").views == ("color", "tags", "clip", "gist")
    assert made.items.get("pictures/dots/dots-00.jpg").text == "a dotted sea"


def test_a_single_caption_is_kept_until_there_are_more(made: CollectionBackend, pictures: Path, tmp_path: Path) -> None:
    """Too few texts for a view fail the view, not the run."""
    csv = tmp_path / "captions.csv"
    for text, failed in (("a\n", ["tags"]), ("a spotted thing\nwaves/waves-00.jpg,sea\n", [])):
        csv.write_text(f"dots/dots-00.jpg,{text}")
        assert [
            failure.key for failure in made.index([pictures], IndexOptions(workers=1, captions=csv)).failures
        ] == failed
    (answer,) = made.search(SearchRequest([Query("tags", text="sea")], k=1))
    assert answer.hits[0].key == "pictures/waves/waves-00.jpg"


def test_texts_are_imported_without_pictures(made: CollectionBackend) -> None:
    """They wait for the fit, which takes them; later ones need none; "" removes a text, None keeps it."""
    made.items.put([NewItem("a", text="red rose"), NewItem("b", text="blue sea", labels=("x",))])
    with pytest.raises(errors.NotReadyError, match=r"`collection.views.fit\(\[\]\)`"):
        made.search(SearchRequest([Query("tags", text="rose")]))
    made.views.fit(())
    made.items.put([NewItem("c", text="rose"), NewItem("b", text="")])
    (answer,) = made.search(SearchRequest([Query("tags", text="roses and a rose")], filter=Filter()))
    assert {hit.key for hit in answer.hits} == {"a", "c"}
    made.items.put([NewItem("a", labels=("kept",), rows={"color": np.zeros(64)})])
    item = made.items.get("a")
    assert (item.text, item.labels, item.views) == ("red rose", ("kept",), ("color", "tags"))
    with pytest.raises(errors.NotFoundError):
        made.items.thumbnail("a")


@pytest.mark.parametrize(
    ("length", "most"), [(5_000, 100_000), pytest.param(999_999, message_batches.BATCH_BYTES, marks=pytest.mark.long)]
)
def test_long_texts_fit_into_pages(
    made: CollectionBackend, monkeypatch: pytest.MonkeyPatch, length: int, most: int
) -> None:
    """A page with long texts is shorter, and listing continues."""
    monkeypatch.setattr(message_batches, "BATCH_BYTES", most)
    made.items.put([NewItem(f"{number:02}", text="é" * length) for number in range(40)])
    assert [item.key for item in made.items(limit=40)] == [f"{number:02}" for number in range(40)]
    assert len(made.items(limit=7)) == 7


def test_vectors_of_a_message_are_checked(served: RunningServer) -> None:
    """They are checked before anything is written."""
    with grpc.insecure_channel(served.address) as channel:
        stub = collections_pb2_grpc.CollectionServiceStub(channel)
        one, two = types_pb2.Vector(values=[1.0]), types_pb2.Vector(values=[1.0, 2.0])
        for rows in ([], [one, two], [one]):
            with pytest.raises(grpc.RpcError) as caught:
                stub.PutVectors(pb.PutVectorsRequest(parent=NAME, view="color", keys=["a"] * len(rows), rows=rows))
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
