"""Collections: homes, searching within and across views, spaces and generations, readers beside writers."""

import threading

import numpy as np
import pytest
from drawn import VIEWS, draw, encode, numbered, write_pictures

from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    NotReadyError,
    StorageError,
)
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.errors import ImageError


def query_row(value: float) -> Query:
    row = np.zeros(64, np.float32)
    row[0] = value
    return Query("color", vector=row)


def found(hit_list) -> list[str]:
    return [hit.key for hit in hit_list.hits]


# -- homes


def test_a_home_lists_what_was_created_and_forgets_what_was_deleted(home: Home):
    assert home.names() == []
    home.create("b", VIEWS).close()
    home.create("a", ["gist"]).close()
    assert home.names() == ["a", "b"]
    home.delete("a")
    assert home.names() == ["b"]
    with pytest.raises(NotFoundError, match="there are: b"):
        home.open("a")


def test_a_name_is_taken_once(home: Home):
    home.create("a", ["gist"]).close()
    with pytest.raises(AlreadyExistsError):
        home.create("a", ["color"])
    with home.open("a") as collection:
        assert [view.name for view in collection.views()] == ["gist"]


@pytest.mark.parametrize("name", ["", "A", "a b", "../a", "-a", ".a", "a" * 64, "ä"])
def test_names_that_are_no_safe_folder_are_refused(home: Home, name):
    with pytest.raises(InvalidInputError):
        home.create(name, ["color"])


@pytest.mark.parametrize(
    "views", [[], ["smell"], ["color", "color"], ["sift:words"], ["sift:wards=3"], ["sift:words=x"]]
)
def test_views_that_cannot_be_are_refused_and_leave_nothing(home: Home, views):
    with pytest.raises(InvalidInputError):
        home.create("a", views)
    assert home.names() == []
    assert not list(home.path.glob(".new-*"))


def test_a_damaged_collection_can_still_be_deleted(home: Home):
    home.create("a", ["color"]).close()
    (home.path / "a" / "catalog.db").write_bytes(b"damaged" * 1000)
    with pytest.raises(StorageError, match="damaged"):
        home.open("a")
    home.delete("a")
    assert home.names() == []


def test_a_deleted_collection_that_is_still_open_says_so(home: Home):
    with home.create("a", ["color"]) as collection:
        home.delete("a")
        with pytest.raises(NotFoundError, match="deleted"):
            collection.info()
        with pytest.raises(NotFoundError, match="deleted"):
            collection.items.put([numbered(1)])


# -- searching


def test_hits_are_the_nearest_with_true_distances_labels_and_attributes(vectors_only):
    with vectors_only(20) as collection:
        (answer,) = collection.search(SearchRequest([query_row(7.25)], k=3))
        assert answer.target == "color"
        assert [(hit.key, hit.distance) for hit in answer.hits] == [
            ("item/0007", 0.25),
            ("item/0008", 0.75),
            ("item/0006", 1.25),
        ]
        assert answer.hits[0].labels == ("odd",)
        assert answer.hits[0].attributes == {"n": 7}


def test_k_larger_than_the_collection_gives_the_whole_collection(vectors_only):
    with vectors_only(20) as collection:
        assert len(collection.search(SearchRequest([query_row(0)], k=10**6))[0].hits) == 20


def test_an_item_is_left_out_of_its_own_hits(vectors_only):
    with vectors_only(5) as collection:
        answers = collection.search(SearchRequest([Query("color", key="item/0002"), query_row(2)], k=2))
        assert found(answers[0]) == ["item/0001", "item/0003"]
        assert found(answers[1])[0] == "item/0002"


def test_a_filter_is_applied_before_the_nearest_are_taken(vectors_only):
    with vectors_only(20) as collection:
        odd = collection.search(SearchRequest([query_row(4)], k=3, filter=Filter(labels=("odd",))))[0]
        assert found(odd) == ["item/0003", "item/0005", "item/0001"]
        one = collection.search(SearchRequest([query_row(4)], k=3, filter=Filter(attributes={"n": 9})))[0]
        assert found(one) == ["item/0009"]
        assert found(collection.search(SearchRequest([query_row(4)], k=3, filter=Filter(keys=("x",))))[0]) == []


