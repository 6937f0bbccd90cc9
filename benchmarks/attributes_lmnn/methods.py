"""Methods of the attribute benchmark: classifiers of attribute scores, and the choice of their settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks import peers
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes
from crossview.engine.learners.papers.metrics.lmnn import LMNN
from crossview.engine.learners.selection import search
from crossview.engine.spaces.pipeline import Part, own_learners

FOLDS, REPEATS = 5, 2
CLASSES = 8

Labels = NDArray[np.int64]
Orderings = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Sample:
    """Rows to learn from and rows to judge by, both as scores or as features, with the classes of both."""

    rows: Rows
    labels: Labels
    queries: Rows
    query_labels: Labels


class Images:
    """Training images, test images, and their attribute scores for any C, learned from the training ones alone.

    Given the (n, d) features and (n,) classes of all images, how much of each attribute a class has, the parts of the
    features that are joined, the positions of the training images, and a seed that shuffles the folds.
    """

    def __init__(
        self, features: Rows, labels: Labels, orderings: Orderings, parts: Sequence[Part], train: Labels, seed: int
    ) -> None:
        self._features, self._labels, self._orderings, self._parts = features, labels, orderings, parts
        self._cut = train, np.setdiff1d(np.arange(len(labels)), train)
        splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=seed)
        self._folds = [(train[a], train[b]) for a, b in splitter.split(train, labels[train])]
        self._cached: dict[tuple[bytes, float | None], Sample] = {}

    def test(self, weight: float | None) -> Sample:
        """Return the training and the test images; their features where there is no C, standardised."""
        return self._sample(*self._cut, weight)

    def folds(self, weight: float | None) -> Iterator[Sample]:
        """Yield the folds of the training images, each with scores that the held-out images had no part in."""
        for train, validation in self._folds:
            yield self._sample(train, validation, weight)

    def _sample(self, train: Labels, test: Labels, weight: float | None) -> Sample:
        key = train.tobytes(), weight
        if key not in self._cached:
            labels = self._labels[train]
            attributes = [] if weight is None else [RelativeAttributes(weight, self._orderings)]
            chain = Chain([*own_learners([self._parts]), Standardize(), *attributes])
            chain.fit([self._features[train]], labels)
            rows, queries = (chain.transform(self._features[places], view=0) for places in (train, test))
            self._cached[key] = Sample(rows, labels, queries, self._labels[test])
        return self._cached[key]


Predict = Callable[..., Labels]


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        predict: the classes of a part's queries, given the settings but C.
        grid: values to try by name, the likeliest first; "C" is that of the attributes, absent for raw features.
        after: the method whose chosen settings stay fixed; None: none.
    """

    predict: Predict
    grid: Mapping[str, Sequence[Any]]
    after: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)


def accuracy(predicted: Labels, labels: Labels) -> float:
    """Return the mean over the classes of the share of their images that are given their class."""
    return float(np.mean([np.mean(predicted[labels == label] == label) for label in np.unique(labels)]))


def choose(method: Method, images: Images, fixed: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """Return the settings that cross-validation among the training images likes best, one after another."""

    def score(point: dict[str, Any]) -> float:
        settings = {**method.fixed, **fixed, **point}
        weight = settings.pop("C", None)
        accuracies = [
            accuracy(method.predict(sample, **settings), sample.query_labels) for sample in images.folds(weight)
        ]
        return float(np.mean(accuracies))

    best, its_score, _ = search(method.grid, score, exhaustive=False)
    return {**fixed, **best}, its_score


def measure(method: Method, images: Images, settings: Mapping[str, Any]) -> float:
    """Return the test accuracy with the settings."""
    arguments = {**method.fixed, **settings}
    sample = images.test(arguments.pop("C", None))
    return accuracy(method.predict(sample, **arguments), sample.query_labels)


def classified(make: Callable[..., Any]) -> Predict:
    """Return what predicts by a scikit-learn classifier, which is made with the settings."""
    return lambda sample, **settings: make(**settings).fit(sample.rows, sample.labels).predict(sample.queries)


_PRIORS = np.full(CLASSES, 1 / CLASSES)
gaussian = classified(lambda: QuadraticDiscriminantAnalysis(priors=_PRIORS, tol=1e-12))
"""The most likely class, each a normal distribution of its own: the paper's baseline."""
shrunk = classified(lambda: QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto", priors=_PRIORS))
"""The same with covariances shrunk towards round ones (Ledoit and Wolf): 30 images say little of 66 numbers."""
pooled = classified(lambda: LinearDiscriminantAnalysis(priors=_PRIORS))
"""The most likely class, all normal with one covariance."""
machine = classified(lambda penalty: SVC(kernel="linear", C=penalty))
nearest = classified(lambda votes: KNeighborsClassifier(votes))
"""The vote of the nearest images."""


def metric(sample: Sample, votes: int, **settings: Any) -> Labels:
    """Return the vote of the nearest images under the metric of LMNN."""
    learner = LMNN().set_params(**{**LEARNER, **settings}).fit(sample.rows, sample.labels)
    embedded = replace(sample, rows=learner.transform(sample.rows), queries=learner.transform(sample.queries))
    return nearest(embedded, votes=votes)


def peer(sample: Sample, votes: int, n_neighbors: int, pull: float) -> Labels:
    """Return the same by metric-learn, from the same rows in the same units."""
    scale = np.sqrt(np.mean(np.square(sample.rows - sample.rows.mean(axis=0)).sum(axis=1)))
    rows, queries = sample.rows / scale, sample.queries / scale
    # It halves steps that are too long, but lengthens short ones by a hundredth only.
    options = {"n_neighbors": n_neighbors, "regularization": pull / (1 + pull), "learn_rate": 1e-4, "max_iter": 1000}
    components = peers.fit("LMNN", rows, options, labels=sample.labels).components
    return nearest(replace(sample, rows=rows @ components.T, queries=queries @ components.T), votes=votes)


LEARNER: Mapping[str, Any] = {"n_components": 11, "max_iter": 300, "tol": 3e-3}
_C = (100.0, 200.0, 50.0, 400.0)
_THREE: Mapping[str, Any] = {"votes": 3}

GAUSSIAN, POOLED, SVM = "attributes, Gaussian", "attributes, one covariance", "features, linear SVM"
SHRUNK = "attributes, Gaussian, shrunk"
EUCLIDEAN, PEER = "attributes, Euclidean", "LMNN, metric-learn"
PLAIN, TRACE, FANTOPE = "LMNN", "LMNN + trace", "LMNN + Fantope"
METHODS: Mapping[str, Method] = {
    SVM: Method(machine, {"penalty": (0.01, 0.001, 0.1)}),
    GAUSSIAN: Method(gaussian, {"C": _C}),
    SHRUNK: Method(shrunk, {"C": _C}),
    POOLED: Method(pooled, {"C": _C}),
    EUCLIDEAN: Method(nearest, {"C": _C, "votes": (3, 1, 5, 9)}),
    PLAIN: Method(metric, {"C": _C[:3], "n_neighbors": (9, 3), "pull": (1.0, 3.0)}, fixed=_THREE),
    TRACE: Method(metric, {"gamma": (1e-4, 3e-4, 1e-3)}, after=PLAIN, fixed=_THREE),
    FANTOPE: Method(metric, {"n_components": (8, 7, 9), "mu": (0.1, 0.03, 0.3)}, after=PLAIN, fixed=_THREE),
    PEER: Method(peer, {}, after=PLAIN, fixed=_THREE),
}
