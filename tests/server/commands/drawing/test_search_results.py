from pathlib import Path

import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.commands.backend import CollectionBackend
from crossview.server.commands.drawing.search_results import strips
from crossview.server.edge.listen import RunningServer

DOTS = "pictures/dots/dots-00.jpg"


def test_answers_become_rows(server: RunningServer) -> None:
    """One row per list, with the thumbnails of the hits, the names of their files and their labels."""
    with Client(server.address) as client:
        collection: CollectionBackend = client.open("drawn")
        query = Query("color", key=DOTS)
        color, sift = strips(collection.items, [query], found := collection.search(SearchRequest([query], k=4)))
    assert (color.title, sift.title) == ("color query -> color database", "color query -> sift database")
    assert (color.query.label, color.query.name) == ("dots", "dots-00.jpg")
    assert [hit.name for hit in color.hits] == [hit.key.rpartition("/")[2] for hit in found[0].hits]
    assert all(hit.picture and hit.picture.startswith(b"\xff\xd8") for hit in color.hits)


def test_hits_are_marked_only_by_a_class_that_is_given(server: RunningServer) -> None:
    """Labels of the query's item alone mark nothing."""
    with Client(server.address) as client:
        collection: CollectionBackend = client.open("drawn")
        query = Query("color", key=DOTS)
        found = collection.search(SearchRequest([query], targets=["color"], k=12))
        (bare,), (marked,) = strips(collection.items, [query], found), strips(collection.items, [query], found, "dots")
    assert ({hit.correct for hit in bare.hits}, bare.tally) == ({None}, "")
    assert [hit.correct for hit in marked.hits] == [hit.label == "dots" for hit in marked.hits]
    assert False in {hit.correct for hit in marked.hits}


@pytest.mark.parametrize("by", ["key", "image"])
def test_an_exact_copy_is_never_marked_as_wrong(pictures: Path, tmp_path: Path, by: str) -> None:
    """The same picture under any label is not a mistake of the search."""
    dots, waves = (path.read_bytes() for path in (pictures / "dots/dots-00.jpg", pictures / "waves/waves-00.jpg"))
    with Home(tmp_path).create("copies", ["color"]) as collection:
        named = {"dots": dots, "copy": dots, "waves": waves}
        collection.items.put([NewItem(key, image=data, labels=(key,)) for key, data in named.items()])
        query = Query("color", **{"key": {"key": "dots"}, "image": {"image": dots}}[by])
        (row,) = strips(collection.items, [query], collection.search(SearchRequest([query], k=3)), "dots")
    marks = {hit.label: hit.correct for hit in row.hits}
    assert (marks["copy"], marks["waves"]) == (None, False)
