"""Scores of attributes, classifiers of these, and how their settings are chosen within the training pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.attributes.data import TRAIN, Pictures
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.attributes import relative
from crossview.engine.learners.papers.attributes.class_relations import (
    ClassPair,
    Relations,
    class_pairs,
    constraints,
    direction,
    usable,
)
from crossview.engine.learners.papers.metrics.lmnn import LMNN
from crossview.engine.spaces.pipeline import own_learners

Codes = NDArray[np.int64]
T = TypeVar("T")

RA, RA_ORDERED, RA_SQUARED = "RA", "RA, no equal pairs", "RA, squared hinge"
ATTRIBUTE_METHODS: Mapping[str, Relations | None] = {
    RA_SQUARED: None,
    RA: Relations("pairs", "pairs"),
    RA_ORDERED: Relations("pairs", "none"),
    **{f"QWSL-{p}": Relations("pairs", "quadruplets", p) for p in (1, 2, 3)},
    **{f"OQWSL-{p}": Relations("quadruplets", "quadruplets", p) for p in (1, 2, 3)},
    "OQWSL + pairs": Relations("both", "quadruplets"),
}
"""Relations of the classes that each way of learning scores uses; None: the learner's default."""
CLASSIFIERS = ("Gaussian", "k-NN", "LMNN", "LMNN-G")
FEATURES = "features"
"""Instead of scores: the features themselves."""
WEIGHTS = (100.0, 30.0, 300.0, 10.0, 1000.0)
VOTES = (1, 3, 5, 9, 15)
LMNN_GRID: Sequence[Mapping[str, Any]] = tuple(
    {"n_neighbors": neighbors, "pull": pull} for neighbors in (9, 3) for pull in (1.0, 3.0)
)
FEATURES_GRID = tuple({**settings, "n_components": count} for count in (50, 20, 8) for settings in LMNN_GRID[::2])
FOLDS = 3
_SHRINKAGE = 1e-3
_TOLERANCE = 1e-4
_ORDERABLE = Relations("quadruplets", "quadruplets")


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to learn from and rows to judge by, with the classes of both."""

    rows: Rows
    codes: Codes
    queries: Rows
    query_codes: Codes


class Division:
    """One division of the pictures, and the scores that its training pictures give.

    Args:
        pictures: all of them.
        train: the positions of the training pictures.
        others: of those to judge by.
        seed: draws which pairs of classes come first, and the rows of quadruplets.
    """

    def __init__(self, pictures: Pictures, train: Codes, test: Codes, seed: int) -> None:
        self._levels, self.seed = pictures.levels, seed
        chain = Chain([*own_learners([pictures.parts]), Standardize()])
        chain.fit([pictures.rows[train]], pictures.codes[train])
        rows, queries = (chain.transform(pictures.rows[places], view=0) for places in (train, test))
        scale = float(np.sqrt(np.mean(np.square(rows - rows.mean(axis=0)).sum(axis=1))))
        self.features = Sample(rows / scale, pictures.codes[train], queries / scale, pictures.codes[test])

    @cached_property
    def _span(self) -> tuple[Rows, Rows]:
        """The training rows about their mean by their components, and the components: w lies in their span."""
        centred = self.features.rows - self.features.rows.mean(axis=0)
        left, values, components = np.linalg.svd(centred, full_matrices=False)
        return left * values, components

    def most_pairs(self, relations: Relations) -> int:
        """Return how many pairs of classes the attribute with most of them has for such relations."""
        return max(len(self.pairs(attribute, relations)) for attribute in range(len(self._levels)))

    def pairs(self, attribute: int, relations: Relations) -> list[ClassPair]:
        """Return the pairs of classes that give constraints, in an order drawn once for all methods.

        Those that quadruplets can be made of come first, so that all methods learn from the same as long as they can.
        """
        levels = self._levels[attribute]
        drawn = class_pairs(levels)
        np.random.default_rng([self.seed, attribute]).shuffle(drawn)
        drawn.sort(key=lambda pair: not usable(levels, pair, _ORDERABLE))
        return [pair for pair in drawn if usable(levels, pair, relations)]

    def scores(self, relations: Relations | None, weight: float, most_pairs: int | None = None) -> Sample:
        """Return the scores of all pictures, learned from so many pairs of classes of each attribute, or from all."""
        rows, components = self._span
        directions = []
        for attribute, levels in enumerate(self._levels):
            if relations is None:
                directions.append(relative.direction(rows, levels[self.features.codes], weight, _TOLERANCE))
                continue
            pairs = self.pairs(attribute, relations)[:most_pairs]
            generator = np.random.default_rng([self.seed, attribute, 1])
            comparisons = constraints(levels, self.features.codes, pairs, relations, TRAIN**2, generator)
            directions.append(direction(rows, comparisons, weight))
        weights = np.array(directions) @ components
        sample = self.features
        return Sample(sample.rows @ weights.T, sample.codes, sample.queries @ weights.T, sample.query_codes)


def accuracy(predicted: Codes, codes: Codes) -> float:
    """Return the mean over the classes of the share of their pictures that are given their class."""
    return float(np.mean([np.mean(predicted[codes == code] == code) for code in np.unique(codes)]))


def gaussian(sample: Sample) -> float:
    """Return the accuracy of the most likely class, each a normal distribution of its own: the paper's Gaussian models.

    Covariances are shrunk by a thousandth: directions that few pairs of classes give lie in the span of the means.
    """
    classes = len(np.unique(sample.codes))
    model = QuadraticDiscriminantAnalysis(
        solver="eigen", shrinkage=_SHRINKAGE, tol=1e-10, priors=np.full(classes, 1 / classes)
    )
    deviations = sample.rows.std(axis=0)
    deviations[deviations == 0] = 1.0  # of an attribute that one pair of equal classes gives
    return accuracy(
        model.fit(sample.rows / deviations, sample.codes).predict(sample.queries / deviations), sample.query_codes
    )


def nearest(sample: Sample, votes: int) -> float:
    """Return the accuracy of the vote of the nearest pictures."""
    model = KNeighborsClassifier(votes).fit(sample.rows, sample.codes)
    return accuracy(model.predict(sample.queries), sample.query_codes)


def under_metric(sample: Sample, **settings: Any) -> Sample:
    """Return a sample in the space of an LMNN metric of its own."""
    settings = {"n_components": sample.rows.shape[1], "max_iter": 100, "tol": 1e-3, **settings}
    learner = LMNN().set_params(**settings)
    learner.fit(sample.rows, sample.codes)
    return Sample(learner.transform(sample.rows), sample.codes, learner.transform(sample.queries), sample.query_codes)


class Scores:
    """The scores of a split and of the folds of its training pictures, for any C, as they are or under a metric.

    Args:
        division: of the split.
        folds: divisions of its training pictures.
        method: one of ``ATTRIBUTE_METHODS``, or ``FEATURES``, which know no C.
    """

    def __init__(self, division: Division, folds: Sequence[Division], method: str) -> None:
        self._division, self._folds, self._method = division, folds, method
        self._known: dict[tuple[Division, float, int | None], Sample] = {}
        self.weights: Sequence[float] = WEIGHTS if method != FEATURES else WEIGHTS[:1]
        self.metrics: Sequence[Mapping[str, Any]] = LMNN_GRID if method != FEATURES else FEATURES_GRID

    def of_split(self, weight: float, metric: int | None) -> Sample:
        """Return the split's for a C, under the metric of that number if there is one."""
        return self._of(self._division, weight, metric)

    def of_folds(self, weight: float, metric: int | None) -> list[Sample]:
        """Return the same of every fold."""
        return [self._of(fold, weight, metric) for fold in self._folds]

    def _of(self, division: Division, weight: float, metric: int | None) -> Sample:
        key = division, weight, metric
        if key not in self._known:
            if metric is not None:
                self._known[key] = under_metric(self._of(division, weight, None), **self.metrics[metric])
            elif self._method == FEATURES:
                self._known[key] = division.features
            else:
                self._known[key] = division.scores(ATTRIBUTE_METHODS[self._method], weight)
        return self._known[key]


