"""Classes in the space of attribute scores: their places, and the likeliest class of a row."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

Values = NDArray[np.float64]
_RIDGE = 1e-3  # share of the mean variance added to a covariance, which equally ordered attributes make singular


def place_between(amounts: ArrayLike, seen: Values, means: Values) -> Values:
    """Return the expected mean scores of a described class, (m,).

    Parikh and Grauman (ICCV 2011), section 3.2: if some seen classes have the same amount of an attribute, their mean;
    between two seen classes, the middle; beyond all, as far from the last as seen classes are from each other on
    average.

    Args:
        amounts: (m,) amounts of each attribute of the class; only the order among the classes matters.
        seen: (K, m) amounts of the seen classes.
        means: (K, m) mean scores of the seen classes.
    """
    return _by_attribute(_place, amounts, seen, means)


def spread_between(amounts: ArrayLike, seen: Values, means: Values) -> Values:
    """Return the variance, (m,), of the place from :func:`place_between`.

    It is that of a uniform distribution: over a mean step between levels for the amount of a seen class, and over the
    gap and such a step between two seen classes. Beyond all classes it is the step squared, the variance of an
    exponential distribution.

    Args:
        amounts, seen, means: as in ``place_between``.
    """
    return _by_attribute(_spread, amounts, seen, means)


def log_densities(scores: Values, mean: Values, covariance: Values) -> Values:
    """Return the (n,) logarithms of a normal density at (n, m) scores, up to a constant, with a ridge on the
    covariance."""
    width = len(mean)
    wide = covariance + _RIDGE * np.trace(covariance) / width * np.eye(width)
    gaps = scores - mean
    lengths = np.einsum("ij,ij->i", gaps, np.linalg.solve(wide, gaps.T).T)
    return np.asarray(-(lengths + np.linalg.slogdet(wide)[1]) / 2)


def _by_attribute(of_one: Callable[..., float], amounts: ArrayLike, seen: Values, means: Values) -> Values:
    columns = zip(np.asarray(amounts, dtype=np.float64), seen.T, means.T, strict=True)
    return np.array([of_one(amount, *_levels(of_seen, of_means)) for amount, of_seen, of_means in columns])


def _levels(seen: Values, means: Values) -> tuple[Values, Values]:
    """Return the levels of an attribute in the seen classes, and the mean score at each level."""
    levels = np.unique(seen)
    return levels, np.array([means[seen == level].mean() for level in levels])


def _place(amount: float, levels: Values, at_level: Values) -> float:
    above = int(np.searchsorted(levels, amount))
    if above < len(levels) and levels[above] == amount:
        return float(at_level[above])
    if 0 < above < len(levels):
        return float(at_level[above - 1 : above + 1].mean())
    step = np.diff(at_level).mean() if len(levels) > 1 else 0.0
    return float(at_level[-1] + step if above else at_level[0] - step)


def _spread(amount: float, levels: Values, at_level: Values) -> float:
    step = float(np.square(np.abs(np.diff(at_level)).mean())) if len(levels) > 1 else 0.0
    above = int(np.searchsorted(levels, amount))
    if above < len(levels) and levels[above] == amount:
        return step / 12
    if 0 < above < len(levels):
        return float(np.square(at_level[above] - at_level[above - 1]) + step) / 12
    return step


class ClassesByScores:
    """The trait of learners that recognise classes by scores: classes with rows, and classes that only orderings
    describe.

    It precedes :class:`~engine.learners.frame.base.MultiViewLearner` among the bases.

    Attributes:
        orderings: {class: m numbers} of all classes; None: only classes with rows.
        classes_: (K,) the classes with rows.
        orderings_: (K, m) amounts of each attribute of these classes.
        places_: list of (K, m) arrays, one per view: mean scores of these classes, NaN for a class without rows of the
            view.
        covariances_: list of (m, m) arrays, one per view: covariance of the scores within a class.
        log_odds_: list of floats, one per view: log odds of described classes.
    """

    orderings: Mapping[Any, ArrayLike] | None
    classes_: NDArray[Any]
    orderings_: NDArray[np.float64]
    places_: list[NDArray[np.float64]]
    covariances_: list[NDArray[np.float64]]
    log_odds_: Sequence[float] = ()

    transform: Callable[..., Any]
    """The learner's method that returns the scores, (n, m), of rows of a view."""

    def place_of_class(self, name: str, view: int = 0) -> NDArray[np.float64]:
        """Return the mean scores of a class in a view, (m,), or the expected ones of a class that only orderings
        describe.

        Raises:
            ValueError: for a class without rows and orderings; the message lists the known classes.
        """
        numbers, places = self._numbers(), self._seen(view)
        if name not in numbers:
            raise ValueError(f"there is no class {name!r}; there are: {', '.join(numbers)}")
        return places[name] if name in places else place_between(numbers[name], *self._levels_and_places(view))

    def classify(self, rows: ArrayLike, view: int = 0, log_odds: float | None = None) -> NDArray[np.str_]:
        """Return the likeliest classes of rows, (n,), among the classes with rows and those that only orderings
        describe.

        The scores of a class are normally distributed. Classes with rows share a covariance. For a described class the
        covariance is unknown and its place is uncertain: its variances are the sums of those of the other classes and
        those of the place (:func:`~engine.learners.papers.attributes.described.spread_between`).

        Args:
            rows: (n, d_view).
            view: the view of the rows.
            log_odds: number added to the logarithm of described classes' densities. Scores learned from the other
                classes favour these classes (Chao, Changpinyo, Gong and Sha, "An empirical study and analysis of
                generalized zero-shot learning", ECCV 2016). None: ``log_odds_``.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for NaN or a wrong width, or an unknown view.
        """
        densities = self._with_odds(rows, view, log_odds)
        return np.asarray(np.array(list(densities))[np.argmax(list(densities.values()), axis=0)])

    def class_probabilities(self, rows: ArrayLike, view: int = 0) -> dict[str, NDArray[np.float64]]:
        """Return the shares, (n,) by class, of the densities that ``classify`` compares; they add up to 1.

        Args, raises: as ``classify``.
        """
        densities = self._with_odds(rows, view, None)
        shares = softmax(np.array(list(densities.values())), axis=0)
        return dict(zip(densities, shares, strict=True))

    def described_classes(self, view: int = 0) -> tuple[str, ...]:
        """Return the names of the classes that only orderings describe in a view."""
        places = self._seen(view)
        return tuple(name for name in self._numbers() if name not in places)

    def class_densities(self, rows: ArrayLike, view: int = 0) -> dict[str, NDArray[np.float64]]:
        """Return the logarithms of the densities, (n,) by class, that ``classify`` compares, up to a constant.

        Args, raises: as ``classify``.
        """
        scores, numbers = np.asarray(self.transform(rows, view=view), dtype=np.float64), self._numbers()
        within, places, levels = self.covariances_[view], self._seen(view), self._levels_and_places(view)
        densities = {}
        # An attribute that is equal in all seen classes gives no information about a described class.
        of = np.ones(len(within), bool) if numbers.keys() <= places.keys() else np.ptp(levels[0], axis=0) > 0
        for name, amounts in numbers.items():
            if name in places:
                mean, covariance = places[name], within
            else:
                mean = place_between(amounts, *levels)
                covariance = np.diag(within.diagonal() + spread_between(amounts, *levels))
            densities[name] = log_densities(scores[:, of], mean[of], covariance[np.ix_(of, of)])
        return densities

    def _with_odds(self, rows: ArrayLike, view: int, log_odds: float | None) -> dict[str, NDArray[np.float64]]:
        """Return the logarithms of the densities by class; those of described classes contain the odds."""
        if log_odds is None:  # states of earlier versions have none
            log_odds = float(self.log_odds_[view]) if len(self.log_odds_) > view else 0.0
        places, densities = self._seen(view), self.class_densities(rows, view)
        return {name: density + (0.0 if name in places else log_odds) for name, density in densities.items()}

    def _numbers(self) -> dict[str, ArrayLike]:
        """Return the amounts of each attribute of all classes, by name."""
        numbers: dict[str, ArrayLike] = dict(zip(map(str, self.classes_), self.orderings_, strict=True))
        return numbers | {str(name): own for name, own in (self.orderings or {}).items() if str(name) not in numbers}

    def _seen(self, view: int) -> dict[str, NDArray[np.float64]]:
        """Return the mean scores of the classes that have rows of a view, by name."""
        places = zip(map(str, self.classes_), self.places_[view], strict=True)
        return {name: place for name, place in places if np.isfinite(place).all()}

    def _levels_and_places(self, view: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the amounts of each attribute of the classes with rows of a view, and the mean scores of these
        classes."""
        mask = np.isfinite(self.places_[view]).all(axis=1)
        return self.orderings_[mask], self.places_[view][mask]
