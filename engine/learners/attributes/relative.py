"""Relative attributes: one linear score per attribute that orders the classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator, cg

from engine.learners.attributes import relations as of_classes
from engine.learners.attributes.described import log_densities, place_between, spread_between
from engine.learners.attributes.ordering import LocalLoss, Ordering
from engine.learners.attributes.relations import Relations
from engine.learners.base import LinearLearner, Rows, SeparateLearner
from engine.learners.cancellation import checkpoint
from engine.learners.capabilities import Capabilities
from engine.learners.settings import Arrays, Positive, Seed, Tolerance, group
from engine.learners.subspace.span import Span
from engine.learners.supervision import Supervision, rows_of_classes, shared_classes

_ORDERINGS = "an object of classes, each with its list of numbers"
_MOST_OF_PAIR = 1_000  # pairs of rows that two classes give at most
_STEPS = 100
_SMALLEST = 1e-9  # a share of a Newton step that changes nothing any more
_ENOUGH = 1e-4  # of the fall that the slope promises


@dataclass(eq=False, repr=False)
class RelativeAttributes(LinearLearner, SeparateLearner):
    """Embeds a row as its scores of attributes, each learned from an order of the classes; two views' are comparable.

    Parikh and Grauman, "Relative Attributes" (ICCV 2011): for every attribute the w that minimises |w|^2 / 2 plus C
    times the mean, over all pairs of rows, of [1 - w (x_i - x_j)]_+^2 where the class of i has more of it than that of
    j, and of (w (x_i - x_j))^2 where both have as much. It is the paper's objective, (1), with the mean in place of the
    sums, so that C means the same for any number of rows. Rows alone in their class, as unlabelled items are, are left
    out. Rows are centred and divided by their root mean square length first.

    With other ``relations`` than pairs: the mean Huber loss of constraints on pairs and quadruplets of rows (Law, Thome
    and Cord, IJCV 2017, equations 14, 25 and 26), of at most 1,000 pairs of rows of every two classes.

    Args:
        C: weight of the pairs.
        orderings: {class: m numbers}, how much of each of m attributes a class has; only their order matters, and
            equal ones mean as much. Classes are matched by their text; those without rows are described by their
            numbers alone. None: every class is an attribute of its own,
            which it has and the others have not.
        names: of the attributes, in their order; None: the classes' where each is an attribute, else they have none.
        relations: what the order of two classes asks of their rows' scores; None: ``Relations()``, pairs alone.
        tol: a solution's gradient is at most this share of that at zero, where pairs alone are asked for.
        random_state: draws the rows of quadruplets.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes.
        orderings_: (K, m) their numbers.
        places_: list of (K, m) arrays, one per view: the classes' mean scores, NaN where none of a class has the view.
        covariances_: list of (m, m) arrays, one per view: of the scores within a class.
        names_: (m,) the names of the attributes, or none.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes of two rows, a
            class without an ordering, orderings of different lengths or with NaN, or an attribute that no two classes
            differ in.
    """

    name = "attributes"
    capabilities = Capabilities(cross_view=True, needs_labels=True, adds_views=True, main_parameter="C")

    groups: ClassVar[Mapping[str, Any]] = {"relations": Relations()}

    C: Positive = 10.0
    orderings: Annotated[Mapping[Any, ArrayLike], Arrays(1, _ORDERINGS)] | None = None
    names: Sequence[str] | None = None
    relations: Relations | None = None
    tol: Tolerance = 1e-4
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        self.classes_ = shared_classes(given.classes)
        self.orderings_ = self._checked_orderings()
        self.names_ = self._checked_names()
        super()._fit(views, given)

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        rows, codes = rows_of_classes(rows, np.asarray(labels), self.classes_)
        mean = rows.mean(axis=0)
        span = Span.of(rows - mean)
        scale = float(np.sqrt(np.mean(np.square(span.rows).sum(axis=1)))) or 1.0
        directions = [
            self._direction(span.rows / scale, codes, attribute, view) for attribute in range(self.orderings_.shape[1])
        ]
        scores = span.rows @ np.array(directions).T / scale
        places, present = np.full(self.orderings_.shape, np.nan), np.unique(codes)
        for code in present:
            places[code] = scores[codes == code].mean(axis=0)
        gaps = scores - places[codes]
        return {
            "weights_": span.lifted(np.array(directions)) / scale,
            "means_": mean,
            "places_": places,
            "covariances_": gaps.T @ gaps / max(len(gaps) - len(present), 1),
        }

    def _direction(self, rows: Rows, codes: NDArray[np.intp], attribute: int, view: int) -> NDArray[np.float64]:
        """The direction of one attribute, (d,)."""
        values, relations = self.orderings_[:, attribute], cast(Relations, group(self, "relations"))
        if (relations.ordered, relations.equal) == ("pairs", "pairs"):
            return direction(rows, values[codes], self.C, self.tol)
        present, own = np.unique(codes, return_inverse=True)
        levels, generator = values[present], np.random.default_rng([self.random_state, view, attribute])
        pairs = of_classes.class_pairs(levels)
        try:
            given = of_classes.constraints(levels, own, pairs, relations, _MOST_OF_PAIR, generator)
        except ValueError as error:
            raise ValueError(f"attribute {self.names_[attribute] if self.names_ else attribute!r}: {error}") from error
        return of_classes.direction(rows, given, self.C)

    def place_of_class(self, name: str, view: int = 0) -> NDArray[np.float64]:
        """Returns the mean scores of a class in a view, (m,), those expected of one that orderings alone describe.

        Raises:
            ValueError: for a class that neither rows nor orderings are of; it names those that some are of.
        """
        numbers, seen = self._numbers(), self._seen(view)
        if name not in numbers:
            raise ValueError(f"there is no class {name!r}; there are: {', '.join(numbers)}")
        return seen[name] if name in seen else place_between(numbers[name], *self._levels_and_places(view))

    def classify(self, rows: ArrayLike, view: int = 0, log_odds: float = 0.0) -> NDArray[np.str_]:
        """Returns the likeliest classes of rows, (n,), among those with rows and those that orderings alone describe.

        A class's scores are normal. Those of classes with rows share a covariance. Of a described one nothing is known
        of how scores vary together, and its place is uncertain: the variances are those of the others, and of the place
        (:func:`~engine.learners.attributes.described.spread_between`).

        Args:
            rows: (n, d_view).
            view: which view they are of.
            log_odds: added to the logarithm of described classes' densities. The scores were learned to tell the
                others, which is why these are found too often (Chao, Changpinyo, Gong and Sha, "An empirical study and
                analysis of generalized zero-shot learning", ECCV 2016). Choose it by holding classes out.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for NaN or a wrong width, or an unknown view.
        """
        seen, densities = self._seen(view), self.class_densities(rows, view)
        found = [density + (0.0 if name in seen else log_odds) for name, density in densities.items()]
        return np.asarray(np.array(list(densities))[np.argmax(found, axis=0)])

    def class_densities(self, rows: ArrayLike, view: int = 0) -> dict[str, NDArray[np.float64]]:
        """Returns the logarithms of the densities, (n,) by class, that ``classify`` compares, up to a constant.

        Args, raises: as ``classify``.
        """
        scores = np.asarray(self.transform(rows, view=view), dtype=np.float64)
        within, seen, known = self.covariances_[view], self._seen(view), self._levels_and_places(view)
        found = {}
        for name, amounts in self._numbers().items():
            if name in seen:
                found[name] = log_densities(scores, seen[name], within)
            else:
                uncertain = np.diag(within.diagonal() + spread_between(amounts, *known))
                found[name] = log_densities(scores, place_between(amounts, *known), uncertain)
        return found

    def _numbers(self) -> dict[str, ArrayLike]:
        """How much of each attribute all classes have, by name."""
        numbers: dict[str, ArrayLike] = dict(zip(map(str, self.classes_), self.orderings_, strict=True))
        return numbers | {str(one): own for one, own in (self.orderings or {}).items() if str(one) not in numbers}

    def _seen(self, view: int) -> dict[str, NDArray[np.float64]]:
        """The mean scores of classes that have rows of a view, by name."""
        places = zip(map(str, self.classes_), self.places_[view], strict=True)
        return {name: place for name, place in places if np.isfinite(place).all()}

    def _levels_and_places(self, view: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How much of each attribute classes that have rows of a view have, and their mean scores."""
        known = np.isfinite(self.places_[view]).all(axis=1)
        return self.orderings_[known], self.places_[view][known]

    def _checked_names(self) -> tuple[str, ...]:
        count = self.orderings_.shape[1]
        if self.names is None:
            return tuple(map(str, self.classes_)) if self.orderings is None else ()
        if len(set(self.names)) < len(self.names) or len(self.names) != count:
            raise ValueError(f"names must be {count} different ones, one per attribute, not {list(self.names)}")
        return tuple(self.names)

    def _checked_orderings(self) -> NDArray[np.float64]:
        if self.orderings is None:
            return np.eye(len(self.classes_))
        known = {str(name): np.asarray(values, dtype=np.float64) for name, values in self.orderings.items()}
        missing = [str(name) for name in self.classes_ if str(name) not in known]
        if missing:
            raise ValueError(f"orderings have no numbers for: {', '.join(missing)}; give them for every class")
        found = [known[str(name)] for name in self.classes_]
        if any(values.shape != found[0].shape or values.ndim != 1 or not values.size for values in known.values()):
            raise ValueError("orderings must have equally many numbers for every class, one per attribute")
        table = np.array(found)
        if not np.isfinite(table).all():
            raise ValueError("orderings must be finite, without NaN")
        same = np.flatnonzero(np.ptp(table, axis=0) == 0)
        if len(same):
            raise ValueError(f"all classes have as much of attributes {same.tolist()}, so there is nothing to learn")
        return table


def direction(rows: Rows, amounts: NDArray[np.float64], weight: float, tol: float) -> NDArray[np.float64]:
    """Returns the direction of one attribute, (d,), by Newton's method with conjugate gradients.

    Args:
        rows: (n, d).
        amounts: (n,) how much of the attribute each row has; only the order matters.
        weight: C.
        tol: when to stop, as a share of the gradient at zero.
    """
    ordering = Ordering(amounts)
    share = weight / ordering.count
    found = np.zeros(rows.shape[1])
    local = ordering.around(rows @ found)
    slope = share * (local.slope @ rows)
    least = tol * float(np.linalg.norm(slope))
    for _ in range(_STEPS):
        checkpoint()
        if np.linalg.norm(slope) <= least:
            break
        step = _newton_step(rows, local, share, slope)
        value, fall, size = found @ found / 2 + share * local.value, float(slope @ step), 1.0
        while size > _SMALLEST:
            checkpoint()
            trial = found + size * step
            local = ordering.around(rows @ trial)
            if trial @ trial / 2 + share * local.value <= value + _ENOUGH * size * fall:
                break
            size /= 2
        found = trial
        slope = found + share * (local.slope @ rows)
    return found


def _newton_step(rows: Rows, local: LocalLoss, share: float, slope: NDArray[np.float64]) -> NDArray[np.float64]:
    def hessian_product(along: NDArray[np.float64]) -> NDArray[np.float64]:
        checkpoint()
        return np.asarray(along + 2 * share * (local.laplacian(rows @ along) @ rows))

    step: NDArray[np.float64] = cg(
        LinearOperator((len(slope),) * 2, matvec=hessian_product, dtype=np.float64), -slope, rtol=0.1
    )[0]
    return step
