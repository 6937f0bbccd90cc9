"""Joined views: color+gist is the rows of its parts beside each other, each scaled by the training rows of a space."""

import numpy as np
import pytest
from drawn import CLASSES, draw, encode
from rows import each, fill, item, row

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.stage import parse_stages
from crossview.engine.spaces.pipeline import Part, build, fit
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe, Tune

JOINED = "color+gist"


def raw_row(group, number):
    return np.concatenate([row("color", group, number), row("gist", group, number)])


def scaled(parts):
    """Return the oracle: parts, (n, d) each, divided by the root mean square length of their centred rows."""
    lengths = [np.sqrt(np.square(one - one.mean(axis=0)).sum(axis=1).mean()) for one in parts]
    return np.hstack([one / length for one, length in zip(parts, lengths, strict=True)])


def joined(home: Home) -> Collection:
    made = fill(home, "pair", [item(*one) for one in each()])
    made.train(Recipe(spec="pca", views=(JOINED,), dim=3, holdout=0.25), space="joined")
    return made


@pytest.fixture
def pair(home, once):
    """24 items of two views and a space of the two joined, the others held out."""
    with once.copy(home, joined) as made:
        yield made


def test_every_part_is_normalised_and_scaled_by_the_training_rows(three):
    """Words are counted relative to their sum first, as in a single view; then all parts count alike."""
    raw = {view: three.items.embed(view, space="raw") for view in ("color", "gist", "sift")}
    assert raw["sift"].keys == raw["color"].keys
    np.testing.assert_allclose(raw["sift"].vectors.sum(axis=1), 1, rtol=1e-5)
    three.train(Recipe(spec="l2", views=("color+gist+sift",)))
    rows = scaled([raw[view].vectors.astype(float) for view in ("color", "gist", "sift")])
    found = three.items.embed("color+gist+sift")
    assert found.keys == raw["color"].keys
    np.testing.assert_allclose(found.vectors, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)


def test_the_scale_is_that_of_the_training_items(pair):
    """Held-out items do not enter it, and it comes back with the space."""
    pair.train(Recipe(spec="l2", views=(JOINED,), holdout=0.5, seed=1), space="half")
    generation = pair.spaces.get("half")
    assert generation.trained_items == 12
    space = pair._opened.versions().current().spaces["half"].space
    known = [tuple(key.split("/")) for key in sorted(space.training_keys)]
    parts = [np.stack([row(view, group, int(number)) for group, number in known]) for view in ("color", "gist")]
    lengths = [np.sqrt(np.square(one - one.mean(axis=0)).sum(axis=1).mean()) for one in parts]
    other = raw_row("cat", 99) / np.repeat(lengths, [64, 512])
    (found,) = pair.embed([Query(JOINED, vector=raw_row("cat", 99))], space="half")
    np.testing.assert_allclose(found.vector, other / np.linalg.norm(other), rtol=1e-4)
    (again,) = type(pair)(pair._opened.folder).embed([Query(JOINED, vector=raw_row("cat", 99))], space="half")
    np.testing.assert_array_equal(again.vector, found.vector)


def test_queries_by_key_and_by_vector_find_the_same(pair):
    """A vector is as wide as the parts together; an item is left out of its own hits."""
    by_key, by_vector = pair.search(
        SearchRequest([Query(JOINED, key="cat/03"), Query(JOINED, vector=raw_row("cat", 3))], targets=[JOINED], k=5)
    )
    assert by_vector.hits[0].key == "cat/03"
    assert [hit.key for hit in by_vector.hits[1:]] == [hit.key for hit in by_key.hits[:4]]
    assert {hit.target for hit in by_key.hits} == {JOINED}
    with pytest.raises(InvalidInputError, match=r"view 'color\+gist' must have 576 values, not 64"):
        pair.search(SearchRequest([Query(JOINED, vector=row("color", "cat", 3))]))


