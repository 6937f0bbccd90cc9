"""The search page shows the answers of the server's methods, by address alone, and escapes everything."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import cv2
import numpy as np
import pytest
from browsing import Browsing, Markup
from terminal import result_of

import crossview
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.edge.listen import RunningServer
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.search_state import Example, SearchState, Setting
from crossview.server.edge.pages.templates import among
from crossview.server.wire.settings import ServerSettings

KEY, OTHER = "pictures/dots/dots-00.jpg", "pictures/waves/waves-01.jpg"
TILE = re.compile(r'<li class="tile[^"]*" data-key="([^"]*)" data-list="(\d)">')
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</template></title><svg/onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "photo\u202egpj.exe",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "x" * 10_000,
    "&lt;b&gt;&amp;quot;",
)


def shown(page: str, number: int = 0) -> list[str]:
    """Return the keys of the tiles of a list, in order."""
    return [unescape(key) for key, of in TILE.findall(page) if of == str(number)]


def test_each_target_has_its_list_as_the_engine_finds_it(browsing: Browsing, home: Home) -> None:
    page = browsing.get(f"/c/drawn?like={KEY}&lists=each").text
    with home.open("drawn") as collection:
        for number, target in enumerate(("color", "sift")):
            request = SearchRequest([Query(key=KEY)], targets=(target,), k=17)
            (wanted,) = collection.search(request)
            assert shown(page, number) == [hit.key for hit in wanted.hits]
            assert f"similarity </span>{100 * (wanted.hits[1].similarity or 0):.1f} %<" in page


def test_one_list_over_all_targets_is_the_default_as_at_every_door(browsing: Browsing, home: Home) -> None:
    page = browsing.get(f"/c/drawn?like={KEY}&space=raw").text
    with home.open("drawn") as collection:
        (wanted,) = collection.search(SearchRequest([Query(key=KEY)], space="raw", k=17))
        (some,) = collection.search(SearchRequest([Query(key=KEY)], targets=("color", "sift"), space="raw", k=17))
    assert wanted == some
    assert shown(page) == [hit.key for hit in wanted.hits]
    assert "Compared by colours and textures together. Probabilities come after a training with labels." in page
    for hit in wanted.hits[:9]:
        title = ", ".join(hit.targets)
        assert f'title="{title}"><span class="sr">similarity </span>{100 * (hit.similarity or 0):.1f} %' in page


@pytest.mark.parametrize("space", ["raw", "cca"])
@pytest.mark.parametrize("targets", [(), ("color", "sift")], ids=["every target", "named"])
def test_the_same_question_has_the_same_answer_at_each_door(
    site: RunningServer, browsing: Browsing, home: Home, space: str, targets: tuple[str, ...]
) -> None:
    """Python, gRPC, JSON, the command line and the page: keys, similarities and targets, in one list."""
    request = SearchRequest([Query(key=KEY)], targets=targets, space=space, k=17)
    with home.open("drawn") as collection, crossview.connect(site.address) as there:
        (wanted,) = collection.search(request)
        assert there.open("drawn").search(request) == [wanted]
    assert [hit.similarity for hit in wanted] == sorted((hit.similarity or 0 for hit in wanted), reverse=True)
    body = {"queries": [{"key": KEY}], "targets": targets, "space": space, "k": 17}
    asked = {"parent": "collections/drawn", **body}
    (by_json,) = browsing.post("/crossview.v1.SearchService/Search", json=asked).json()["results"]
    assert [(hit["key"], hit["similarity"], hit["targets"]) for hit in by_json["hits"]] == [
        (hit.key, hit.similarity, list(hit.targets)) for hit in wanted
    ]
    named = ("--server", site.address, *(("--targets", ",".join(targets)) if targets else ()))
    (printed,) = result_of("search", "drawn", "--key", KEY, "--space", space, "-k", 17, *named)
    assert [(hit["key"], hit["similarity"]) for hit in printed["hits"]] == [(hit.key, hit.similarity) for hit in wanted]
    chosen = "".join(f"&target={target}" for target in targets)
    assert shown(browsing.get(f"/c/drawn?like={KEY}&space={space}{chosen}").text) == [hit.key for hit in wanted]


def test_a_view_finds_in_another(browsing: Browsing, home: Home) -> None:
    page = browsing.get(f"/c/drawn?like={KEY}&view=color&target=sift").text
    with home.open("drawn") as collection:
        (wanted,) = collection.search(SearchRequest([Query("color", key=KEY)], targets=("sift",), k=17))
    assert shown(page) == [hit.key for hit in wanted.hits]


def test_in_an_untrained_space_each_view_has_its_list(browsing: Browsing) -> None:
    page = browsing.get(f"/c/drawn?like={KEY}&space=raw&lists=each").text
    of_each = [browsing.get(f"/c/drawn?like={KEY}&space=raw&view={view}").text for view in ("color", "sift")]
    assert (shown(page, 0), shown(page, 1)) == tuple(map(shown, of_each))


def test_words_have_a_list_for_each_view_that_they_can_ask(tmp_path: Path) -> None:
    """In an untrained space, words find by the model of words and pictures, and never by colours."""
    tiny = pytest.importorskip("tiny_models")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    made, rows = Home(tmp_path / "home"), {"color": np.ones(64)}
    made.models.add("clip", tiny.clip_folder(tmp_path / "clip"))
    with made.create("art", ["color", "clip=onnx:clip"]) as art:
        art.items.put([NewItem(word, text=word, rows=rows) for word in ("red", "green")])
    settings = ServerSettings(home=made.path, port=0, web=True)
    with RunningServer(settings) as running, Browsing(running.http_port) as browsing:
        for address in ("/c/art?q=green", "/c/art?q=green&space=raw&view=color", "/c/art?q=green&like=red"):
            page = browsing.get(address)
            assert (page.status_code, shown(page.text)[:1], shown(page.text, 1)) == (200, ["green"], [])


def test_two_settings_are_compared(browsing: Browsing) -> None:
    page = browsing.get(f"/c/drawn?like={KEY}&compare=1&view=color&target=sift&b-space=raw&b-view=sift").text
    alone = browsing.get(f"/c/drawn?like={KEY}&view=color&target=sift").text
    other = browsing.get(f"/c/drawn?like={KEY}&space=raw&view=sift").text
    assert (shown(page, 0), shown(page, 1)) == (shown(alone), shown(other))


def test_examples_and_counter_examples_make_one_search_of_each_target(browsing: Browsing, home: Home) -> None:
    page = browsing.get(f"/c/drawn?like={KEY}&not-like={OTHER}").text
    queries = [Query(key=KEY), Query(key=OTHER, weight=-1.0)]
    with home.open("drawn") as collection:
        (wanted,) = collection.search(SearchRequest(queries, k=16, combine="learn"))
    assert shown(page) == [hit.key for hit in wanted.hits]


def test_a_condition_selects_and_a_wrong_one_is_explained(browsing: Browsing) -> None:
    page = browsing.get("/c/drawn?where=label+%3D+waves").text
    assert {key.split("/")[1] for key in shown(page)} == {"waves"}
    wrong = browsing.get("/c/drawn?where=label+%3D")
    assert (wrong.status_code, "expected a value" in wrong.text) == (400, True)
    assert 'value="label ="' in wrong.text  # it stays in its field


def test_further_results_continue_the_list(site: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossview.server.edge.pages.search_page.PAGE", 5)
    monkeypatch.setattr("crossview.server.edge.pages.search_requests.PAGE", 5)
    with Browsing(site.http_port) as client:
        for path, total in ((f"/c/drawn?like={KEY}", 17), ("/c/drawn?order=key", 18)):
            page, found = client.get(path).text, []
            while True:
                found += shown(page)
                link = re.search(r'<a data-more href="([^"]*)">', page)
                if link is None:
                    break
                page = client.get(unescape(link[1])).text
            assert len(found) == len(set(found)) == total


def test_what_does_not_exist_has_its_status(browsing: Browsing) -> None:
    for path in ("/c/none", "/c/drawn?like=none", f"/c/drawn?like={KEY}&space=none", "/c/drawn/item?key=none"):
        found = browsing.get(path)
        assert (found.status_code, "none" in found.text) == (404, True), path
    assert browsing.get(f"/c/drawn?like={KEY}&target=none").status_code in (400, 404)
    assert browsing.get("/c/drawn?picture=0123456789abcdef01234567").status_code == 410
    assert browsing.get("/c/drawn/why?key=" + KEY).status_code == 400
    assert browsing.get("/c/drawn/more?of=items&token=x").status_code == 400
    assert "Nothing fits" in browsing.get("/c/drawn?where=label+%3D+none").text


def test_an_uploaded_picture_searches_in_its_session_alone(
    browsing: Browsing, site: RunningServer, pictures: Path
) -> None:
    data = (pictures / "dots/dots-00.jpg").read_bytes()
    sent = browsing.post("/pictures", content=data, headers={"x-csrf-token": browsing.token})
    made = sent.json()["id"]
    assert browsing.post("/pictures", content=data, headers={"x-csrf-token": browsing.token}).json()["id"] == made
    page = browsing.get(f"/c/drawn?picture={made}").text
    assert shown(page)[0] == KEY
    assert browsing.get(f"/pictures/{made}").content == data
    assert "dots" in browsing.get(f"/c/drawn/why?picture={made}&key={KEY}").text
    with Browsing(site.http_port) as stranger:
        assert stranger.get(f"/c/drawn?picture={made}").status_code == 410
        assert stranger.get(f"/pictures/{made}").content != data


def test_an_upload_that_is_no_picture_is_refused_by_the_search(browsing: Browsing) -> None:
    evil = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    made = browsing.post("/pictures", content=evil, headers={"x-csrf-token": browsing.token}).json()["id"]
    assert browsing.get(f"/c/drawn?picture={made}").status_code == 400
    shown_as = browsing.get(f"/pictures/{made}")
    assert b"script" not in shown_as.content


def test_thumbnails_are_asked_for_again_only_if_they_changed(browsing: Browsing) -> None:
    first = browsing.get(f"/c/drawn/thumbnail?key={KEY}")
    assert first.headers["content-type"] == "image/jpeg"
    assert first.headers["cache-control"].startswith("private")
    again = browsing.get(f"/c/drawn/thumbnail?key={KEY}", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_several_thumbnails_come_with_one_request(browsing: Browsing) -> None:
    """Each comes after its size, in the order of the keys; an item that does not exist has none."""
    keys = (KEY, "no such item", OTHER)
    rest, found = browsing.get("/c/drawn/thumbnails", params={"key": keys}).content, list[bytes]()
    while rest:
        end = 4 + int.from_bytes(rest[:4], "big")
        found.append(rest[4:end])
        rest = rest[end:]
    alone = [browsing.get("/c/drawn/thumbnail", params={"key": key}).content for key in (KEY, OTHER)]
    assert found == [alone[0], b"", alone[1]]
    assert browsing.get("/c/drawn/thumbnails").content == b""


def test_a_large_thumbnail_is_the_preview_of_the_item(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (400, 600, 3), np.uint8)
    with Home(tmp_path).create("some", ["color"]) as made:
        made.items.put([NewItem("a", image=cv2.imencode(".png", picture)[1].tobytes())])
    settings = ServerSettings(home=tmp_path, port=0, web=True)
    with RunningServer(settings) as running, Browsing(running.http_port) as browsing:

        def width(size: str) -> int:
            image = browsing.get("/c/some/thumbnail", params={"key": "a", "size": size}).content
            return cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR).shape[1]

        assert [width(size) for size in ("", "small", "large", "other")] == [128, 128, 512, 128]


def test_conditions_are_completed_with_counts(browsing: Browsing) -> None:
    def options(text: str) -> list[tuple[str, str]]:
        found = browsing.get("/c/drawn/complete", params={"text": text}).json()
        assert text[found["start"] :].strip() in ("", text.split()[-1] if text.split() else "")
        return [(one["text"].strip(), one["note"]) for one in found["options"]]

    assert ("label", "") in options("")
    assert options("lab")[0] == ("label", "")
    assert ("=", "") in options("label ")
    assert options("label = w") == [("waves", "6")]
    assert options("label = dots and not label = b") == [("bricks", "6")]
    assert options("label in [dots, w") == [("waves", "6")]
    assert ("and", "") in options("label = dots ")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_only_texts(hostile: RunningServer, text: str) -> None:
    """They are in keys, labels, captions, attributes, words, conditions, and the address: none becomes markup."""
    with Browsing(hostile.http_port) as client:
        key = text[:400]
        short = text[:50]
        query = {"q": text[:500], "where": f'label = "{short}', "view": short, "space": short, "per": short}
        panel = {"like": text, "target": short, "item": key, "b-view": text[:9], "compare": "1"}
        pages = [
            "/c/hostile?order=key",
            f"/c/hostile?{urlencode({'like': key})}",
            f"/c/hostile?{urlencode(query)}",
            f"/c/hostile?{urlencode(panel)}",
            f"/c/hostile/item?{urlencode({'key': key})}",
            f"/c/hostile/why?{urlencode({'like': 'a', 'key': key})}",
            f"/c/{quote(text[:60], safe='')}",
            f"/login?{urlencode({'next': text[:200]})}",
            "/",
        ]
        for path in pages:
            page = client.get(path, follow_redirects=True).text
            reader = Markup()
            reader.feed(page)
            assert reader.wrong == [], path
            assert "\u202e" not in reader.read, path
            assert len(page) < 200_000


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[RunningServer]:
    """A server with a collection whose texts are all hostile."""
    made = Home(tmp_path_factory.mktemp("hostile"))
    picture = (pictures / "dots/dots-00.jpg").read_bytes()
    with made.create("hostile", views=("color",), description=HOSTILE[0]) as collection:
        items = [
            NewItem(text[:400], image=picture, labels=(text[:500],), attributes={text[:100]: text}, text=text)
            for text in HOSTILE
        ]
        collection.items.put([NewItem("a", image=picture), *items])
    with RunningServer(ServerSettings(home=made.path, port=0, web=True)) as running:
        yield running


def test_the_address_is_the_whole_state() -> None:
    state = SearchState(
        text="a & b",
        examples=(Example("key", KEY), Example("key", OTHER, liked=False), Example("picture", "0" * 24)),
        where='label = "x"',
        lists="each",
        per="label",
        missing=True,
        setting=Setting("color", ("sift", "color"), "default"),
        other=Setting("sift", (), "raw"),
        item=KEY,
        order="key",
    )
    address = state.address("drawn")
    assert SearchState.of(Fields(address.partition("?")[2])) == state
    assert dict(parse_qsl(address.partition("?")[2]))["q"] == "a & b"


def test_deletion_needs_the_right_to_write_and_keeps_the_file(hostile: RunningServer) -> None:
    with Browsing(hostile.http_port) as client:
        assert client.submit("/c/hostile/delete", key="a").status_code == 303
        assert client.get("/c/hostile/item?key=a").status_code == 404
        assert client.submit("/c/hostile/delete", key="a").status_code == 404


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0213, 1.0302, 1.0426], ["1.021", "1.030", "1.043"]),
        ([0.0, 0.62, 0.78], ["0.00", "0.62", "0.78"]),
        ([120.0, 4512.0], ["120", "4,512"]),
        ([0.5, 0.5], ["0.5", "0.5"]),
        ([1.0, 1.0 + 1e-12], ["1.000000000", "1.000000000"]),
        ([float("inf"), 1.0, 2.0], ["inf", "1.0", "2.0"]),
        ([3.0], ["3"]),
    ],
)
def test_distances_differ_where_their_spread_does(values: list[float], shown: list[str]) -> None:
    """Earlier, every tile of a trained space showed 1."""
    assert [among(value, values) for value in values] == shown
