"""Chains of learners, and choosing their settings."""

import json

import numpy as np
import pytest

from crossview.engine.catalog.state import pack, unpack
from crossview.engine.learners import selection
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.kernels import KernelMap
from crossview.engine.learners.registry import from_state, parse_chain
from crossview.engine.learners.selection import ClassValidation, distances, search, select
from crossview.engine.learners.subspace.cca import CanonicalCorrelation


def two_views(n=60, widths=(6, 9), seed=0):
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return [np.exp(generator.normal(size=(3, d)))[labels] * generator.gamma(5, size=(n, d)) for d in widths], labels


def test_chain_is_its_steps_in_turn():
    views, labels = two_views()
    chain = parse_chain("l1,sqrt@1,cca:3", {"power": 0.5}).fit(views, labels)
    expected = views
    for step in chain.steps:
        expected = step.transform(expected)
    for view in (0, 1):
        np.testing.assert_array_equal(chain.transform(views[view], view=view), expected[view])
    assert [step.name for step in chain.steps] == ["l1", "sqrt", "cca"]
    assert (chain.steps[2].n_components, chain.steps[2].power, chain.steps[1].views) == (3, 0.5, [1])


def test_chain_knows_what_its_learners_need():
    """Only a shared space with nothing but row-wise steps after it can be searched across views."""
    assert parse_chain("l1,cca").capabilities.cross_view
    assert parse_chain("multi-npp,l2").capabilities.cross_view
    assert not parse_chain("cca,standardize").capabilities.cross_view
    assert not parse_chain("sqrt,l2").capabilities.cross_view
    assert parse_chain("sqrt,multi-npp,l2").needs_labels
    assert not parse_chain("sqrt,cca").needs_labels
    assert (parse_chain("pca,cca").capabilities.most_views, parse_chain("pca,cca").capabilities.least_views) == (
        None,
        2,
    )
    assert parse_chain("pca,pls").capabilities.most_views == 2
    assert parse_chain("pca").capabilities.most_views is None


def test_what_a_chain_states_of_its_embeddings_is_the_last_steps():
    """This holds also after a fit, after steps are replaced, and without steps, when rows stay."""
    views, labels = two_views()
    chain = parse_chain("pca:3,attributes").fit(views, labels)
    last = chain.steps[-1]
    assert tuple(chain.names_) == tuple(last.names_)
    np.testing.assert_array_equal(chain.place_of_class("1"), last.place_of_class("1"))
    assert chain.described_classes() == last.described_classes() == ()
    chain.set_params(steps=chain.steps[:-1])
    with pytest.raises(ValueError, match="has no places of classes"):
        chain.place_of_class("1")
    empty = Chain()
    assert (empty.n_metrics_, list(empty.metric_names_), list(empty.names_)) == (1, [], [])
    assert empty.metric_of_class(["a", "b"]).tolist() == [0, 0]
    assert Chain.capabilities == empty.capabilities


def test_settings_reach_the_learner():
    """Settings are for the last learner that is not a mere step."""
    assert parse_chain("l1,cca,l2", {"power": 3.0}).steps[1].power == 3.0
    assert parse_chain("l1,sqrt", {"views": [0]}).steps[1].views == [0]


@pytest.mark.parametrize("spec", ["l1,sqrt@1,multi-npp:4,l2", "pca:0.9,cca:2", "standardize"])
def test_chain_state_round_trip(spec):
    """A chain comes back from its state bit for bit."""
    views, labels = two_views()
    chain = parse_chain(spec).fit(views, labels)
    again = from_state(unpack(pack(chain.to_state())))
    for view in (0, 1):
        np.testing.assert_array_equal(again.transform(views[view], view=view), chain.transform(views[view], view=view))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("l1,nope", "no learner 'nope'"),
        ("", "no learner ''"),
        ("l1:3", "takes no value"),
        ("cca:many", "n_components must be a whole number, not 'many'"),
        ("cca@0", "'cca' has no parameter views; it has: n_components, power, shrinkage"),
    ],
)
def test_bad_specs_are_named(spec, message):
    """A spec that cannot be read is a ValueError that names the part."""
    with pytest.raises(ValueError, match=message):
        parse_chain(spec)


def accuracy(squared, query_labels, labels):
    return float((labels[squared.argmin(axis=1)] == query_labels).mean())


def both_ways(views, labels, **how):
    return ClassValidation(views, labels, measure=accuracy, crossings=[(0, 1), (1, 0)], **how)