def test_queries_by_picture_describe_it_by_every_part(three):
    """The row of a picture is that of its parts, so that it finds the item of the same picture first."""
    three.train(Recipe(spec="pca", views=("color+sift", "gist"), dim=3), activate=True)
    label = next(iter(CLASSES))
    (found,) = three.search(
        SearchRequest([Query("color+sift", image=encode(draw(label, 2)))], targets=["color+sift"], k=1)
    )
    assert found.hits[0].key == f"{label}/2"
    assert found.hits[0].distance == pytest.approx(0, abs=1e-4)
    with pytest.raises(
        InvalidInputError, match="view 'color' is computed from pictures, so it does not accept a query by"
    ):
        three.search(SearchRequest([Query("color+sift", text="red")]))


def test_an_item_has_a_joined_view_if_it_has_every_part(pair):
    """One that lacks a part is not found, and cannot query; once it has all, it is found without a training."""
    pair.items.put([item("cat", 50, views=["color"])])
    query = SearchRequest([Query(JOINED, vector=raw_row("cat", 50))], k=1)
    assert pair.search(query)[0].hits[0].key != "cat/50"
    with pytest.raises(InvalidInputError, match="item 'cat/50' has no row of view 'gist'; it has rows of: color"):
        pair.search(SearchRequest([Query(JOINED, key="cat/50")]))
    pair.items.put([NewItem("cat/50", rows={"gist": row("gist", "cat", 50)})])
    assert pair.search(query)[0].hits[0].key == "cat/50"
    assert "cat/50" in pair.items.embed(JOINED).keys


def test_a_view_may_be_alone_and_in_a_join(pair):
    """Every view of a training is one target, and evaluation goes across them."""
    made = pair.train(Recipe(spec="cca", views=(JOINED, "gist"), dim=2, holdout=0.25), space="both", activate=True)
    assert made.targets == (JOINED, "gist")
    assert made.dim == {JOINED: 2, "gist": 2}
    found = pair.evaluate(EvaluationRequest(view=JOINED, targets=("gist",), k=(3,)))
    assert {(one.query_view, one.database_view) for one in found.rows} == {(JOINED, "gist")}
    assert all(0 <= one.value <= 1 for one in found.rows)
    assert found.queries == 6
    with pytest.raises(NotFoundError, match=r"has no target 'color'; there are: color\+gist, gist"):
        pair.search(SearchRequest([Query(JOINED, key="cat/03")], targets=["color"]))


def test_a_refit_learns_the_scale_anew(pair):
    """Evaluation with a refit fits the whole pipeline on a part of the items."""
    found = pair.evaluate(EvaluationRequest(view=JOINED, k=(3,), refit=True))
    assert found.rows[0].value > 0.9


def test_tuning_takes_joined_views(pair):
    """The scale is learned in every fold."""
    tune = Tune({"n_components": (1, 2)}, folds=2)
    made = pair.train(Recipe(spec="pca", views=(JOINED,), tune=tune, settings={"whiten": False}), space="tuned")
    assert made.tuning.chosen["n_components"] in (1, 2, 10, 20, 50)


def test_a_joined_view_is_added_later(pair):
    """The others stay exactly as they are, and the revisions of all parts are remembered."""
    pair.train(Recipe(spec="semantic", views=("color",)), space="later", activate=True)
    query = Query("color", key="cat/03")
    before = pair.embed([query])[0].vector
    made = pair.spaces.extend("later", [JOINED])
    assert made.views == ("color", JOINED)
    np.testing.assert_array_equal(pair.embed([query], targets=["color"])[0].vector, before)
    (found,) = pair.search(SearchRequest([Query(JOINED, vector=raw_row("owl", 60))], targets=["color"], k=3))
    assert {hit.labels for hit in found.hits} == {("owl",)}
    assert pair._opened.versions().current().spaces["later"].space.revisions == {"color": 1, "gist": 1}
    assert pair.evaluate(EvaluationRequest(view=JOINED, refit=True, k=(3,))).rows


