from engine.query import Query, SearchRequest
from server.backend import CollectionBackend
from server.client import Client
from server.drawing.results import strips
from server.listen import RunningServer


def test_answers_become_rows(server: RunningServer) -> None:
    """One row per list, with the thumbnails of the hits; an item's own class is known."""
    with Client(server.address) as client:
        collection: CollectionBackend = client.open("drawn")
        query = Query("color", key="pictures/dots/dots-00.jpg")
        color, sift = strips(collection, [query], collection.search(SearchRequest([query], k=4)))
    assert (color.title, sift.title) == ("color query -> color database", "color query -> sift database")
    assert color.query.label == "dots"
    assert [hit.correct for hit in color.hits] == [hit.label == "dots" for hit in color.hits]
    assert all(hit.picture and hit.picture.startswith(b"\xff\xd8") for hit in color.hits)