def classified(scores: Scores, classifier: str) -> tuple[float, dict[str, Any]]:
    """Return the accuracy of one of ``CLASSIFIERS`` with the settings that are best on the folds, and these.

    C is chosen first, under the first metric where there is one, and then the metric.
    """
    has_metric, votes = "LMNN" in classifier, VOTES if classifier in ("k-NN", "LMNN") else (0,)

    def judged(sample: Sample, count: int) -> float:
        return nearest(sample, count) if count else gaussian(sample)

    def best(weights: Sequence[float], metrics: Sequence[int | None]) -> tuple[float, int | None, int]:
        points = list(product(weights, metrics, votes))
        return max(
            points, key=lambda point: _mean(scores.of_folds(point[0], point[1]), lambda fold: judged(fold, point[2]))
        )

    weight, metric, count = best(scores.weights, [0 if has_metric else None])
    if has_metric:
        weight, metric, count = best([weight], range(len(scores.metrics)))
    settings = {"C": weight, "votes": count, **({} if metric is None else scores.metrics[metric])}
    return judged(scores.of_split(weight, metric), count), settings


def folds_of(pictures: Pictures, train: Codes, seed: int) -> list[Division]:
    """Return new divisions of the training pictures; the other parts judge each part."""
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return [Division(pictures, train[a], train[b], seed) for a, b in splitter.split(train, pictures.codes[train])]


def _mean(folds: Sequence[T], score: Callable[[T], float]) -> float:
    return float(np.mean([score(fold) for fold in folds]))
