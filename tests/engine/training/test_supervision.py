"""Similar items share a label, have overlapping labels, are pairs, or are neighbours in a view."""

import numpy as np
import pytest
from drawn import CLASSES, draw, encode
from rows import GROUPS, each, fill, item, row

from crossview.engine.catalog.ingest.comparison_files import read_pairs
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Pair, Recipe

BOTH = ("color", "gist")


def own_group(collection, k: int = 5) -> float:
    """Return how many hits of new colour queries in the gist target are of the query's group."""
    answers = collection.search(
        SearchRequest([Query("color", vector=row("color", group, 100)) for group in GROUPS], targets=["gist"], k=k)
    )
    return float(np.mean([hit.key.startswith(g) for g, one in zip(GROUPS, answers, strict=True) for hit in one.hits]))


def paired(count: int = 8) -> list[Pair]:
    return [Pair(f"{group}/{n:02}", f"{group}/{m:02}") for group, m in each(count) for n in range(m)]


def test_pairs_take_the_place_of_labels(home):
    with fill(home, "bare", [item(group, number, labels=()) for group, number in each()]) as bare:
        info = bare.train(Recipe(spec="multi-npp", views=BOTH, dim=3, pairs=paired()))
        assert info.pairs == len(paired())
        assert own_group(bare) > 0.9


def test_items_that_share_one_of_several_labels_are_similar(home):
    """Every item has a label of its own too, so that no two sets of labels are equal."""
    items = [item(group, number, labels=[group, f"{group}-{number}"]) for group, number in each()]
    with fill(home, "tags", items) as tags:
        tags.train(Recipe(spec="multi-npp", views=BOTH, dim=3))
        assert own_group(tags) > 0.9


def test_neighbours_in_a_view_named_by_its_name_are_similar(home):
    with fill(home, "bare", [item(group, number, labels=()) for group, number in each()]) as bare:
        settings = {"similar": "knn", "neighbor_view": "gist", "n_neighbors": 5}
        info = bare.train(Recipe(spec="multi-npp", views=BOTH, dim=3, settings=settings))
        assert info.settings["neighbor_view"] == "gist"
        assert own_group(bare) > 0.9
        with pytest.raises(InvalidInputError, match="neighbor_view='smell' is not one of the views"):
            bare.train(Recipe(spec="multi-npp", views=BOTH, dim=3, settings=settings | {"neighbor_view": "smell"}))


def test_a_space_learned_from_pairs_is_extended_and_measured_by_them(three):
    """The pairs are kept with the space."""
    pairs = [Pair(f"{group}/{n}", f"{group}/{m}") for group in CLASSES for m in range(6) for n in range(m)]
    three.train(Recipe(spec="multi-npp", views=BOTH, dim=3, pairs=pairs))
    assert three.spaces.extend("multi-npp", ["sift"]).pairs == 45
    (answer,) = three.search(SearchRequest([Query("color", image=encode(draw("red", 50)))], targets=["sift"], k=4))
    assert sum(hit.labels == ("red",) for hit in answer.hits) >= 3
    measured = three.evaluate(EvaluationRequest(view="color", targets=("gist",), refit=True, k=(3,)))
    assert all(row.value > 0.6 for row in measured.rows if row.metric in ("accuracy", "precision", "map"))


@pytest.mark.parametrize(
    ("pairs", "error", "words"),
    [
        ([Pair("cat/00", "nobody")], NotFoundError, "pair 1: there is no item 'nobody'"),
        ([Pair("nobody", "cat/01", line=7)], NotFoundError, "line 7: there is no item 'nobody'"),
        ([Pair("cat/00", "cat/00", line=3)], InvalidInputError, "line 3: 'cat/00' forms a pair with itself"),
        ([Pair("owl/90", "cat/00")], InvalidInputError, "no pair has two training items"),
    ],
)
def test_pairs_that_cannot_be_used_are_told(home, pairs, error, words):
    with fill(home, "groups", [item(group, number) for group, number in each(4)]) as groups:
        groups.views.add("other=vectors:dim=2")
        groups.items.put([NewItem("owl/90", rows={"other": np.ones(2)})])
        with pytest.raises(error, match=words):
            groups.train(Recipe(spec="multi-npp", views=BOTH, dim=2, pairs=pairs))
        with pytest.raises(InvalidInputError, match="does not learn from pairs"):
            groups.train(Recipe(spec="cca", views=BOTH, dim=2, pairs=(Pair("cat/00", "cat/01"),)))


def test_a_file_of_pairs_is_read_with_its_line_numbers(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text('key_a,key_b\na/1.jpg, a/2.jpg\n\n"b, c.jpg",d\n')
    assert read_pairs(file) == (Pair("a/1.jpg", "a/2.jpg", 2), Pair("b, c.jpg", "d", 4))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "contains no pairs"),
        (b"key_a,key_b\n", "contains no pairs"),
        (b"a,b\nc\n", "line 2: expected key_a,key_b but found 'c'"),
        (b"a,b\n\nc,d,e\n", "line 3"),
        (b"a,\n", "line 1"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused(tmp_path, text, words):
    file = tmp_path / "pairs.csv"
    file.write_bytes(text)
    with pytest.raises(InvalidInputError, match=words):
        read_pairs(file)
    with pytest.raises(InvalidInputError, match="absent"):
        read_pairs(tmp_path / "absent.csv")
