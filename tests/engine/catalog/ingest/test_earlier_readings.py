"""Views of earlier versions keep their reading of pictures until they are fitted again."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from drawn import draw, encode

from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.query import Query, SearchRequest

ADOBE = Path(__file__).parents[3] / "features" / "data" / "adobe.png"
ALONE = IndexOptions(workers=1)


def distance(collection, image: bytes, key: str) -> float:
    found = collection.search(SearchRequest([Query("color", image=image)], space="raw"))[0]
    return next(hit.distance for hit in found.hits if hit.key == key)


def row(home: Home, name: str) -> list[float]:
    """Return the row of the picture in Adobe RGB."""
    with closing(CollectionFolder(home.path / name).open_catalog()) as catalog, catalog.read() as tx:
        (item,) = tx.items.ids_of(["photos/adobe.png"]).values()
        return tx.rows.get(tx.views.all()[0], [item]).rows[0].tolist()


def test_a_view_of_an_earlier_version_answers_as_before_until_it_is_fitted_again(home: Home, tmp_path: Path):
    """Rows and queries have one reading; a note names the step to the present one, and a new index makes the rows."""
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "adobe.png").write_bytes(ADOBE.read_bytes())
    (folder / "plain.png").write_bytes(encode(draw("red", 1)))
    now, earlier = (home.create(name, views=["color"]) for name in ("now", "earlier"))
    with closing(sqlite3.connect(home.path / "earlier" / "catalog.db")) as database:
        (params,) = database.execute("SELECT params FROM views").fetchone()
        assert json.loads(params) == {"picture_reading": 1}
        database.execute("UPDATE views SET params = '{}'")
        database.commit()
    assert not now.index([folder], ALONE).notes
    (note,) = earlier.index([folder], ALONE).notes
    assert "pictures with a colour profile: 1" in note
    assert "`collection.views.fit(['PATH'], views=['color'], refit=True)`" in note
    assert row(home, "now") != row(home, "earlier")
    for collection in (now, earlier):
        assert distance(collection, ADOBE.read_bytes(), "photos/adobe.png") == 0
    with pytest.raises(InvalidInputError, match="confirm it with refit"):
        earlier.views.fit([], views=["color"])
    (view,) = earlier.views.fit([], views=["color"], refit=True)
    assert (view.revision, view.params) == (2, {"picture_reading": 1})
    assert earlier.index([folder], ALONE).updated == 2
    assert row(home, "earlier") == row(home, "now")
    assert distance(earlier, ADOBE.read_bytes(), "photos/adobe.png") == 0
    with pytest.raises(InvalidInputError, match="learns nothing"):
        earlier.views.fit([], views=["color"], refit=True)
