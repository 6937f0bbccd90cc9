"""Databases of held-out queries: trained items, other unseen ones, or both; and their own other view."""

from collections import Counter

import numpy as np
import pytest
from rows import GROUPS, each, fill, item, row
from scipy.stats import skew

from crossview.engine.spaces import scans
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

BOTH = ("color", "gist")
KS = (1, 5)


@pytest.fixture
def groups(home):
    """36 labelled items of three groups in two views, of which some lack one, and a space that held out a third."""
    having = [BOTH, BOTH, BOTH, ("color",), ("gist",)]
    with fill(home, "groups", [item(group, number, having[number % 5]) for group, number in each(12)]) as made:
        made.train(Recipe(spec="multi-npp", views=BOTH, dim=3, holdout=0.4, seed=2))
        yield made


@pytest.fixture(autouse=True)
def no_near_copies(monkeypatch) -> None:
    """Switch near copies off: an evaluation measures the space alone, so a search that checks it must not use them."""
    monkeypatch.setattr(scans, "near_copies", lambda state, queries, asked, k: [{} for _ in asked.own])


def sides(collection, space="multi-npp"):
    """Return the keys that a space was trained on, and the others."""
    with collection._opened.catalog.read() as tx:
        trained = collection._opened.loaded.get(tx, space).training_keys
    return trained, {one.key for one in collection.items(limit=1000)} - trained


def lists(collection, view, target, database, own=False):
    """Return the hits of every held-out query by a search of a database, without the query's own item unless wanted."""
    trained, unseen = sides(collection)
    keys = {"trained": trained, "unseen": unseen, "mixed": trained | unseen}[database]
    views = {one.key: one.views for one in collection.items(limit=1000)}
    asked = sorted(key for key in unseen if view in views[key])
    queries = [Query(view, vector=row(view, key[:3], int(key[4:]))) for key in asked]
    found = collection.search(SearchRequest(queries, targets=(target,), k=1000, filter=Filter(keys=tuple(keys))))
    return {
        key: [hit for hit in one.hits if own or hit.key != key] for key, one in zip(asked, found, strict=True)
    }, unseen


def measured(found, database):
    return {(row.database_view, row.metric, row.k): row.value for row in found.rows if row.database == database}


@pytest.mark.parametrize("database", ["trained", "unseen", "mixed"])
def test_figures_are_those_of_searching_the_database(groups, database):
    """A query's own item is in none of its lists, neither in the view of the query nor in another."""
    found = groups.evaluate(EvaluationRequest(view="color", databases=(database,), k=KS))
    figures = measured(found, database)
    assert {row.database for row in found.rows} == {database}
    for target in BOTH:
        hits, unseen = lists(groups, "color", target, database)
        precision, mean, share = [], [], []
        for key, one in hits.items():
            relevant = np.array([hit.key[:3] == key[:3] for hit in one])
            assert key not in {hit.key for hit in one}
            precision.append([relevant[:k].mean() for k in KS])
            places = np.flatnonzero(relevant) + 1
            mean.append(np.mean(np.arange(1, len(places) + 1) / places))
            new = np.array([hit.key in unseen for hit in one])
            share.append([new[:k].mean() / max(new.mean(), 1e-9) for k in KS])
        for column, k in enumerate(KS):
            assert figures[target, "precision", k] == pytest.approx(np.mean(precision, axis=0)[column])
            if database == "mixed":
                assert figures[target, "unseen_share", k] == pytest.approx(np.mean(share, axis=0)[column])
        assert figures[target, "map", None] == pytest.approx(np.mean(mean))
        counts = Counter(hit.key for one in hits.values() for hit in one[:10])
        whole, _ = lists(groups, "color", target, database, own=True)
        items = len(next(iter(whole.values())))
        assert figures[target, "coverage", 10] == len(counts) / min(items, counts.total())
        if target != "color" and database != "trained":
            there = {key: one for key, one in whole.items() if key in {hit.key for hit in one}}
            ranks = np.array([place(one, key) for key, one in there.items()])
            assert figures[target, "recall", 1] == pytest.approx(np.mean(ranks <= 1))
            assert figures[target, "recall", 10] == pytest.approx(np.mean(ranks <= 10))
            assert figures[target, "median_rank", None] == np.median(ranks)
        else:
            assert (target, "recall", 1) not in figures
        assert figures[target, "accuracy", 1] == figures[target, "precision", 1]
    assert (database == "mixed") == any(metric == "unseen_share" for _, metric, _ in figures)


def test_databases_are_shown_side_by_side(groups):
    """Each has the figures that it has alone, and states its number of items."""
    request = EvaluationRequest(view="gist", k=(3,), databases=("trained", "unseen", "mixed"))
    found = groups.evaluate(request)
    trained, unseen = sides(groups)
    assert found.databases == {"trained": len(trained), "unseen": len(unseen), "mixed": 36}
    for database in request.databases:
        alone = groups.evaluate(EvaluationRequest(view="gist", k=(3,), databases=(database,)))
        assert measured(alone, database) == measured(found, database)
        assert f"database {database}: " in alone.protocol
    assert [one.database for one in groups.evaluate(EvaluationRequest(view="gist", k=(3,))).rows] == [
        *["trained"] * 5 + ["unseen"] * 8,
        *["trained"] * 5 + ["unseen"] * 5,
    ]


