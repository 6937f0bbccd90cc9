"""The pages for browsing show the items that the methods list, and each action does what its method does."""

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browsing import Browsing, Markup
from open_homes import copy_home
from PIL import Image

from crossview.engine.catalog.ingest.cells import labels_of
from crossview.engine.collections.home import Home
from crossview.engine.values.audit import AuditRequest
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.map import MapRequest
from crossview.server.edge.listen import RunningServer
from crossview.server.edge.pages.browse_state import BrowseState
from crossview.server.edge.pages.fields import Fields
from crossview.server.wire.settings import ServerSettings

KEY = "pictures/dots/dots-00.jpg"
TILE = re.compile(r'<li class="pick-tile[^"]*" data-key="([^"]*)">')
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    '") or (label exists',
    "</template></title><svg/onload=alert(1)>",
    "photo\u202egpj.exe",
    '=1+1;"a"',
    "a\nb",
)


@pytest.fixture
def writable(home: Home, tmp_path: Path) -> Iterator[tuple[Browsing, Home]]:
    """A client of a copy of the home whose items have dates, and the copy."""
    copied = Home(tmp_path / "copied")
    copy_home(home.path / "drawn", copied.path / "drawn")
    with copied.open("drawn") as made:
        keys = [one.key for one in made.items()]
        made.items.update([ItemUpdate(key, attributes={"taken": f"20{n:02}-03-04"}) for n, key in enumerate(keys)])
    with (
        RunningServer(ServerSettings(home=copied.path, port=0, web=True)) as running,
        Browsing(running.http_port) as one,
    ):
        yield one, copied


def shown(page: str) -> list[str]:
    """Return the keys of the tiles, in order."""
    return [unescape(key) for key in TILE.findall(page)]


def labels(home: Home) -> dict[str, tuple[str, ...]]:
    with home.open("drawn") as made:
        return {one.key: one.labels for one in made.items()}


def test_the_grid_is_what_the_collection_lists(writable: tuple[Browsing, Home]) -> None:
    """It lists by folder, label, date, condition and order; the numbers beside it are the counts."""
    client, home = writable
    with home.open("drawn") as made:
        every = [one.key for one in made.items()]
        newest = [one.key for one in made.items(sort_by="taken")]
    page = client.get("/c/drawn/browse").text
    assert shown(page) == every
    assert re.search(r"<bdi>dots</bdi><span class=\"figure\">6<", page)
    for query, kept in (
        ({"folder": "pictures/waves/"}, lambda key: "/waves/" in key),
        ({"label": "dots"}, lambda key: "/dots/" in key),
        ({"where": "label = dots or label = waves", "folder": "pictures/w"}, lambda key: "/waves/" in key),
        ({"when": "2003", "date": "taken"}, lambda key: key == every[3]),
        ({"when": "2003-03-04", "date": "taken"}, lambda key: key == every[3]),
        ({"unlabelled": "1"}, lambda _: False),
        ({"missing": "1"}, lambda _: False),
    ):
        assert shown(client.get("/c/drawn/browse", params=query).text) == [key for key in every if kept(key)], query
    page = client.get("/c/drawn/browse?sort=taken").text
    assert shown(page) == newest
    assert 'title="2003: 1"' in page