def test_a_part_that_is_fitted_again_makes_the_space_outdated(three):
    """A single view does so, too."""
    three.train(Recipe(spec="pca", views=("color+sift",), dim=2))
    three.views.fit([encode(draw("red", n)) for n in range(8)], ["sift"], workers=1, refit=True)
    with pytest.raises(NotReadyError, match="trained on revision 1 of view 'sift', which is now at revision 2"):
        three.embed([Query("color+sift", vector=np.ones(72))])


def test_parts_of_a_space_cannot_be_deleted(pair):
    with pytest.raises(NotReadyError, match=r"these spaces use view 'gist': joined \(generation 1\)"):
        pair.views.delete("gist")
    pair.spaces.delete("joined")
    pair.views.delete("gist")


@pytest.mark.parametrize(
    ("view", "kind", "message"),
    [
        ("color+smell", NotFoundError, "no view 'smell' in collection 'pair'; there are: color, gist"),
        ("color+color", InvalidInputError, "contains view 'color' twice"),
        ("color+", InvalidInputError, "joins a view without a name"),
    ],
)
def test_wrong_joins_are_refused(pair, view, kind, message):
    """Training, search, evaluation and embedding refuse them."""
    for use in (
        lambda: pair.train(Recipe(spec="pca", views=(view,))),
        lambda: pair.search(SearchRequest([Query(view, key="cat/03")])),
        lambda: pair.embed([Query(view, key="cat/03")]),
    ):
        with pytest.raises(kind, match=message):
            use()


def test_raw_has_the_single_views(pair):
    """It learns nothing, not even a scale; the message names learners that do."""
    with pytest.raises(
        NotFoundError, match=r"'raw' has no view 'color\+gist'.*`spec='scale'` `views=\['color\+gist'\]`"
    ):
        pair.search(SearchRequest([Query(JOINED, key="cat/03")], space="raw"))
    pair.train(Recipe(spec="scale", views=(JOINED,)))
    assert pair.search(SearchRequest([Query(JOINED, key="cat/03")]))


def test_no_view_has_the_joint_in_its_name(pair, home):
    for name in ("clip+x=vectors:dim=2", JOINED):
        with pytest.raises(InvalidInputError, match=r"'\+' joins existing views"):
            pair.views.add(name)
    with pytest.raises(InvalidInputError, match="joins existing views"):
        home.create("other", [JOINED])


def test_a_stage_is_for_the_joined_view_that_its_names_make():
    """All names that join into a view of the training are that view; otherwise each is a view."""
    parts = [[Part(2), Part(3)], [Part(2)], [Part(3)]]
    views = ("a+b", "a", "b")
    assert build(parse_stages("l2@a+b,pca"), views, parts).steps[-2].views == [0]
    assert build(parse_stages("l2@b+a,pca"), views, parts).steps[-2].views == [2, 1]
    assert build(parse_stages("l2@a+a+b,pca"), views, parts).steps[-2].views == [1, 0]
    assert build(parse_stages("l2@a+b,pca"), ("a", "b"), parts[1:]).steps[-2].views == [0, 1]


def test_steps_of_parts_leave_the_other_columns():
    """Two parts and a further view have steps of their own each."""
    parts = [[Part(2), Part(3, ("l1",))], [Part(3, ("l1", "sqrt"))]]
    rows = [np.arange(1, 21, dtype=np.float32).reshape(4, 5) ** 2, np.ones((4, 3), np.float32)]
    pipeline = fit(build((), ("a+b", "c"), parts), rows)
    whole = rows[0].astype(float)
    words = whole[:, 2:] / whole[:, 2:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pipeline.transform(rows[0], view=0), scaled([whole[:, :2], words]), rtol=1e-5)
    np.testing.assert_allclose(pipeline.transform(rows[1], view=1), np.sqrt(rows[1] / 3), rtol=1e-6)


def test_a_constant_part_stays():
    rows = np.column_stack([np.full(5, 3.0), np.arange(5.0)]).astype(np.float32)
    found = fit(build((), ("a+b",), [[Part(1), Part(1)]]), [rows]).transform(rows, view=0)
    np.testing.assert_allclose(found[:, 0], 3.0)
    assert found[:, 1].std() == pytest.approx(1)
