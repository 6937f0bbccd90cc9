"""Methods of the taxonomy benchmark: metrics, the choice of their settings, and their measures."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.svm import LinearSVC

from benchmarks.taxonomy.data import Sample, Trial
from crossview.engine.learners.frame.comparisons import Comparisons, MixedComparisons, Taxonomy
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.parameters import Form
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.papers.metrics.lmnn import LMNN
from crossview.engine.learners.papers.metrics.qwise import QuadrupletWise
from crossview.engine.learners.papers.samplers.likeness import draw_tuples, likeness_by_class
from crossview.engine.learners.papers.samplers.relatives import Relatives
from crossview.engine.learners.selection import search
from crossview.engine.training.measures import HIERARCHICAL_ACCURACY, LCA_LOSS, costs, knn_votes, members, ranking

NEIGHBORS = 10
PENALTIES = (1.0, 10.0, 100.0)
"""Values of the C of the linear SVM, on rows of mean squared length 1."""
DRAWN = 5_000
"""Number of quadruplets, and of pairs, that are learned from together."""
NEAREST, SVM = f"{NEIGHBORS}-NN", "SVM"
ACCURACY, HIERARCHICAL, LOSS = "accuracy", "hierarchical accuracy", "LCA loss"

Labels = NDArray[np.str_]


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        fit: the (r, d) factor of the metric, given what is learned from, its tree and the settings.
        grid: values of the settings, the likeliest first, which are chosen one after another.
        after: the method that the choice starts from: its chosen values come first, and settings that are not in the
            grid keep them.
    """

    fit: Callable[..., Rows]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    after: str = ""

    def values(self, settings: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
        """Return what is tried, given the settings that were chosen for the method before."""
        choices: dict[str, Sequence[Any]] = {
            name: (value,) for name, value in settings.items() if name not in self.grid
        }
        for name, tried in self.grid.items():
            first = settings.get(name, tried[0])
            choices[name] = (first, *(value for value in tried if value != first))
        return choices


def euclidean(sample: Sample, taxonomy: Taxonomy) -> Rows:
    """Return the metric of the rows as they are."""
    return np.eye(sample.rows.shape[1])


def lmnn(form: Form) -> Callable[..., Rows]:
    """Return what fits a metric by the classes alone."""

    def fit(sample: Sample, taxonomy: Taxonomy, **settings: Any) -> Rows:
        return LMNN(form=form).set_params(**settings).fit(sample.rows, sample.labels).weights_[0]

    return fit


def quadruplets(form: Form) -> Callable[..., Rows]:
    """Return what fits the same with the tree."""

    def fit(sample: Sample, taxonomy: Taxonomy, *, drawn: float, **settings: Any) -> Rows:
        learner = LMNN(form=form).set_params(siblings=drawn, cousins=drawn, **settings)
        return learner.fit([sample.rows], Supervision(classes=sample.labels, taxonomy=taxonomy)).weights_[0]

    return fit


def together(learner: Fantope | LMNN | QuadrupletWise) -> Callable[..., Rows]:
    """Return what fits a learner to quadruplets by the tree and as many pairs by the classes, in one problem."""

    def fit(sample: Sample, taxonomy: Taxonomy, **settings: Any) -> Rows:
        generator = np.random.default_rng(0)
        relatives = Relatives(sample.rows, sample.labels, taxonomy, NEIGHBORS)
        kinds = (relatives.same_and_siblings, relatives.siblings_and_cousins)
        items = np.concatenate([draw(DRAWN // 2, generator) for draw in kinds])
        likeness = likeness_by_class(sample.labels, sample.rows, NEIGHBORS)
        pairs = Comparisons(*draw_tuples(likeness, "pairs", DRAWN, generator))
        supervision = Supervision(comparisons=MixedComparisons((Comparisons(items), pairs)))
        fitted: Fantope | LMNN | QuadrupletWise = clone(learner).set_params(**settings).fit([sample.rows], supervision)
        return fitted.weights_[0]

    return fit


EUCLIDEAN = "Euclidean"
LMNN_DIAGONAL, LMNN_FULL = "LMNN, diagonal", "LMNN, full"
QWISE_DIAGONAL, QWISE_FULL = "Qwise, diagonal", "Qwise, full"
NO_REGULARIZER, SQUARED_NORM, TRACE, PULL = "no regulariser", "squared norm", "trace", "pull of LMNN"
_LMNN: Mapping[str, Sequence[Any]] = {"n_neighbors": (5, 10), "max_iter": (25, 10, 60)}
"""Few steps leave a metric near the Euclidean one that it starts from: how many is a weight like any other."""
_QWISE: Mapping[str, Sequence[Any]] = {"beyond": (0.0, 10.0, 1.0), "drawn": (0.0, 1.0), "max_iter": (25, 10, 60)}
METHODS: Mapping[str, Method] = {
    EUCLIDEAN: Method(euclidean),
    LMNN_DIAGONAL: Method(lmnn("diagonal"), _LMNN),
    LMNN_FULL: Method(lmnn("factor"), _LMNN),
    QWISE_DIAGONAL: Method(quadruplets("diagonal"), _QWISE, LMNN_DIAGONAL),
    QWISE_FULL: Method(quadruplets("factor"), _QWISE, LMNN_FULL),
}
_STEPS: Mapping[str, Sequence[Any]] = {"max_iter": (25, 10, 60, 200)}
REGULARIZERS: Mapping[str, Method] = {
    NO_REGULARIZER: Method(together(Fantope(mu=0.0, form="factor", start="identity")), _STEPS),
    SQUARED_NORM: Method(together(QuadrupletWise()), {"C": (1e4, 1e3, 1e5, 1e6)}),
    TRACE: Method(
        together(Fantope(mu=0.0, form="factor", start="identity")), {"gamma": (1e-3, 1e-4, 1e-2, 1e-1), **_STEPS}
    ),
    PULL: Method(together(LMNN(start="identity")), {"pull": (0.1, 0.01, 1.0), **_STEPS}),
}
"""Full metrics from the pairs and quadruplets of :func:`together`, by the regulariser of equation (8)."""
EVERY = {**METHODS, **REGULARIZERS}


def measure(method: Method, trial: Trial, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the test figures with the settings that do best in the folds of the training part, and those settings.

    ``chosen`` are those of the method that the choice starts from.
    """

    factors: dict[str, list[Rows]] = {}  # of the folds, by settings

    def score(settings: dict[str, Any]) -> float:
        fitted = [method.fit(fold, trial.taxonomy, **settings) for fold in trial.inner]
        factors[str(settings)] = fitted
        return _mean(trial, [nearest(factor, fold) for factor, fold in zip(fitted, trial.inner, strict=True)])

    began = time.perf_counter()
    values = method.values(chosen)
    settings, validated, tried = search(values, score, exhaustive=not values)
    tuned = time.perf_counter()
    factor = method.fit(trial.outer, trial.taxonomy, **settings)
    seconds = time.perf_counter() - tuned
    predictions = {NEAREST: nearest(factor, trial.outer), SVM: machine(factor, factors[str(settings)], trial)}
    figures = {name: judged(votes, trial.outer.query_labels, trial.taxonomy) for name, votes in predictions.items()}
    selection = {"settings": settings, "validated": validated, "tried": len(tried)}
    return {**figures, **selection, "fit seconds": seconds, "tuning seconds": tuned - began}


def nearest(factor: Rows, sample: Sample) -> Labels:
    """Return what the nearest rows by a metric vote for, of every query."""
    classes = np.unique(sample.labels)
    order = ranking(cdist(sample.queries @ factor.T, sample.rows @ factor.T))
    return classes[knn_votes(order, members(sample.labels[:, None].tolist(), classes.tolist()), NEIGHBORS)]


def machine(factor: Rows, of_folds: Sequence[Rows], trial: Trial) -> Labels:
    """Return what a linear SVM of rows under a metric predicts; its C is chosen in the folds, under their metrics."""

    def score(settings: dict[str, Any]) -> float:
        fitted = zip(of_folds, trial.inner, strict=True)
        return _mean(trial, [_svm(own_factor, fold, **settings) for own_factor, fold in fitted])

    best, _, _ = search({"penalty": PENALTIES}, score)
    return _svm(factor, trial.outer, **best)


def _svm(factor: Rows, sample: Sample, penalty: float) -> Labels:
    rows, queries = sample.rows @ factor.T, sample.queries @ factor.T
    scale = np.sqrt(np.mean(np.square(rows).sum(axis=1)))
    learner = LinearSVC(C=penalty, dual=False, tol=1e-3, random_state=0).fit(rows / scale, sample.labels)
    return np.asarray(learner.predict(queries / scale))


def _mean(trial: Trial, predicted: Sequence[Labels]) -> float:
    """Return the mean hierarchical accuracy of predictions for the folds."""
    pairs = zip(predicted, trial.inner, strict=True)
    return float(np.mean([judged(labels, fold.query_labels, trial.taxonomy)[HIERARCHICAL] for labels, fold in pairs]))


def judged(predicted: Labels, labels: Labels, taxonomy: Taxonomy) -> dict[str, float]:
    """Return the means over the classes of what predictions are worth: accuracy, with the tree, and its loss."""
    tables = costs(taxonomy, taxonomy.leaves)
    pairs = taxonomy.positions(labels.tolist()), taxonomy.positions(predicted.tolist())
    values = {
        ACCURACY: predicted == labels,
        HIERARCHICAL: 1 - tables[HIERARCHICAL_ACCURACY][pairs],
        LOSS: tables[LCA_LOSS][pairs],
    }
    classes = [labels == name for name in np.unique(labels)]
    return {name: float(np.mean([scores[of].mean() for of in classes])) for name, scores in values.items()}
