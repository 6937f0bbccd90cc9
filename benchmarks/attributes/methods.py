"""Scores of attributes, classifiers of these, and how their settings are chosen within the training pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.attributes.data import TRAIN, Pictures
from engine.learners.attributes.relations import ClassPair, Relations, class_pairs, constraints, direction, usable
from engine.learners.chain import Chain
from engine.learners.metrics.lmnn import LMNN
from engine.learners.steps.normalization import Standardize
from engine.spaces.parts import own_learners

Rows = NDArray[np.float64]
Codes = NDArray[np.int64]
T = TypeVar("T")

RA, RA_ORDERED = "RA", "RA, no equal pairs"
ATTRIBUTE_METHODS: Mapping[str, Relations] = {
    RA: Relations("pairs", "pairs"),
    RA_ORDERED: Relations("pairs", "none"),
    **{f"QWSL-{p}": Relations("pairs", "quadruplets", p) for p in (1, 2, 3)},
    **{f"OQWSL-{p}": Relations("quadruplets", "quadruplets", p) for p in (1, 2, 3)},
    "OQWSL + pairs": Relations("both", "quadruplets"),
}
"""What each way of learning scores asks of the classes' order."""
CLASSIFIERS = ("Gaussian", "k-NN", "LMNN", "LMNN-G")
FEATURES = "features"
"""In place of scores: the features themselves."""
WEIGHTS = (100.0, 10.0, 1000.0)
VOTES = (1, 3, 5, 9, 15)
LMNN_GRID: Sequence[Mapping[str, Any]] = tuple(
    {"n_neighbors": neighbors, "pull": pull} for neighbors in (3, 9) for pull in (1.0, 3.0)
)
FOLDS = 3
_SHRINKAGE = 1e-3
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

    def __init__(self, pictures: Pictures, train: Codes, others: Codes, seed: int) -> None:
        self._levels, self.seed = pictures.levels, seed
        chain = Chain([*own_learners([pictures.parts]), Standardize()])
        chain.fit([pictures.rows[train]], pictures.codes[train])
        rows, queries = (chain.transform(pictures.rows[chosen], view=0) for chosen in (train, others))
        scale = float(np.sqrt(np.mean(np.square(rows - rows.mean(axis=0)).sum(axis=1))))
        self.features = Sample(rows / scale, pictures.codes[train], queries / scale, pictures.codes[others])

    @cached_property
    def _span(self) -> tuple[Rows, Rows]:
        """The training rows about their mean by their components, and the components: w lies in their span."""
        centred = self.features.rows - self.features.rows.mean(axis=0)
        left, values, components = np.linalg.svd(centred, full_matrices=False)
        return left * values, components

    def most_pairs(self, relations: Relations) -> int:
        """Returns how many pairs of classes the attribute with most of them has for such relations."""
        return max(len(self.pairs(attribute, relations)) for attribute in range(len(self._levels)))

    def pairs(self, attribute: int, relations: Relations) -> list[ClassPair]:
        """Returns the pairs of classes that give constraints, in an order drawn once for all methods.

        Those that quadruplets can be made of come first, so that all methods learn from the same as long as they can.
        """
        levels = self._levels[attribute]
        drawn = class_pairs(levels)
        np.random.default_rng([self.seed, attribute]).shuffle(drawn)
        drawn.sort(key=lambda pair: not usable(levels, pair, _ORDERABLE))
        return [pair for pair in drawn if usable(levels, pair, relations)]

    def scores(self, relations: Relations, weight: float, most_pairs: int | None = None) -> Sample:
        """Returns the scores of all pictures, learned from so many pairs of classes of each attribute, or from all."""
        rows, components = self._span
        directions = []
        for attribute, levels in enumerate(self._levels):
            pairs = self.pairs(attribute, relations)[:most_pairs]
            generator = np.random.default_rng([self.seed, attribute, 1])
            given = constraints(levels, self.features.codes, pairs, relations, TRAIN**2, generator)
            directions.append(direction(rows, given, weight))
        weights = np.array(directions) @ components
        sample = self.features
        return Sample(sample.rows @ weights.T, sample.codes, sample.queries @ weights.T, sample.query_codes)


def accuracy(predicted: Codes, codes: Codes) -> float:
    """Returns the mean over the classes of the share of their pictures that are given their class."""
    return float(np.mean([np.mean(predicted[codes == code] == code) for code in np.unique(codes)]))


def gaussian(sample: Sample) -> float:
    """Accuracy of the most likely class, each a normal distribution of its own: the paper's Gaussian models.

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
    """Accuracy of the vote of the nearest pictures."""
    model = KNeighborsClassifier(votes).fit(sample.rows, sample.codes)
    return accuracy(model.predict(sample.queries), sample.query_codes)


def under_metric(sample: Sample, **settings: Any) -> Sample:
    """Returns a sample in the space of an LMNN metric of its own."""
    learner = LMNN(n_components=min(50, sample.rows.shape[1]), **settings).set_params(max_iter=100, tol=1e-3)
    learner.fit(sample.rows, sample.codes)
    return Sample(learner.transform(sample.rows), sample.codes, learner.transform(sample.queries), sample.query_codes)


def classified(sample: Sample, folds: Sequence[Sample]) -> tuple[dict[str, float], dict[str, Any]]:
    """Returns the accuracy by classifier, each with the settings that are best on the folds, and these settings."""
    votes = _best(VOTES, lambda count: _mean(folds, lambda fold: nearest(fold, count)))
    tried = [[under_metric(fold, **settings) for fold in folds] for settings in LMNN_GRID]
    points = [(which, count) for which in range(len(LMNN_GRID)) for count in VOTES]
    which, count = _best(points, lambda point: _mean(tried[point[0]], lambda fold: nearest(fold, point[1])))
    of_gaussian = _best(range(len(LMNN_GRID)), lambda at: _mean(tried[at], gaussian))
    metrics = {at: under_metric(sample, **LMNN_GRID[at]) for at in {which, of_gaussian}}
    found = {
        "Gaussian": gaussian(sample),
        "k-NN": nearest(sample, votes),
        "LMNN": nearest(metrics[which], count),
        "LMNN-G": gaussian(metrics[of_gaussian]),
    }
    return found, {"votes": votes, "lmnn": {**LMNN_GRID[which], "votes": count}, "lmnn-g": LMNN_GRID[of_gaussian]}


def folds_of(pictures: Pictures, train: Codes, seed: int) -> list[Division]:
    """Returns the training pictures divided anew, each part judged by what the others give."""
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return [Division(pictures, train[a], train[b], seed) for a, b in splitter.split(train, pictures.codes[train])]


def best_weight(folds: Sequence[Division], relations: Relations) -> float:
    """Returns the C of the attributes whose Gaussian models are best on the folds."""
    return _best(WEIGHTS, lambda weight: _mean(folds, lambda fold: gaussian(fold.scores(relations, weight))))


def _best(values: Sequence[T], score: Callable[[T], float]) -> T:
    """Returns the first value with the highest score."""
    return max(values, key=score)


def _mean(folds: Sequence[T], score: Callable[[T], float]) -> float:
    return float(np.mean([score(fold) for fold in folds]))