def test_too_few_unseen_items_are_no_database_unless_asked_for(home):
    """By default they are left out with a note; if two of them share a label, a request may name them."""
    with fill(home, "few", [item(*one) for one in each(8)]) as few:
        few.train(Recipe(spec="cca", views=BOTH, dim=2))
        few.items.put([item("cat", 50), item("cat", 51), item("dog", 50)])
        found = few.evaluate(EvaluationRequest(view="color", k=(1,)))
        assert set(found.databases) == {"trained"}
        assert "fewer than two labels are on two held-out items each" in found.protocol
        assert few.evaluate(EvaluationRequest(view="color", k=(1,), databases=("unseen",))).databases == {"unseen": 3}
        few.items.delete(["cat/50"])
        with pytest.raises(NotReadyError, match="no two held-out items with view 'color' share a label"):
            few.evaluate(EvaluationRequest(view="color", k=(1,), databases=("unseen",)))


def test_unseen_items_are_measured_without_common_trained_ones(home):
    """The spaces learned from different items, so that none of these can be the database."""
    with fill(home, "apart", [item(*one) for one in each(4)]) as apart:
        apart.train(Recipe(spec="pca", views=("color",), dim=2), space="one")
        apart.items.delete([f"{group}/{number:02}" for group, number in each(4)])
        apart.items.put([item(group, number) for group in GROUPS for number in range(10, 14)])
        apart.train(Recipe(spec="pca", views=("color",), dim=2), space="two")
        apart.items.put([item(group, number) for group in GROUPS for number in (60, 61)])
        request = {"view": "color", "spaces": ("one", "two", "raw"), "k": (1,)}
        assert apart.evaluate(EvaluationRequest(**request, databases=("unseen",))).databases == {"unseen": 6}
        for databases in ((), ("trained",), ("unseen", "mixed")):
            with pytest.raises(NotReadyError, match="that all of them were trained on"):
                apart.evaluate(EvaluationRequest(**request, databases=databases))


def test_unseen_items_do_not_give_their_labels_away(home):
    """A space of several metrics indexes items under the metric of their label, held-out ones as if they had none."""
    rows = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    with home.create("noise", ["view=vectors:dim=6"]) as noise:
        noise.items.put(
            [NewItem(f"{i:02}", rows={"view": rows[i]}, labels=(GROUPS[i % 3],)) for i in range(60)],
        )
        noise.train(Recipe(spec="musl:8", views=("view",), settings={"n_metrics": 3}, holdout=0.4))
        request = EvaluationRequest(view="view", databases=("unseen",), k=(1,))
        before = noise.evaluate(request)
        turned = sorted(sides(noise, "musl")[1])
        labels = {one.key: one.labels for one in noise.items(limit=100)}
        noise.items.update([ItemUpdate(key, labels=(f"new {labels[key][0]}",)) for key in turned])
        assert noise.evaluate(request).rows == before.rows


# -- without labels


@pytest.fixture
def unlabelled(home):
    """30 items without labels, of which some lack a view, and a space that held out a third of them."""
    having = [BOTH, BOTH, BOTH, BOTH, ("gist",)]
    items = [item(group, number, having[number % 5], labels=()) for group, number in each(10)]
    with fill(home, "bare", items) as made:
        made.train(Recipe(spec="cca", views=BOTH, dim=3, holdout=0.3))
        yield made


def place(hits, key):
    return [hit.key for hit in hits].index(key) + 1


@pytest.mark.parametrize("database", ["unseen", "mixed"])
def test_items_find_their_own_other_view(home, database):
    """Recall at k and the median of the ranks are those of searching for the query's own item."""
    items = [item(group, number, labels=()) for group, number in each(10)]
    with fill(home, "bare", items) as bare:
        bare.train(Recipe(spec="cca", views=BOTH, dim=3, holdout=0.3), space="multi-npp")
        found = bare.evaluate(EvaluationRequest(view="color", databases=(database,)))
        hits, _ = lists(bare, "color", "gist", database, own=True)
        ranks = np.array([place(one, key) for key, one in hits.items()])
        counts = Counter(hit.key for one in hits.values() for hit in one[:10])
        each_item = [counts[hit.key] for hit in next(iter(hits.values()))]
        assert {(row.database_view, row.metric, row.k): row.value for row in found.rows} == {
            ("gist", "recall", 1): np.mean(ranks <= 1),
            ("gist", "recall", 10): np.mean(ranks <= 10),
            ("gist", "median_rank", None): np.median(ranks),
            ("gist", "coverage", 10): len(counts) / min(len(each_item), counts.total()),
            ("gist", "hubness", 10): pytest.approx(skew(each_item)) if np.ptp(each_item) else 0,
        }
        assert found.queries == 9
        assert "its own item in another view" in found.protocol


