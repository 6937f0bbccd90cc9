"""Near copies come first: an equal row at distance 0, a nearly equal one next, and nothing else moves."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from drawn import CLASSES, draw, encode

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import near_copies
from crossview.engine.spaces.pipeline import Part
from crossview.engine.spaces.sketches import Sketch
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

COUNT, WIDTH = 120, 24


def drawn_rows(seed: int = 0) -> dict[str, np.ndarray]:
    """Return rows of two views by view, of four classes whose items differ much."""
    generator = np.random.default_rng(seed)
    centers = generator.normal(size=(4, 2, WIDTH))
    rows = centers[np.arange(COUNT) % 4] + generator.normal(size=(COUNT, 2, WIDTH))
    return {"a": rows[:, 0].astype(np.float32), "b": rows[:, 1].astype(np.float32)}


def filled(home: Home) -> Collection:
    rows, made = drawn_rows(), home.create("pairs", [f"a=vectors:dim={WIDTH}", f"b=vectors:dim={WIDTH}"])
    made.items.put(
        [
            NewItem(f"{number:03}", rows={view: rows[view][number] for view in rows}, labels=(str(number % 4),))
            for number in range(COUNT)
        ]
    )
    made.train(Recipe(spec="posteriors,dot", views=("a", "b"), holdout=0.25), space="classes")
    made.train(Recipe(spec="cca,itq:16", views=("a", "b")), space="codes")
    return made


@pytest.fixture
def made(home: Home, once):
    with once.copy(home, filled) as opened:
        yield opened


def hits(collection: Collection, row: np.ndarray, target: str = "a", space: str = "classes", k: int = 3, **options):
    request = SearchRequest([Query("a", vector=row)], targets=(target,), space=space, k=k, **options)
    return [(hit.key, hit.distance) for hit in collection.search(request)[0].hits]


@pytest.mark.parametrize("space", ["classes", "codes"])
@pytest.mark.parametrize("target", ["a", "b"])
def test_an_equal_row_is_found_first_at_distance_0(made, space, target):
    """It is found within a view and across views, learned or held out, among vectors and codes."""
    rows = drawn_rows()["a"]
    for number in range(0, COUNT, 7):
        found = hits(made, rows[number], target, space)
        assert found[0] == (f"{number:03}", 0.0)
        assert [distance for _, distance in found] == sorted(distance for _, distance in found)


def test_a_nearly_equal_row_is_found_first_and_a_nearer_one_before_it(made):
    rows, noise = drawn_rows()["a"], np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)
    made.items.put([NewItem("copy", rows=dict.fromkeys(("a", "b"), rows[5] + 0.02 * noise))])
    found = hits(made, rows[5] + 0.015 * noise)
    assert [key for key, _ in found[:2]] == ["copy", "005"]
    assert 0 < found[0][1] < found[1][1] < found[2][1]


def test_other_queries_get_the_lists_of_the_indexes(made, monkeypatch):
    """A row that no item nearly equals moves nothing."""
    rows = drawn_rows(seed=9)["a"]
    lists = [hits(made, row) for row in rows]
    monkeypatch.setattr(near_copies, "copies_in_view", lambda *given: [{}] * len(given[2]))
    assert [hits(made, row) for row in rows] == lists


def test_near_copies_obey_filters_and_k_and_a_query_by_key_leaves_its_item_out(made):
    rows = drawn_rows()["a"]
    assert all(key != "005" for key, _ in hits(made, rows[5], k=COUNT, filter=Filter(without_labels=("1",))))
    assert len(hits(made, rows[5], k=1)) == 1
    made.items.put([NewItem("copy", rows={"a": rows[5]})])
    (found,) = made.search(SearchRequest([Query("a", key="005")], targets=("a",), space="classes", k=2))
    assert [(hit.key, hit.distance) for hit in found.hits][:1] == [("copy", 0.0)]
    assert all(hit.key != "005" for hit in found.hits)
    assert hits(made, rows[5], "b")[0] == ("005", 0.0)  # the copy has no row of the target


def test_near_copies_follow_writes_and_another_opening(home: Home, made):
    """A later item, a changed one and a deleted one count, from memory and from snapshots."""
    rows = drawn_rows()["a"]
    assert hits(made, rows[5])[0] == ("005", 0.0)
    new = drawn_rows(seed=3)["a"][0]
    made.items.put([NewItem("later", rows={"a": new}), NewItem("005", rows={"a": rows[6] + 5})])
    made.items.delete(["007"])
    made.close()
    with home.open("pairs") as opened:
        assert hits(opened, new)[0] == ("later", 0.0)
        assert hits(opened, rows[6] + 5)[0] == ("005", 0.0)
        assert all(distance for _, distance in hits(opened, rows[5]) + hits(opened, rows[7]))


def smooth(label: str, number: int) -> np.ndarray:
    """Return a picture without the noise, which no photograph has and no copy keeps."""
    return cv2.resize(cv2.GaussianBlur(draw(label, number), (0, 0), 2), (192, 144))


@pytest.mark.parametrize("view", ["color", "model"])
def test_changed_copies_of_a_picture_are_found_by_every_view(home: Home, tmp_path: Path, view: str):
    """GIST finds that a picture of half the size, of low quality or in grey shows the same. Colour and a model, whose
    rows change with colours, use this."""
    pictures = {f"{label}/{number}": smooth(label, number) for label in CLASSES for number in range(6)}
    spec = view
    if view == "model":
        from tiny_models import picture_folder

        home.models.add("tiny", picture_folder(tmp_path / "tiny"))
        spec = "model=onnx:tiny"
    with home.create("copies", [spec, "gist"]) as made:
        made.items.put([NewItem(key, image=encode(one), labels=(key[:3],)) for key, one in pictures.items()])
        made.train(Recipe(spec="cca", views=(view, "gist")))
        for key, picture in list(pictures.items())[::6]:
            half = encode(cv2.resize(picture, (96, 72), interpolation=cv2.INTER_AREA))
            grey = encode(cv2.cvtColor(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR))
            poor = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 40])[1].tobytes()
            queries = [Query(view, image=copy) for copy in (encode(picture), half, grey, poor)]
            assert {found.hits[0].key for found in made.search(SearchRequest(queries, k=3))} == {key}


def test_a_collection_full_of_copies_keeps_the_reach():
    """Copies of a third of the rows hardly change the reach of a near copy."""
    rows = np.random.default_rng(0).normal(size=(600, 32)).astype(np.float32)
    copies = rows[:200] + np.float32(0.01)
    clean, full = (
        Sketch.fit("v", some[Sketch.drawn(len(some), 0)], len(some), [Part(32)], seed=0).reach
        for some in (rows, np.concatenate([rows, copies, copies]))
    )
    assert 0.5 * clean < full < 1.5 * clean


def test_rows_without_differences_have_equal_rows_as_their_only_copies():
    for rows in (np.ones((1, 3), np.float32), np.ones((9, 3), np.float32)):
        sketch = Sketch.fit("v", rows, len(rows), [Part(2), Part(1)], seed=0)
        assert sketch.reach == 0
        assert not sketch.points(rows).any()
