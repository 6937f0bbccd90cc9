"""Rankings are those of plain NumPy, however many distances are computed at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each, fill, item
from scipy.stats import skew

from crossview.engine.training import measures
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe, Tune

COUNT, KS = 80, (1, 4)
LABELS = ("a", "b", "c", "d")
AT_ONCE = pytest.mark.parametrize("at_once", [1, 100, 1 << 22])
RANDOM = np.random.default_rng(3)
ROWS = RANDOM.integers(0, 2, (COUNT, 4)).astype(np.float32)
"""Sixteen different rows, so that most distances are equal to others."""
TAGS = [tuple(LABELS[i] for i in sorted({*RANDOM.integers(0, 4, 1 + number % 2)})) for number in range(COUNT)]


def ranked(query: int, database: np.ndarray) -> np.ndarray:
    """Return the items of a database, in their drawn order, by their distance to an item, without itself."""
    order = np.random.default_rng(0).permutation(database)
    distances = np.linalg.norm(ROWS[order] - ROWS[query], axis=1)
    nearest = order[np.lexsort((np.arange(len(order)), distances))]
    return nearest[nearest != query]


def vote(nearest: np.ndarray) -> str:
    """Return the label that most of the items have, and of several the one that comes first."""
    votes = [label for one in nearest for label in TAGS[one]]
    return min(dict.fromkeys(votes), key=lambda label: -votes.count(label))


def figures(queries: np.ndarray, database: np.ndarray) -> dict[tuple[str, int | None], float]:
    """Return the expected figures, query by query."""
    found: dict[tuple[str, int | None], list[float]] = {("map", None): []}
    hits = [one for query in queries for one in ranked(query, database)[:10]]
    counts = np.array([hits.count(one) for one in database])
    for query in queries:
        nearest = ranked(query, database)
        relevant = np.array([bool({*TAGS[query]} & {*TAGS[one]}) for one in nearest])
        places = np.flatnonzero(relevant) + 1
        found["map", None].append(float(np.mean(np.arange(1, len(places) + 1) / places)))
        for k in KS:
            found.setdefault(("precision", k), []).append(float(relevant[:k].mean()))
            found.setdefault(("accuracy", k), []).append(float(vote(nearest[:k]) in TAGS[query]))
    means = {key: float(np.mean(values)) for key, values in found.items()}
    covered = len(set(hits)) / min(len(database), len(hits))
    return means | {("coverage", 10): covered, ("hubness", 10): float(skew(counts))}


@AT_ONCE
def test_figures_are_those_of_plain_numpy(home, monkeypatch, at_once):
    """Items have several labels, and most distances are equal: these rank in an order drawn once."""
    monkeypatch.setattr(measures, "DISTANCES_AT_ONCE", at_once)
    with home.create("tied", ["v=vectors:dim=4"]) as tied:
        tied.items.put([NewItem(f"{i:02}", rows={"v": ROWS[i]}, labels=TAGS[i]) for i in range(COUNT)])
        found = tied.evaluate(EvaluationRequest(view="v", spaces=("raw",), test_size=0.5, k=KS))
    held_out = np.sort(np.random.default_rng(0).permutation(COUNT)[: COUNT // 2])
    sides = {"trained": np.setdiff1d(np.arange(COUNT), held_out), "unseen": held_out}
    for database, items in sides.items():
        expected = figures(held_out, items)
        measured = {(row.metric, row.k): row.value for row in found.rows if row.database == database}
        assert measured == {key: pytest.approx(value) for key, value in expected.items()}


@AT_ONCE
def test_codes_and_their_order_by_float_vectors_are_the_same_however_many_are_compared_at_once(
    home, monkeypatch, at_once
):
    """This holds also if items are found by their own other view, and if learners are tuned."""
    with fill(home, "rows", [item(*one) for one in each(12)]) as made:
        tune = Tune({"n_components": (1, 2)}, folds=2)
        made.train(Recipe(spec="pca", views=("color",), holdout=0.4, tune=tune))
        made.train(Recipe(spec="cca,itq:4", views=("color", "gist"), dim=4, holdout=0.4, rerank=2), space="codes")
        requests = [
            EvaluationRequest(view="color", spaces=("codes",), k=KS, databases=("trained", "mixed")),
            EvaluationRequest(view="color", spaces=("codes",), by="items"),
        ]
        expected = [made.evaluate(request).rows for request in requests]
        tuned = made.spaces.get("pca").tuning
        monkeypatch.setattr(measures, "DISTANCES_AT_ONCE", at_once)
        assert [made.evaluate(request).rows for request in requests] == expected
        made.train(Recipe(spec="pca", views=("color",), holdout=0.4, tune=tune), space="again")
        assert made.spaces.get("again").tuning == tuned


COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=40).map(np.array)


@given(COUNTS)
def test_coverage_is_a_share_that_few_queries_can_reach(counts):
    """It is 1 if no item is a hit twice or every item is a hit; NaN without hits."""
    hits = counts.sum()
    assert np.isnan(measures.coverage(counts)) if not hits else 0 < measures.coverage(counts) <= 1
    assert measures.coverage(np.append(np.minimum(counts, 1), 1)) == 1
    assert measures.coverage(counts + 1) == 1


@given(COUNTS)
def test_hubness_is_the_skewness_of_the_counts(counts):
    """Its unit and the items' order do not matter; a hub raises it, and equal counts have none."""
    assert measures.hubness(np.full_like(counts, 3)) == 0
    found = measures.hubness(counts)
    assert found == (pytest.approx(float(skew(counts)), abs=1e-9) if np.ptp(counts) else 0)
    assert measures.hubness(7 * counts[::-1]) == pytest.approx(found, abs=1e-9)
    assert measures.hubness(np.array([0, 0, 0, 9])) > measures.hubness(np.array([0, 0, 4, 5]))


def test_progress_counts_the_queries(home):
    """It counts ranking by ranking, up to all of them."""
    seen = []
    with fill(home, "rows", [item(*one) for one in each(10)]) as made:
        request = EvaluationRequest(view="color", spaces=("raw",), k=(1,))
        made.evaluate(request, progress=lambda *step: seen.append(step))
    assert seen == [(f"raw: color to color, {database}", 6, 6) for database in ("trained", "unseen")]