def test_only_items_with_both_views_are_asked_for(unlabelled):
    """An item that lacks one of them can be found, if it has that view."""
    found = unlabelled.evaluate(EvaluationRequest(view="color", k=(30,)))
    assert set(found.databases) == {"unseen"}
    assert [row.value for row in found.rows if row.metric == "recall"] == [1.0]


def test_labels_are_no_obstacle(groups):
    """A request measures by items despite labels, for several spaces with paired differences."""
    groups.train(Recipe(spec="cca", views=BOTH, dim=3, holdout=0.4, seed=2))
    request = EvaluationRequest(view="gist", spaces=("multi-npp", "cca", "raw"), by="items")
    found = groups.evaluate(request)
    values = {(row.space, row.metric, row.k): row.value for row in found.rows}
    assert {space for space, _, _ in values} == {"multi-npp", "cca"}
    for one in found.differences:
        own, other = values["cca", one.metric, one.k], values["multi-npp", one.metric, one.k]
        assert (one.database, one.value) == ("unseen", pytest.approx(own - other))


def test_what_cannot_be_found_is_refused_with_the_way_out(groups, unlabelled):
    """Trained items are not a database for held-out queries' own items, and within a view there is no other one."""
    with pytest.raises(InvalidInputError, match="measure unseen or mixed"):
        groups.evaluate(EvaluationRequest(view="color", by="items", databases=("trained",)))
    with pytest.raises(InvalidInputError, match="measure unseen or mixed"):
        unlabelled.evaluate(EvaluationRequest(view="color", databases=("trained",)))
    with pytest.raises(InvalidInputError, match="in other views than 'color'"):
        groups.evaluate(EvaluationRequest(view="color", by="items", targets=("color",)))
    with pytest.raises(NotReadyError, match=r"no item .* has a label.*in a space across views"):
        unlabelled.evaluate(EvaluationRequest(view="color", spaces=("raw",)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"databases": ("all",)}, "no database 'all'; there are: trained, unseen, mixed"),
        ({"databases": ("mixed", "mixed")}, "each database once"),
        ({"by": "pairs"}, "by must be labels or items, not 'pairs'"),
        ({"splits": 3}, "also use `refit=True`"),
        ({"splits": 0, "refit": True}, "splits must be at least 1"),
    ],
)
def test_requests_that_make_no_sense_are_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        EvaluationRequest(view="color", **options)


# -- several splits


def test_figures_are_means_over_splits_with_corrected_errors(groups):
    """The error is Nadeau and Bengio's: the variance over splits times 1/N + queries / trained items."""
    common = {"view": "color", "targets": BOTH, "spaces": ("multi-npp", "raw"), "k": (3,), "refit": True}
    common |= {"databases": ("trained", "mixed"), "test_size": 0.25}
    several = groups.evaluate(EvaluationRequest(**common, splits=4, seed=7))
    single = [groups.evaluate(EvaluationRequest(**common, seed=7 + number)) for number in range(4)]
    for kind in ("rows", "differences"):
        for number, one in enumerate(getattr(several, kind)):
            values = [getattr(found, kind)[number].value for found in single]
            assert one.value == pytest.approx(np.mean(values))
            assert one.standard_error == pytest.approx(np.sqrt(np.var(values, ddof=1) * (1 / 4 + 9 / 27)))
    assert "4 splits" in several.protocol
    assert "seeds 7 to 10" in several.protocol
    assert "Nadeau and Bengio" in several.protocol
    assert several.queries == round(np.mean([found.queries for found in single]))


def test_near_duplicates_across_a_split_are_told(home):
    """Queries whose row in any view nearly equals a trained item's are counted, with the remedy."""
    items = [item(*one) for one in each(8)]
    twins = [
        NewItem(f"{one.key}-twin", rows={"color": one.rows["color"] * 1.0001, "gist": row("gist", "owl", 900 + number)})
        for number, one in enumerate(items[:5])
    ]
    others = [item(group, 70) for group in GROUPS]
    with fill(home, "twins", items) as twice:
        twice.train(Recipe(spec="cca", views=BOTH, dim=2))
        twice.items.put([NewItem(one.key, rows=one.rows, labels=("cat",)) for one in twins] + others)
        found = twice.evaluate(EvaluationRequest(view="gist", targets=("color",), k=(1,)))
        assert (
            "5 of 8 queries nearly repeat a trained item" not in found.protocol
        )  # most do: that is their usual distance
        twice.items.put([item(group, number) for group in GROUPS for number in (71, 72)])
        found = twice.evaluate(EvaluationRequest(view="gist", targets=("color",), k=(1,)))
        assert "5 of 14 queries nearly repeat a trained item" in found.protocol
        assert "group items that belong together" in found.protocol
        clean = twice.evaluate(EvaluationRequest(view="gist", targets=("gist",), k=(1,)))
        assert "group items" not in clean.protocol
