"""Multi-NPP: the loss, its decomposition, the sub-problems and the fitted learner."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.npp.forces import Repelled, Repulsion, pull, sampled
from crossview.engine.learners.papers.npp.multi_npp import Hybrid, MultiNPP
from crossview.engine.learners.papers.npp.neighborhoods import nearest
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.learners.papers.npp.similarity import Complement, Listed, SameClass
from crossview.engine.learners.papers.npp.subproblem import Regularizer, Subproblem
from crossview.engine.learners.selection import distances
from crossview.engine.learners.subspace.pca import PCA

SHAPES = st.floats(1.05, 20)
LAMBDAS = st.floats(0.01, 10)
DISTANCES = st.floats(0, 50)


def two_views(n=60, widths=(6, 9), classes=3, noise=0.5, seed=0):
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    views = [generator.normal(size=(classes, d))[labels] + noise * generator.normal(size=(n, d)) for d in widths]
    return views, labels


def repelled(labels):
    return Repelled([Complement(SameClass(labels))])


def loss(first, second, labels, scisd):
    (repulsion,) = Repulsion(repelled(labels), second, scisd).losses(first, [1.0])
    return pull([SameClass(labels)], [second]).value(first) + repulsion


def subproblem(rows, other, labels, scisd, penalty, start):
    return Subproblem(rows, pull([SameClass(labels)], [other]), other, repelled(labels), scisd, penalty, start)


def lost(scisd, distance):
    return scisd.loss(np.array([distance]), np.ones(1))


def convex(scisd, distance):
    value, springs = scisd.convex(np.array([distance**2]), np.ones(1))
    return value, springs[0]


@given(SHAPES, LAMBDAS, DISTANCES)
def test_loss_is_its_decomposition(a, lam, distance):
    """SCISD is the concave part plus the convex part, and falls from a lam^2 / 2 at 0 to 0 at a lam."""
    scisd, scale = Scisd(a, lam), 1 + distance**2 + a * lam**2
    parts = scisd.concave(1.0, distance**2) + convex(scisd, distance)[0]
    assert lost(scisd, distance) == pytest.approx(parts, abs=1e-7 * scale * a / (a - 1))
    expected = (scisd.reach - distance) ** 2 / (2 * (a - 1)) if distance < scisd.reach else 0.0
    expected = scisd.concave(1.0, distance**2) if distance < lam else expected
    assert lost(scisd, distance) == pytest.approx(expected, abs=1e-7 * scale * a / (a - 1))
    assert lost(scisd, 0.0) == pytest.approx(a * lam**2 / 2)
    assert lost(scisd, scisd.reach) == pytest.approx(0, abs=1e-12 * scale)
    assert lost(scisd, scisd.reach + 1 + distance) == 0


@given(SHAPES, LAMBDAS, DISTANCES, st.floats(0.1, 10))
def test_loss_of_distances_times_a_factor(a, lam, distance, factor):
    """A factor of all distances gives the loss of the multiplied ones, and weights multiply the cost of pairs."""
    scisd, scale = Scisd(a, lam), 1 + (factor * distance) ** 2 + a * lam**2
    found = scisd.loss(np.array([distance, 0.0]), np.array([2.0, 0.0]), factor)
    assert found == pytest.approx(2 * lost(scisd, factor * distance), abs=1e-9 * scale * a / (a - 1))


@given(SHAPES, LAMBDAS, st.lists(DISTANCES, min_size=3, max_size=3, unique=True))
def test_parts_curve_the_right_way(a, lam, three):
    """The convex part lies below its chords and never falls."""
    scisd = Scisd(a, lam)
    low, middle, high = np.sort(np.array(three))
    share = (high - middle) / (high - low)
    scale = 1 + high**2 + a * lam**2
    values = [convex(scisd, distance)[0] for distance in (low, middle, high)]
    assert share * values[0] + (1 - share) * values[2] - values[1] >= -1e-9 * scale
    assert (np.diff(values) >= -1e-9 * scale).all()


@given(SHAPES, LAMBDAS, DISTANCES)
def test_springs_are_slope_over_distance(a, lam, distance):
    """The weight of a spring times the distance is the slope of the convex part; it is between 0 and 1."""
    scisd, d, step = Scisd(a, lam), distance + 0.5, 1e-5
    slope = (convex(scisd, d + step)[0] - convex(scisd, d - step)[0]) / (2 * step)
    bend = a / (a - 1) * step
    spring = convex(scisd, d)[1]
    assert spring * d == pytest.approx(slope, abs=1e-5 * (1 + d) + 2 * bend)
    assert -1e-9 <= spring <= 1 + 1e-9


def test_loss_is_the_double_sum():
    """The vectorised loss equals equation (3) summed pair by pair."""
    (x, y), labels = two_views(n=12)
    first, second = x[:, :3], y[:, :3]
    scisd, same = Scisd(3.7, 0.5), (labels[:, None] == labels).sum()
    total = 0.0
    for i in range(12):
        for j in range(12):
            d = np.linalg.norm(first[i] - second[j])
            if labels[i] == labels[j]:
                total += 0.5 * d**2 / same
            else:
                total += 0.5 * lost(scisd, d) / (144 - same)
    assert loss(first, second, labels, scisd) == pytest.approx(total)


@pytest.mark.parametrize("view", [0, 1])
def test_bound_touches_and_stays_above(view):
    """The convex bound equals the objective at its start, has its gradient there, and is above it elsewhere."""
    views, labels = two_views()
    generator = np.random.default_rng(1)
    scisd, penalty = Scisd(3.7, 0.7), Regularizer("l2", 0.01)
    other = views[1 - view] @ generator.normal(size=(4, views[1 - view].shape[1])).T / 3
    start = generator.normal(size=(4, views[view].shape[1])) / 3
    problem = subproblem(views[view], other, labels, scisd, penalty, start)

    def objective(W):
        return loss(views[view] @ W.T, other, labels, scisd) + penalty.value(W)

    value, slope = problem.bound(start)
    assert value == pytest.approx(objective(start))
    for _ in range(20):
        step = generator.normal(size=start.shape)
        assert problem.bound(start + step)[0] >= objective(start + step) - 1e-12
        tiny = 1e-6 * step
        finite = (objective(start + tiny) - objective(start - tiny)) / 2
        assert float((slope * tiny).sum()) == pytest.approx(finite, rel=1e-5, abs=1e-12)


def test_bound_gradient_away_from_its_start():
    """The bound's gradient matches finite differences everywhere."""
    views, labels = two_views()
    generator = np.random.default_rng(2)
    start, W = (generator.normal(size=(4, 6)) / 2 for _ in range(2))
    other = views[1] @ generator.normal(size=(4, 9)).T / 3
    problem = subproblem(views[0], other, labels, Scisd(3.7, 0.5), Regularizer("l2", 0.1), start)
    _, slope = problem.bound(W)
    for _ in range(20):
        tiny = 1e-6 * generator.normal(size=W.shape)
        finite = (problem.bound(W + tiny)[0] - problem.bound(W - tiny)[0]) / 2
        assert float((slope * tiny).sum()) == pytest.approx(finite, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("pairs", ["all", "sampled"])
@pytest.mark.parametrize("init", ["neighbors", "labels", "cca", "pca", "random"])
def test_objective_never_rises(penalty, pairs, init):
    """Every alternation lowers the objective, and the first ones do so from every start."""
    views, labels = two_views()
    learner = MultiNPP(5, penalty=penalty, init=init, eta=1e-3, gamma=1e-3, random_state=0).set_params(
        pairs=pairs, max_iter=8
    )
    history = learner.fit(views, labels).objective_
    assert len(history) == learner.n_iter_ + 1
    assert (np.diff(history) <= 1e-12).all()
    assert history[-1] < history[0]


@pytest.mark.parametrize("counts", [(20, 20, 20), (40, 12, 8)])
def test_start_from_labels_is_ridge_regression(counts):
    """init="labels" embeds as scikit-learn's ridge regression on one-hot classes, up to a rotation and one scale."""
    labels = np.repeat(np.arange(3), counts)
    views = [rows + labels[:, None] for rows in two_views(60)[0]]
    embeddings = (
        MultiNPP(3, init="labels", ridge=0.2, random_state=0).set_params(max_iter=0).fit(views, labels).transform(views)
    )
    expected = []
    for rows in views:
        scaled = (rows - rows.mean(axis=0)) / np.sqrt(((rows - rows.mean(axis=0)) ** 2).mean())
        expected.append(Ridge(alpha=0.2 * len(rows)).fit(scaled, np.eye(3)[labels]).predict(scaled))
    for v, w in ((0, 0), (0, 1), (1, 1)):
        squared, wanted = distances(embeddings[v], embeddings[w]), distances(expected[v], expected[w])
        np.testing.assert_allclose(squared / squared.max(), wanted / wanted.max(), atol=1e-6)


@pytest.mark.parametrize("size", [2, 50])
def test_start_from_groups_needs_no_classes(size):
    """If items are similar for other reasons, init="labels" starts from the groups that these make."""
    views, labels = two_views()
    learner = MultiNPP(size, init="labels", random_state=0).set_params(similar="knn", max_iter=0).fit(views)
    first, second = learner.transform(views)
    assert first.shape == (60, size)
    squared = distances(first, second)
    assert squared[labels[:, None] == labels].mean() < 0.7 * squared[labels[:, None] != labels].mean()


@pytest.mark.parametrize("frozen", [0, 1])
@pytest.mark.parametrize("nearest", [None, 4])
def test_hybrid_keeps_the_frozen_space(frozen, nearest):
    """The frozen view's embeddings are its principal components up to one scale, and the objective never rises."""
    views, labels = two_views()
    learner = Hybrid(4, frozen=frozen).set_params(nearest=nearest, max_iter=6).fit(views, labels)
    assert (np.diff(learner.objective_) <= 1e-12).all()
    expected = PCA(4).fit(views).transform(views)[frozen]
    embedded = learner.transform(views)[frozen]
    scale = np.linalg.norm(embedded) / np.linalg.norm(expected)
    np.testing.assert_allclose(embedded, scale * expected, atol=1e-9)
    exact = Hybrid(4, frozen=frozen, spread=None).fit(views, labels).transform(views)[frozen]
    np.testing.assert_allclose(exact, expected, atol=1e-9)


@pytest.mark.parametrize("pairs", ["all", "sampled"])
def test_summed_over_pairs_of_rows_as_they_are(pairs):
    """With every pair of weight 1 and unscaled rows, the objective is equation (2), and alternations lower it."""
    views, labels = two_views(n=12)
    views = [rows + 3 for rows in views]
    given_ = [np.random.default_rng(1).normal(size=(3, rows.shape[1])) / 9 for rows in views]
    learner = MultiNPP(3, init=given_, eta=0.1, gamma=0.2, random_state=0)
    learner.set_params(weighting="sum", scaled=False, pairs=pairs, max_iter=5).fit(views, labels)
    first, second = (rows @ W.T for rows, W in zip(views, given_, strict=True))
    same, apart = labels[:, None] == labels, np.linalg.norm(first[:, None] - second, axis=2)
    drawn = ~same if pairs == "all" else sampled(SameClass(labels), np.random.RandomState(0)).block(slice(0, 12))
    expected = 0.5 * (apart[same] ** 2).sum() + 0.5 * sum(lost(Scisd(3.7, 1 / 3.7), d) for d in apart[drawn])
    expected += 0.1 * (given_[0] ** 2).sum() + 0.2 * (given_[1] ** 2).sum()
    assert learner.objective_[0] == pytest.approx(expected)
    assert (np.diff(learner.objective_) <= 1e-9).all()
    assert learner.objective_[-1] < expected
    assert not any(mean.any() for mean in learner.means_)


def test_sums_are_means_of_less_regularisation():
    """With as many dissimilar pairs as similar ones, a sum over n pairs is n times the mean with 1/n of the penalty."""
    views, labels = two_views(n=30)
    count, how = SameClass(labels).size, {"pairs": "sampled", "max_iter": 3, "inner_iter": 1000, "tol": 1e-9}
    mean = MultiNPP(4, eta=1e-3, gamma=1e-2, random_state=0).set_params(**how).fit(views, labels)
    whole = MultiNPP(4, eta=1e-3 * count, gamma=1e-2 * count, random_state=0)
    whole.set_params(**how, weighting="sum").fit(views, labels)
    np.testing.assert_allclose(whole.objective_, count * mean.objective_, rtol=1e-4)


def test_what_moves_to_a_frozen_view_may_start_at_random():
    """init="random" starts the view that is learned at random, a hundredth as wide as the PCA of the frozen one: one
    optimisation adds to its start, so that a wide start would outweigh what is learned."""
    views, labels = two_views()
    learner = MultiNPP(4, frozen=1, init="random", random_state=0).set_params(max_iter=0, scaled=False)
    weights = learner.fit(views, labels).weights_
    again = learner.set_params(random_state=1).fit(views, labels).weights_
    components = PCA(4).fit(views).weights_[1]
    np.testing.assert_allclose(weights[1], components, atol=1e-9)
    np.testing.assert_allclose(again[1], components, atol=1e-9)
    assert abs(weights[0] - again[0]).max() > 0.01
    moving, frozen = (np.sqrt(np.square(rows @ W.T).mean()) for rows, W in zip(views, weights, strict=True))
    assert moving == pytest.approx(0.01 * frozen)
    learned = learner.set_params(max_iter=6).fit(views, labels)
    assert (np.diff(learned.objective_) <= 1e-12).all()
    np.testing.assert_allclose(learned.weights_[1], components, atol=1e-9)


def test_dissimilar_items_are_pushed_apart():
    """After training, an item's nearest in the other view is of its class, and dissimilar ones are about 1 away."""
    views, labels = two_views(noise=0.3)
    first, second = MultiNPP(5, random_state=0).fit(views, labels).transform(views)
    distances = np.linalg.norm(first[:, None] - second[None], axis=2)
    same = labels[:, None] == labels[None, :]
    assert (labels[distances.argmin(axis=1)] == labels).mean() > 0.95
    assert distances[same].mean() < 0.5 * distances[~same].mean()
    assert distances[~same].mean() > 0.7


def test_l1_makes_projections_sparse():
    """The l1 penalty sets most entries to exactly zero if only one column is informative."""
    views, labels = two_views(n=90, noise=1.0)
    sparse = MultiNPP(2, penalty="l1", eta=0.05, gamma=0.05, random_state=0).set_params(max_iter=10, inner_iter=100)
    weights = sparse.fit(views, labels).weights_
    assert (weights[0] == 0).mean() > 0.3


def test_neighbors_and_labels_say_the_same():
    """Labels, lists of neighbors and a sparse matrix that mean the same pairs give the same projections."""
    views, labels = two_views(n=30)
    matrix = labels[:, None] == labels[None, :]
    by_labels = MultiNPP(4, random_state=0).fit(views, labels)
    for neighbors in (sp.csr_array(matrix), [np.flatnonzero(row) for row in matrix]):
        given_ = MultiNPP(4, random_state=0).fit(views, Supervision(neighbors=neighbors))
        np.testing.assert_allclose(given_.weights_[0], by_labels.weights_[0], atol=1e-8)


def test_neighbors_need_not_be_symmetric():
    """The second view sees a one-sided neighbourhood transposed: the objective still never rises."""
    views, _ = two_views(n=30)
    neighbors = [[i, (i + 1) % 30, (i + 2) % 30] for i in range(30)]
    learner = MultiNPP(4, random_state=0).set_params(max_iter=6).fit(views, Supervision(neighbors=neighbors))
    assert (np.diff(learner.objective_) <= 1e-12).all()


def test_blocks_do_not_matter(monkeypatch):
    """Pairs read in small blocks give the same projections as pairs read at once."""
    views, labels = two_views(n=30)
    whole = MultiNPP(4, random_state=0).set_params(nearest=3).fit(views, labels).weights_
    monkeypatch.setattr("crossview.engine.learners.papers.npp.forces._PAIRS_AT_ONCE", 100)
    monkeypatch.setattr("crossview.engine.learners.papers.npp.forces._ROWS_AT_ONCE", 4)
    monkeypatch.setattr("crossview.engine.learners.papers.npp.forces.BLOCK", 100)
    parts = MultiNPP(4, random_state=0).set_params(nearest=3).fit(views, labels).weights_
    np.testing.assert_allclose(parts[0], whole[0], atol=1e-7)


def test_many_pairs_are_of_float32_numbers(monkeypatch):
    """Single precision, which many pairs have, gives the same objective and projections except for rounding."""
    views, labels = two_views()
    exact = MultiNPP(4, random_state=0).fit(views, labels)
    monkeypatch.setattr("crossview.engine.learners.papers.npp.forces._MANY", 100)
    single = MultiNPP(4, random_state=0).fit(views, labels)
    np.testing.assert_allclose(single.objective_, exact.objective_, rtol=1e-4)
    assert (np.diff(single.objective_) <= 0).all()
    for found, expected in zip(single.transform(views), exact.transform(views), strict=True):
        assert np.linalg.norm(found - expected) < 1e-2 * np.linalg.norm(expected)


def test_sampled_pairs():
    """As many dissimilar pairs are drawn as similar ones exist; none is similar and none is drawn twice."""
    labels = np.arange(40) % 8
    same = SameClass(labels)
    drawn = sampled(same, np.random.RandomState(0))
    assert drawn.size == same.size == 40 * 5
    (weights,) = Repelled([drawn]).over(lambda rows, weights: weights)
    assert not weights[same.block(slice(0, 40))].any()
    assert weights.sum() == pytest.approx(1)


def test_nearest_of_a_relation():
    """Each row keeps its nearest rows of its own class, itself first."""
    rows = np.array([[0.0], [1.0], [1.1], [5.0], [1.05]])
    kept = nearest(SameClass(np.array([0, 0, 0, 0, 1])), rows, np.ones(5, bool), 2)
    expected = [[0, 1], [1, 2], [1, 2], [2, 3], [4]]
    assert isinstance(kept, Listed)
    assert [np.flatnonzero(row).tolist() for row in kept.block(slice(0, 5))] == expected


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"a": 1.0}, "a must be a number above 1"),
        ({"lam": 0.0}, "lam must be a number above 0"),
        ({"eta": -1.0}, "eta must be a number from 0"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"penalty": "l3"}, "penalty must be one of l2, l1, not 'l3'"),
        ({"pairs": "some"}, "pairs must be one of"),
        ({"weighting": "most"}, "weighting must be one of"),
        ({"init": "zero"}, "init must be one of"),
        ({"init": [np.zeros((2, 6)), np.zeros((2, 6))]}, "one .* array per view"),
        ({"frozen": 2}, "frozen=2"),
        ({"spread": 0.0}, "spread must be"),
        ({"nearest": 0}, "nearest must be"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_bad_parameters_are_named(params, message):
    """A parameter out of range is a ValueError that names it."""
    views, labels = two_views()
    with pytest.raises(ValueError, match=message):
        MultiNPP().set_params(**{"n_components": 2, **params}).fit(views, labels)


def test_useless_pairs_are_refused():
    """One class only, no labels at all, and neighbors that do not fit are ValueErrors."""
    views, labels = two_views()
    with pytest.raises(ValueError, match="no dissimilar pairs"):
        MultiNPP().fit(views, np.zeros_like(labels))
    with pytest.raises(ValueError, match="requires y"):
        MultiNPP().fit(views)
    with pytest.raises(ValueError, match="neighbors has 2 rows"):
        MultiNPP().fit(views, Supervision(neighbors=[[0], [1]]))
    with pytest.raises(ValueError, match=r"row numbers in 0\.\.59"):
        MultiNPP().fit(views, Supervision(neighbors=[[60]] * 60))
    with pytest.raises(ValueError, match="frozen must be a view"):
        Hybrid(frozen=None).fit(views, labels)
