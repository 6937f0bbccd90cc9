"""Thresholds on distances: fitted to similar and dissimilar pairs, and tested on pairs that did not set them."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.isotonic import IsotonicRegression

from crossview.engine.learners.solvers.threshold import calibrate

_FOLDS = 5
Values = NDArray[np.float64]
Kinds = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cut:
    """A threshold and probabilities around it; both kinds of pairs have the same total weight."""

    distance: float
    distances: Values
    """(m,) distances, ascending."""
    probabilities: Values
    """(m,) probabilities of being the same, never growing; at least .5 up to the threshold, at most .5 beyond."""


def fitted(distances: Values, similar: Kinds) -> Cut:
    """Return the threshold with the least mean error of both kinds, and the best fitting probabilities.

    The probabilities are the isotonic regression of the kinds on distances (Zadrozny and Elkan, KDD 2002), linear
    between its steps and never certain, by the rule of succession. They are at least 1/2 exactly up to a threshold of
    the least error. On two sets of photographs their log loss is .47 to .61, also from only 40 pairs; a logistic curve
    over distances has .62 to .66.

    Raises ValueError for distances, (n,), that are not finite, or pairs of only one kind.
    """
    cut = calibrate(distances, similar, "balanced_accuracy")
    weights, least = np.where(similar, 0.5 / similar.mean(), 0.5 / (~similar).mean()), 1 / (len(similar) + 2)
    regression = IsotonicRegression(y_min=least, y_max=1 - least, increasing=False)
    regression.fit(distances, similar.astype(np.float64), sample_weight=weights)
    steps, found = regression.X_thresholds_, regression.y_thresholds_
    below, above = steps < cut, steps > cut
    return Cut(
        cut,
        np.concatenate([steps[below], [cut], steps[above]]),
        np.concatenate([np.maximum(found[below], 0.5), [0.5], np.minimum(found[above], 0.5)]),
    )


def wrong_by_others(distances: Values, similar: Kinds, items: NDArray[np.int64]) -> Values:
    """Return whether the threshold of pairs that share no item with a pair gives the pair the wrong kind, (n,).

    ``items``, (n, 2), are the items of the pairs. NaN if those other pairs are all of one kind.
    """
    folds = _folds(items)
    wrong = np.full(len(distances), np.nan)
    for parts in combinations_with_replacement(range(_FOLDS), 2):
        tested = (np.sort(folds, axis=1) == parts).all(axis=1)
        others = ~np.isin(folds, parts).any(axis=1)
        if tested.any() and similar[others].any() and not similar[others].all():
            cut = calibrate(distances[others], similar[others], "balanced_accuracy")
            wrong[tested] = (distances[tested] <= cut) != similar[tested]
    return wrong


def error_rate(wrong: Values, similar: Kinds) -> tuple[float | None, float | None]:
    """Return the mean of both kinds' shares of wrong pairs, (n,), without NaN, and its standard error.

    The standard error assumes independent pairs. Either is None if too few pairs are known.
    """
    shares = [wrong[(similar == kind) & ~np.isnan(wrong)] for kind in (True, False)]
    if not all(len(share) for share in shares):
        return None, None
    rate = float(np.mean([share.mean() for share in shares]))
    if min(map(len, shares)) < 2:
        return rate, None
    return rate, float(np.sqrt(sum(share.var(ddof=1) / len(share) for share in shares)) / 2)


def _folds(items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the folds of the items of pairs, (n, 2): a pair has one fold if connected groups of pairs are small."""
    names, places = np.unique(items, return_inverse=True)
    places, count = places.reshape(items.shape), len(names)
    graph = coo_array((np.ones(len(places), bool), (places[:, 0], places[:, 1])), shape=(count, count))
    parts, part_of = connected_components(graph, directed=False)
    sizes = np.bincount(part_of[places[:, 0]], minlength=parts)
    generator = np.random.default_rng(0)
    if sizes.max() * _FOLDS > len(items):
        return (generator.permutation(count) % _FOLDS)[places]
    fold_of, loads = np.empty(parts, np.int64), np.zeros(_FOLDS)
    shuffled = generator.permutation(parts)
    for part in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[part] = loads.argmin()
        loads[fold_of[part]] += sizes[part]
    return fold_of[part_of[places]]