def test_selection_finds_the_better_settings():
    """The chosen settings have the best score of all tried, and trying one parameter after another tries fewer."""
    views, labels = two_views()
    validation = both_ways(views, labels)
    grid = {"spec": ["pca", "l1,cca"], "n_components": [1, 4], "view_slices": [None]}
    with pytest.raises(ValueError, match="no parameter view_slices"):
        select(grid, validation)
    grid = {"spec": ["l1,cca", "l1,sqrt,cca"], "n_components": [1, 4], "power": [0.0, 1.0]}
    whole = select(grid, validation, fixed={"shrinkage": 0.2})
    assert len(whole.tried) == 8
    assert whole.score == max(one["score"] for one in whole.tried)
    assert whole.settings["shrinkage"] == 0.2
    assert both_ways(views, labels).score(whole.spec, whole.settings) == whole.score
    quick = select(grid, validation, fixed={"shrinkage": 0.2}, exhaustive=False)
    assert len(quick.tried) == 4
    assert quick.score <= whole.score
    json.dumps(whole.tried)


def test_settings_that_cannot_be_used_are_passed_over():
    """A candidate without a chain or a fit has no score, and a reason; the others are still compared."""
    views, labels = two_views()
    found = select({"spec": ["cca"], "power": [0.0, "much", 1.0]}, both_ways(views, labels))
    assert [one["score"] is None for one in found.tried] == [False, True, False]
    assert "power" in found.tried[1]["error"]
    assert found.settings["power"] != "much"


def test_search_reports_its_progress():
    """The report comes before the first candidate and after each, with the number of all."""
    seen = []
    best, score, tried = search({"a": [1, 2], "b": [1, 2, 3]}, lambda point: -point["a"] - point["b"], exhaustive=False,
                         progress=lambda done, total, one: seen.append((done, total, one)))  # fmt: skip
    assert (best, score) == ({"a": 1, "b": 1}, -2)
    assert seen == [(0, 4, None), *((number, 4, one) for number, one in enumerate(tried, 1))]


@pytest.mark.parametrize("memory", [selection.CACHED_BYTES, 0])
def test_selection_computes_nothing_twice(monkeypatch, memory):
    """Kernels are mapped once per fold for all settings, memory allowing; all directions are measured at once."""
    monkeypatch.setattr(selection, "CACHED_BYTES", memory)
    views, labels = two_views()
    grid = {"spec": ["l1,kernel:rbf,cca,l2", "l1,kernel:chi2,cca"], "power": [0.0, 1.0, 2.0]}
    fitted = []

    def counted(learner):
        fit = learner._fit
        monkeypatch.setattr(learner, "_fit", lambda self, *rows: (fitted.append(self.name), fit(self, *rows))[1])

    counted(KernelMap)
    counted(CanonicalCorrelation)
    validation = both_ways(views, labels)
    there = select(grid, validation, crossings=[(0, 1)])
    assert (fitted.count("kernel"), fitted.count("cca")) == ((2 if memory else 6) * 3, 6 * 3)
    count = len(fitted)
    back = select(grid, validation, crossings=[(1, 0)])
    assert len(fitted) == count
    for found, crossing in ((there, (0, 1)), (back, (1, 0))):
        alone = ClassValidation(views, labels, measure=accuracy, crossings=[crossing])
        for one in found.tried:
            assert alone.score(one["spec"], one["settings"]) == one["score"]


def test_held_out_rows_are_not_trained_on():
    """Cross-validation measures rows that the chain was not fitted on: on noise it finds chance."""
    generator = np.random.default_rng(0)
    views, labels = [generator.normal(size=(90, 40)) for _ in range(2)], np.arange(90) % 3
    assert both_ways(views, labels).score("multi-npp", {"random_state": 0}, [(0, 1)]) < 0.6


def test_selection_needs_chains():
    """A grid without chains is refused."""
    with pytest.raises(ValueError, match='"spec"'):
        select({"power": [1.0]}, both_ways(*two_views()))


def test_distances_are_squared_euclidean():
    """Distances are never negative and agree with their definition."""
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(5, 3)), generator.normal(size=(7, 3))
    expected = ((first[:, None] - second[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances(first, second), expected, atol=1e-12)
    assert (distances(first, first) >= 0).all()


@pytest.mark.parametrize("unseen", [False, True])
def test_the_database_of_cross_validation_is_seen_or_unseen(unseen):
    """Each of 4 folds of 40 rows has 10 queries; the database is the other 30, or with ``unseen`` the same 10."""
    generator = np.random.default_rng(0)
    views, labels = [generator.random((40, 3)), generator.random((40, 4))], np.repeat([0, 1], 20)
    shapes = []

    def measure(squared, query_labels, item_labels):
        shapes.append((squared.shape, len(query_labels), len(item_labels)))
        return 1.0

    validation = ClassValidation(views, labels, measure=measure, crossings=[(0, 1)], folds=4, unseen=unseen)
    validation.score("cca:2", {})
    items = 10 if unseen else 30
    assert shapes == [((10, items), 10, items)] * 4