@pytest.mark.parametrize(
    ("query", "k", "options", "error"),
    [
        (Query("color"), 1, {}, InvalidInputError),
        (Query("color", vector=[1.0], key="a"), 1, {}, InvalidInputError),
        (Query("color", vector=[1.0]), 1, {}, InvalidInputError),
        (Query("color", vector=np.full(64, np.nan)), 1, {}, InvalidInputError),
        (Query("color", vector=["a"]), 1, {}, InvalidInputError),
        (query_row(0), 0, {}, InvalidInputError),
        (query_row(0), 1, {"filter": "a = ["}, InvalidInputError),
        (query_row(0), 1, {"targets": ["smell"]}, NotFoundError),
        (query_row(0), 1, {"space": "other"}, NotFoundError),
        (Query("smell", vector=[1.0]), 1, {}, NotFoundError),
        (Query("color", key="absent"), 1, {}, NotFoundError),
        (Query("color", image=b""), 1, {}, ImageError),
        (Query("color", image=b"hello"), 1, {}, ImageError),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(vectors_only, query, k, options, error):
    with vectors_only(3) as collection, pytest.raises(error, match=r".+"):
        collection.search(SearchRequest([query], k=k, **options))


def test_no_queries_is_an_error_and_an_empty_collection_answers_with_nothing(home: Home):
    with home.create("empty", ["color"]) as collection:
        with pytest.raises(InvalidInputError):
            collection.search(SearchRequest([]))
        assert collection.search(SearchRequest([query_row(1)]))[0].hits == ()


def test_an_unfitted_view_names_the_remedy(home: Home):
    with home.create("new", VIEWS) as collection:
        with pytest.raises(NotReadyError, match=r"`collection.index\("):
            collection.search(SearchRequest([Query("sift", image=encode(draw("red", 1)))]))
        (note,) = collection.items.put([NewItem("a", image=encode(draw("red", 1)))]).notes
        assert "`collection.views.fit(['PATH'], views=['sift'])`, then add them again" in note


def test_views_are_fitted_on_request_and_again_only_when_insisted(home: Home):
    images = [encode(draw("red", number)) for number in range(4)]
    with home.create("new", VIEWS) as collection:
        collection.views.fit(images)
        assert [view.revision for view in collection.views()] == [1, 1]
        collection.items.put([NewItem("a", image=images[0]), NewItem("b", image=images[1])])
        collection.views.fit(images)  # nothing is left to fit
        assert [view.revision for view in collection.views()] == [1, 1]
        with pytest.raises(InvalidInputError, match="already fitted"):
            collection.views.fit(images, ["sift"])
        with pytest.raises(InvalidInputError, match="learns nothing"):
            collection.views.fit(images, ["color"])
        collection.train(Recipe(spec="pca", views=("sift",), dim=1))
        collection.views.fit(images, ["sift"], refit=True)
        assert collection.views()[1].revision == 2
        with pytest.raises(NotReadyError, match="train the space again"):
            collection.search(SearchRequest([Query("sift", image=images[0])]))
        assert collection.search(SearchRequest([Query("sift", image=images[0])], space="raw"))[0].hits == ()
        with pytest.raises(InvalidInputError, match="row of view 'sift' of item 'a' is of an earlier fit of the view"):
            collection.search(SearchRequest([Query("sift", key="a")], space="raw"))
        collection.items.put([NewItem("a", image=images[0])])
        assert found(collection.search(SearchRequest([Query("sift", image=images[0])], space="raw"))[0]) == ["a"]


# -- spaces


def test_a_cross_view_space_answers_across_views_and_merges_each_item_once(collection):
    collection.train(Recipe(spec="hybrid", views=("color", "sift"), dim=4))
    image = encode(draw("red", 50))
    answers = collection.search(SearchRequest([Query("color", image=image)], k=4))
    assert [answer.target for answer in answers] == ["color", "sift"]
    across = answers[1]
    assert sum(hit.labels == ("red",) for hit in across.hits) >= 3
    (merged,) = collection.search(SearchRequest([Query("color", image=image)], k=18, merge=True))
    assert merged.target == "distance of color, sift"
    assert len({hit.key for hit in merged.hits}) == 18


def test_a_space_of_separate_views_refuses_to_cross_them(collection):
    collection.train(Recipe(spec="pca", views=("color", "sift"), dim=3))
    query = Query("color", key="pictures/red/0.png")
    assert [answer.target for answer in collection.search(SearchRequest([query]))] == ["color"]
    with pytest.raises(InvalidInputError, match="searches within a view"):
        collection.search(SearchRequest([query], targets=["sift"]))


@pytest.mark.parametrize(
    ("learner", "views", "options", "error"),
    [
        ("magic", ["color", "sift"], {}, InvalidInputError),
        ("", ["color"], {}, InvalidInputError),
        ("hybrid", ["color", "sift"], {"settings": {"speed": 3}}, InvalidInputError),
        ("hybrid", ["color", "sift"], {"dim": 0}, InvalidInputError),
        ("hybrid", ["color", "sift"], {"holdout": 1.0}, InvalidInputError),
        ("hybrid", ["color", "smell"], {}, NotFoundError),
        ("hybrid", ["color", "color"], {}, InvalidInputError),
    ],
)
def test_a_training_that_cannot_be_is_refused_and_changes_nothing(collection, learner, views, options, error):
    before = collection.info().sequence
    with pytest.raises(error, match=r".+"):
        collection.train(Recipe(spec=learner, views=tuple(views), **options))
    with pytest.raises(InvalidInputError, match="cannot name a space"):
        collection.train(Recipe(spec="hybrid", views=("color", "sift")), space="raw")
    assert collection.info().sequence == before
    assert [space.name for space in collection.spaces()] == ["raw"]


def test_training_without_items_says_what_to_do(home: Home):
    with (
        home.create("new", ["color"]) as collection,
        pytest.raises(NotReadyError, match=r"`collection.index\(\[.PATH.\]\)`"),
    ):
        collection.train(Recipe(spec="pca", views=("color",)))


def test_generations_stay_for_going_back_and_one_answers(collection):
    query = Query("color", key="pictures/red/0.png")
    collection.train(Recipe(spec="cca", views=("color", "sift"), dim=2), space="joint")
    first = collection.search(SearchRequest([query]))
    collection.train(Recipe(spec="cca", views=("color", "sift"), dim=3), space="joint")
    second = collection.search(SearchRequest([query]))
    info = collection.spaces.get("joint")
    assert (info.generation, info.generations, info.active, dict(info.dim)) == (
        2,
        (1, 2),
        True,
        {"color": 3, "sift": 3},
    )
    assert first != second
    collection.spaces.activate("joint", 1)
    assert collection.search(SearchRequest([query])) == first
    collection.spaces.activate("joint", 2)
    assert collection.search(SearchRequest([query])) == second
    with pytest.raises(NotFoundError, match="there are: 1, 2"):
        collection.spaces.activate("joint", 3)


def test_activate_goes_back_to_an_earlier_space_and_to_the_views(collection):
    collection.train(Recipe(spec="cca", views=("color", "sift"), dim=2))
    collection.train(Recipe(spec="pca", views=("color",), dim=2))
    assert collection.info().active_space == "cca"
    collection.train(Recipe(spec="pca", views=("color",), dim=2), activate=True)
    assert collection.info().active_space == "pca"
    assert collection.spaces.activate("cca").active
    assert collection.info().active_space == "cca"
    assert collection.spaces.activate("raw").active
    assert [
        answer.target for answer in collection.search(SearchRequest([Query("sift", key="pictures/red/0.png")]))
    ] == ["sift"]
    assert collection.train(Recipe(spec="pca", views=("color",), dim=2)).active_space == "raw"
    with pytest.raises(NotFoundError, match="cca, pca, raw"):
        collection.spaces.activate("other")


def test_a_space_that_is_not_activated_answers_by_name_only(collection):
    collection.train(Recipe(spec="cca", views=("color", "sift"), dim=2))
    collection.train(Recipe(spec="pca", views=("color",), dim=2), activate=False)
    query = Query("color", key="pictures/red/0.png")
    assert len(collection.search(SearchRequest([query]))) == 2
    assert len(collection.search(SearchRequest([query], space="pca"))) == 1


def test_a_new_opening_gives_the_same_hits_with_and_without_snapshots(collection, home):
    collection.train(Recipe(spec="hybrid", views=("color", "sift"), dim=4))
    query = Query("sift", image=encode(draw("blue", 60)))
    before = collection.search(SearchRequest([query], k=18))
    for damage in (
        lambda path: None,
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.unlink(),
    ):
        snapshots = list((home.path / "small" / "indexes").glob("*.idx"))
        assert len(snapshots) == 4  # of the vectors and the sketches of two views
        for path in snapshots:
            damage(path)
        with home.open("small") as again:
            assert again.search(SearchRequest([query], k=18)) == before


def test_snapshots_are_brought_up_to_date_from_the_catalog(collection, home, tmp_path):
    collection.train(Recipe(spec="hybrid", views=("color", "sift"), dim=4))
    write_pictures(tmp_path / "pictures", 8)
    collection.index([tmp_path / "pictures"], IndexOptions(labels="folder", workers=1))
    collection.items.delete(["pictures/red/0.png"])
    query = Query("sift", image=encode(draw("blue", 60)))
    with home.open("small") as again:
        hits = again.search(SearchRequest([query], k=100))
        assert [len(answer.hits) for answer in hits] == [23, 23]
        assert hits == collection.search(SearchRequest([query], k=100))


def test_an_item_without_a_view_is_not_filed_under_it(collection):
    collection.train(Recipe(spec="hybrid", views=("color", "sift"), dim=4))
    row = np.zeros(64, np.float32)
    row[0] = 1
    collection.items.put([NewItem("color-only", rows={"color": row})])
    answers = {
        answer.target: found(answer) for answer in collection.search(SearchRequest([Query("color", vector=row)], k=100))
    }
    assert "color-only" in answers["color"]
    assert "color-only" not in answers["sift"]
    with pytest.raises(InvalidInputError, match=r"no row of view 'sift'; it has rows of: color$"):
        collection.search(SearchRequest([Query("sift", key="color-only")]))


def test_learners_come_in_pipelines_with_views_by_name(collection):
    info = collection.train(
        Recipe(spec="sqrt@sift,hybrid", views=("color", "sift"), dim=4, settings={"frozen": "sift"}), space="mine"
    )
    assert (info.spec, info.cross_view, info.settings["frozen"]) == ("sqrt@sift,hybrid", True, "sift")
    assert len(collection.search(SearchRequest([Query("color", key="pictures/red/0.png")], k=3))) == 2


# -- readers and writers


def test_another_opening_follows_changes_without_being_told(vectors_only, home):
    with vectors_only(5) as writer, home.open("rows") as reader:
        assert len(reader.search(SearchRequest([query_row(0)], k=100))[0].hits) == 5
        writer.items.put([numbered(5)])
        assert found(reader.search(SearchRequest([query_row(5)], k=1))[0]) == ["item/0005"]
        writer.items.delete(["item/0005"])
        assert found(reader.search(SearchRequest([query_row(5)], k=1))[0]) == ["item/0004"]
        writer.train(Recipe(spec="pca", views=("color",), dim=1))
        assert reader.info().active_space == "pca"
        assert found(reader.search(SearchRequest([query_row(3)], k=1))[0]) == ["item/0003"]


def test_searching_while_items_come_and_go_gives_only_correct_answers(vectors_only, home):
    """Every answer must be one that the collection gave at some moment: the nearest of a prefix of the imports."""
    with vectors_only(10) as writer, home.open("rows") as reader:
        stop, wrong = threading.Event(), []

        def ask() -> None:
            while not stop.is_set():
                (answer,) = reader.search(SearchRequest([query_row(1000)], k=5))
                numbers = [int(hit.attributes["n"]) for hit in answer.hits]
                if numbers != list(range(numbers[0], numbers[0] - 5, -1)) or numbers[0] < 9:
                    wrong.append(numbers)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(10, 60):
            writer.items.put([numbered(number)])
        for number in range(59, 29, -1):
            writer.items.delete([f"item/{number:04}"])
        stop.set()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_what_is_told_of_the_raw_views_is_what_their_space_does(three) -> None:
    """The catalog alone gives the targets and dimensions that the raw space has."""
    made = three.embed([Query(view, key="red/0") for view in ("color", "gist", "sift")], space="raw")
    assert dict(three.spaces.get("raw").dim) == {one.target: len(one.vector) for one in made}