def test_pages_follow_each_other_and_their_links_are_permanent(
    writable: tuple[Browsing, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crossview.server.edge.pages.browse_page.PAGE", 5)
    monkeypatch.setattr("crossview.server.edge.pages.browse_page.items_request.__defaults__", (5,))
    client, _ = writable
    for order in ("", "?sort=-taken"):
        page, found = client.get(f"/c/drawn/browse{order}").text, []
        while True:
            found += shown(page)
            link = re.search(r'data-next="([^"]*)"><a href="([^"]*)"', page)
            if link is None:
                break
            more, page = client.get(unescape(link[1])).text, client.get(unescape(link[2])).text
            assert shown(more) == shown(page)
            assert "From the start" in page
        assert len(found) == len(set(found)) == 18


def test_a_label_is_added_to_chosen_items_and_removed(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    before = labels(home)
    found = client.submit("/c/drawn/chosen/label", key=[KEY, "none"], **{"label-name": "a;b", "do": "add"})
    assert (found.status_code, found.headers["location"]) == (303, "/c/drawn/browse")
    assert labels(home) == before | {KEY: (*before[KEY], "a;b")} or set(labels(home)[KEY]) == {"dots", "a;b"}
    sent = {"csrf": client.token, "all": "1", "label": "dots", "label-name": "a;b", "do": "remove"}
    answer = client.post("/c/drawn/chosen/label", data=sent, headers={"x-part": "1"}).json()
    assert answer == {"changed": 1, "failures": 0, "keys": [KEY]}  # only the item that had it
    assert labels(home) == before
    client.submit("/c/drawn/chosen/label", key=KEY, **{"label-name": "dots", "do": "remove"})
    assert labels(home)[KEY] == ()


def test_nothing_chosen_and_an_empty_label_are_refused(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    before = labels(home)
    assert client.submit("/c/drawn/chosen/label", **{"label-name": "x"}).status_code == 400
    assert client.submit("/c/drawn/chosen/label", key=KEY, **{"label-name": " "}).status_code == 400
    assert client.submit("/c/drawn/chosen/delete", sure="1").status_code == 400
    assert client.post("/c/drawn/chosen/delete", data={"key": KEY, "sure": "1"}).status_code == 403
    assert labels(home) == before


def test_deletion_asks_first_and_states_what_is_lost(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    sent = {"all": "1", "label": "waves", "from": "browse"}
    asked = client.submit("/c/drawn/chosen/delete", **sent)
    assert asked.status_code == 200
    assert "Delete 6 items" in asked.text
    assert "no undo" in asked.text
    assert len(labels(home)) == 18
    done = client.submit("/c/drawn/chosen/delete", sure="1", **sent)
    assert (done.status_code, done.headers["location"]) == (303, "/c/drawn/browse?label=waves")
    assert not any("/waves/" in key for key in labels(home))
    assert len(labels(home)) == 12


def test_an_export_is_a_table_that_annotate_reads(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    with home.open("drawn") as made:
        made.items.update([ItemUpdate(KEY, labels=("a;b", 'c"d'))])
    found = client.submit("/c/drawn/chosen/export", all="1", where='label = "a;b" or label = waves')
    assert found.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert {one["key"]: set(labels_of(one["label"])) for one in rows} == {
        key: set(of) for key, of in labels(home).items() if set(of) & {"a;b", "waves"}
    }


def test_duplicates_are_judged_and_judgements_taken_back(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    with home.open("drawn") as made:
        made.items.put([NewItem(key, image=made.items.thumbnail(KEY)) for key in ("copy", "copy-2")])
    page = client.get("/c/drawn/duplicates?find=1").text
    assert {"copy", "copy-2"} <= set(shown(page))
    assert "Begin" in client.get("/c/drawn/duplicates").text  # the search is long, and begins on request
    client.submit("/c/drawn/duplicates/judge", first="copy", second="copy-2")
    with home.open("drawn") as made:
        (judged,) = made.duplicate_judgements.list()
        assert ({judged.first, judged.second}, judged.same) == ({"copy", "copy-2"}, False)
    with Browsing(client.base_url.port) as other:  # another browser takes back only its own
        assert other.submit("/c/drawn/duplicates/undo").status_code == 404
    assert client.submit("/c/drawn/duplicates/undo").status_code == 303
    assert client.submit("/c/drawn/duplicates/undo").status_code == 404
    assert client.submit("/c/drawn/duplicates/judge", first="copy", second="none").status_code == 404


def test_an_audit_shows_each_finding_with_its_items(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    page = client.get("/c/drawn/audit?space=raw").text
    with home.open("drawn") as made:
        found = made.audit(AuditRequest(space="raw", limit=24))
    assert shown(page) == [key for one in found.findings for key in one.keys if one.kind != "unclear_labels"]
    assert client.get("/c/drawn/audit?space=none").status_code == 404


def test_a_map_has_the_points_of_its_items(writable: tuple[Browsing, Home]) -> None:
    client, home = writable
    assert "Make the map" in client.get("/c/drawn/map").text
    with home.open("drawn") as made:
        map_ = made.maps.make(MapRequest(space="raw", view="color", method="pca"))
        wanted = made.maps.points(map_.id, field="label")
    found = client.get(f"/c/drawn/map/points?id={map_.id}&field=label").json()
    assert found["keys"] == list(wanted.keys)
    assert [found["values"][place] for place in found["places"]] == [key.split("/")[1] for key in found["keys"]]
    assert found["x"] == pytest.approx(wanted.points[:, 0].tolist(), abs=1e-4)
    assert f'data-id="{map_.id}"' in client.get("/c/drawn/map").text
    assert client.get("/c/drawn/map?id=99").status_code == 404
    assert client.get("/c/drawn/map?job=none").status_code == 404


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_only_texts(hostile: RunningServer, text: str) -> None:
    """They are in keys, labels, attributes and fields of the address; a condition in brackets stays in its place."""
    with Browsing(hostile.http_port) as client:
        query = {"folder": text, "label": text, "where": text, "date": text, "sort": text, "when": text, "after": text}
        pages = [
            client.get("/c/hostile/browse"),
            client.get("/c/hostile/audit"),
            client.get("/c/hostile/duplicates?find=1"),
            client.get("/c/hostile/changes"),
            client.get("/c/hostile/map", params={"field": text}),
            client.submit("/c/hostile/chosen/delete", key=text),
            client.submit("/c/hostile/chosen/label", key=text, **{"label-name": text}),
            *(client.get("/c/hostile/browse", params={name: value}) for name, value in query.items()),
            client.get(f"/c/hostile/browse?{urlencode(query)}"),
        ]
        for page in pages:
            reader = Markup()
            reader.feed(page.text)
            assert reader.wrong == [], page.url
            assert page.status_code < 500
            assert "\u202e" not in reader.read


def test_metadata_of_files_are_only_texts(tmp_path: Path) -> None:
    """The texts that a camera or a person wrote into a picture (EXIF), and the name of the file."""
    picture, exif = Image.new("RGB", (80, 60), "teal"), Image.Exif()
    for tag, text in zip((0x010E, 0x010F, 0x0110, 0x0131, 0x013B, 0x8298), HOSTILE, strict=False):
        exif[tag] = text.replace("\n", " ")
    name = "<img src=x onerror=alert(1)>.jpg"
    picture.save(tmp_path / name, exif=exif)
    made = Home(tmp_path / "home")
    with made.create("camera", views=("color",)) as collection:
        assert collection.index([tmp_path / name]).added == 1
        (item,) = collection.items()
        assert "onerror" in str(item.file)
    with RunningServer(ServerSettings(home=made.path, port=0, web=True)) as running, Browsing(running.http_port) as one:
        for page in ("", "/item", "/browse", "/audit", "/complete", "/duplicates?find=1"):
            found = one.get(f"/c/camera{page}", params={"key": item.key, "item": item.key, "text": "file."})
            reader = Markup()
            if "html" in found.headers["content-type"]:
                reader.feed(found.text)
            assert (found.status_code, reader.wrong) == (200, []), page


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[RunningServer]:
    """A server with a collection whose texts are all hostile."""
    made = Home(tmp_path_factory.mktemp("hostile"))
    picture = (pictures / "dots/dots-00.jpg").read_bytes()
    with made.create("hostile", views=("color",)) as collection:
        items = [NewItem(text, image=picture, labels=(text,), attributes={text: text}, text=text) for text in HOSTILE]
        assert not collection.items.put(items).failures
        collection.maps.make(MapRequest(space="raw", view="color", method="pca"))
    with RunningServer(ServerSettings(home=made.path, port=0, web=True)) as running:
        yield running


def test_the_address_is_the_whole_state() -> None:
    state = BrowseState("a/b/", "c & d", True, "2021-05", "camera.time", True, 'x = "y"', "-year", "YQ==")
    address = state.address("drawn")
    assert BrowseState.of(Fields(address.partition("?")[2])) == state
    assert state.crumbs() == [("a", "a/"), ("b", "a/b/")]
    for field in ("a b", 'x" or label exists', "and", "a.in"):  # a field of the address does not add to a condition
        assert BrowseState.of(Fields(urlencode({"date": field}))).date == "file.taken"
