"""A search by one query needs no request, and its hits show themselves, here and on a server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.commands.backend import Backend, CollectionBackend


@pytest.fixture
def drawn(backend: Backend) -> Iterator[CollectionBackend]:
    collection = backend.open("drawn")
    yield collection
    collection.close()


def test_arguments_are_those_of_the_request(drawn: CollectionBackend, pictures: Path) -> None:
    """Each target has one list, for any form of the picture."""
    file = next(pictures.glob("dots/*.jpg"))
    given = {"space": "cca", "targets": ("color", "sift"), "k": 5}
    full = drawn.search(SearchRequest([Query("color", image=file)], **given))
    assert [one.target for one in full] == ["color", "sift"]
    assert drawn.search(view="color", image=str(file), **given) == full
    assert drawn.search(view="color", image=file.read_bytes(), **given) == full
    with Image.open(file) as opened:
        (found,) = drawn.search(view="color", image=np.asarray(opened), space="cca", targets="color", k=1)
    assert found[0].labels == ("dots",)


def test_a_wrong_mixture_is_refused_by_name(drawn: CollectionBackend) -> None:
    """The message names what to leave out or to add."""
    request = SearchRequest([Query("color", key="a")])
    with pytest.raises(InvalidInputError, match="the request states the whole search: leave out k, or the request"):
        drawn.search(request, k=3)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="a search needs a SearchRequest, or a view and a query"):
        drawn.search(k=3)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="a search needs a SearchRequest"):
        drawn.search()  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="a search has no argument 'top'; there are: at_least"):
        drawn.search(view="color", key="a", top=3)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="exactly one of"):
        drawn.search(view="color")
    with pytest.raises(InvalidInputError, match="weights"):
        drawn.search(view="color", key="a", weights={"a": 1.0}, more={"b": 1.0})


def test_a_notebook_shows_thumbnails(drawn: CollectionBackend, pictures: Path) -> None:
    """Each hit has one while the collection is open."""
    (found,) = drawn.search(view="color", image=next(pictures.glob("dots/*.jpg")), space="raw", k=3)
    assert found._repr_html_().count('<img src="data:image/jpeg;base64,') == 3


def test_a_collection_says_what_it_is(drawn: CollectionBackend) -> None:
    """A session shows its name and contents, or its place, and no address in memory."""
    assert "collection 'drawn'" in repr(drawn)
    assert "18 items, views color, sift, space cca" in repr(drawn) or "on the server at 127.0.0.1:" in repr(drawn)
