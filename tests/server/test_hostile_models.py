"""Models fail on some pictures and texts, through a server: searches go on, and bad inputs are named."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hostile_models as hostile
import numpy as np
import pytest
import tiny_models as tiny
from drawn import encode

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import ImageError, ModelError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.models.text_worker import VARIABLE
from crossview.features.models.texts import TEXTS
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import DeadlineExceededError, OverloadedError
from crossview.server.wire.settings import ServerSettings

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
CALLS = 150
WORDS = ("red", "dog", "snow")
BRIGHT, DIM = (encode(np.full((20, 30, 3), value, np.uint8)) for value in (255, 120))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with a collection of each hostile model."""
    folder = tmp_path_factory.mktemp("hostile")
    home = Home(folder / "home")
    home.models.add("endless", hostile.endless_texts(folder / "endless"))
    home.models.add("failing", hostile.failing_texts(folder / "failing"))
    home.models.add("bright", hostile.failing_pictures(folder / "bright"))
    home.models.add("words", tiny.text_folder(folder / "words"))
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        client.create("endless", ["endless=onnx:endless", "other=onnx:words", "text"]).close()
        client.create("failing", ["w=onnx:failing"]).close()
        client.create("bright", ["b=onnx:bright", "color"]).close()
        with client.open("endless") as opened:
            opened.items.put([NewItem(word, text=word) for word in WORDS])
            opened.views.fit([], views=["text"])
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with Client(server.address) as opened:
        yield opened


@pytest.mark.parametrize("hostile_calls", [1, 8])
def test_searches_go_on_beside_texts_that_never_end(
    server: RunningServer, client: Client, monkeypatch: pytest.MonkeyPatch, hostile_calls: int
) -> None:
    """They are by vector, key and words, and by models of texts unless as many hang as these have threads."""
    monkeypatch.setenv(VARIABLE, "600")
    queries = [
        Query("text", text="red"),
        Query("endless", key="red"),
        Query("endless", vector=np.ones(tiny.DIM, np.float32)),
        *([Query("endless", text="red"), Query("other", text="red")] if hostile_calls == 1 else ()),
    ]
    with client.open("endless") as collection:
        for query in queries:
            collection.search(SearchRequest([query], k=1))
        with Client(server.address, timeout=10.0) as other, other.open("endless") as again:
            stopped = list[Exception]()

            def hostile_call() -> None:
                try:
                    again.search(SearchRequest([Query("endless", text=hostile.BAD)], k=1))
                except (DeadlineExceededError, OverloadedError) as error:
                    stopped.append(error)

            calling = [threading.Thread(target=hostile_call) for _ in range(hostile_calls)]
            for one in calling:
                one.start()
            for number in range(CALLS):
                (hits,) = collection.search(SearchRequest([queries[number % len(queries)]], k=1))
                assert len(hits.hits) == 1
            for one in calling:
                one.join()
    assert stopped
    until = time.monotonic() + 300
    while busy(set(TEXTS.pids())):  # the runs end with their deadlines
        assert time.monotonic() < until
        time.sleep(0.05)


def busy(pids: set[int]) -> set[int]:
    """Return which processes use a processor during a moment."""

    def used(pid: int) -> int:
        try:
            return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[11])
        except OSError:
            return 0

    first = {pid: used(pid) for pid in pids}
    time.sleep(0.3)
    return {pid for pid in pids if used(pid) > first[pid] + 5}


def test_a_limit_names_the_view_the_model_and_the_way_out(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.5")
    with client.open("endless") as collection:
        said = rf"view 'endless', model 'endless': the text takes more than 0.5 seconds: .*{VARIABLE}"
        with pytest.raises(ModelError, match=said):
            collection.search(SearchRequest([Query("endless", text=hostile.BAD)], k=1))
        with pytest.raises(ModelError, match=said):
            collection.embed([Query("endless", text=hostile.BAD)])


def test_an_import_leaves_out_what_a_model_fails_on(client: Client) -> None:
    """It is one picture, or one text; the others are stored."""
    with client.open("bright") as bright:
        report = bright.items.put([NewItem(name, image=data) for name, data in (("a", DIM), ("b", BRIGHT), ("c", DIM))])
        assert (report.added, [one.key for one in report.failures]) == (2, ["b"])
        assert "view 'b', model 'bright': the model returns numbers that are not finite" in report.failures[0].reason
        with pytest.raises(ImageError, match="view 'b', model 'bright'"):
            bright.search(SearchRequest([Query("b", image=BRIGHT)], k=1))
        assert bright.search(SearchRequest([Query("color", image=BRIGHT)], k=1))[0].hits
    with client.open("failing") as failing:
        report = failing.items.put([NewItem(word, text=word) for word in ("red", hostile.BAD, "dog")])
        assert (report.added, [one.key for one in report.failures]) == (2, [hostile.BAD])
        assert "view 'w', model 'failing': the model returns numbers that are not finite" in report.failures[0].reason
