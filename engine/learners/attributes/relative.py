"""Relative attributes: one linear score per attribute that orders the classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator, cg

from crossview.engine.learners.attributes import class_relations
from crossview.engine.learners.attributes.class_relations import Relations
from crossview.engine.learners.attributes.class_scores import ClassesByScores
from crossview.engine.learners.attributes.described_odds import chosen_log_odds
from crossview.engine.learners.attributes.ordered_items import (
    ItemPairs,
    Local,
    Loss,
    counted,
    loss_of,
    pairs_by_attribute,
)
from crossview.engine.learners.attributes.ordering import Ordering
from crossview.engine.learners.attributes.quadruplets import Crossing, Crossings
from crossview.engine.learners.base import MultiViewLearner
from crossview.engine.learners.capabilities import Capabilities
from crossview.engine.learners.comparisons import AnyComparisons
from crossview.engine.learners.settings import Arrays, Between, Positive, Seed, Tolerance, group
from crossview.engine.learners.subspace.span import Span
from crossview.engine.learners.supervision import Supervision, shared_classes
from crossview.engine.learners.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint

_ORDERINGS = "an object of classes, each with its list of numbers"
_MOST_OF_PAIR = 1_000  # pairs of rows that two classes give at most
_CLASSES_SHOWN = 10
_STEPS = 100
_SMALLEST = 1e-9  # a share of a Newton step that changes nothing any more
_ENOUGH = 1e-4  # of the fall that the slope promises


@dataclass(eq=False, repr=False)
class RelativeAttributes(ClassesByScores, LinearLearner, SeparateLearner, MultiViewLearner):
    """Embeds a row as its scores of attributes, each learned from an order of the classes; two views' are comparable.

    Parikh and Grauman, "Relative Attributes" (ICCV 2011): for every attribute the w that minimises |w|^2 / 2 plus C
    times the mean, over all pairs of rows, of [1 - w (x_i - x_j)]_+^2 where the class of i has more of it than that of
    j, and of (w (x_i - x_j))^2 where both have as much. It is the paper's objective, (1), with the mean in place of the
    sums, so that C means the same for any number of rows. Rows alone in their class, as unlabelled items are, are left
    out. Rows are centred and divided by their root mean square length first.

    Pairs of items that people ordered, the paper's images, are taken into the mean beside those of classes: comparisons
    (:class:`~engine.learners.supervision.Supervision`) of pairs, each in the notion of an attribute. Of similar ones
    both have as much of it, of others the second has more. An attribute of which all classes have as much is learned
    from items alone.

    With other ``relations`` than pairs: the mean Huber loss of constraints on pairs and quadruplets of rows (Law, Thome
    and Cord, IJCV 2017, equations 14, 25 and 26), of at most 1,000 pairs of rows of every two classes, each beside all
    pairs of rows of the classes around, again 1,000 at most of every two.

    Args:
        C: weight of the pairs.
        orderings: {class: m numbers}, how much of each of m attributes a class has; only their order matters, and
            equal ones mean as much. Classes are matched by their text; those without rows are described by their
            numbers alone, and nothing is learned from rows of classes without numbers. None: every class is an
            attribute of its own, which it has and the others have not; where
            pairs of items are given, classes have no order.
        names: of the attributes, in their order; None: the classes' where each is an attribute, the notions' where
            items alone are ordered, else they have none.
        relations: what the order of two classes asks of their rows' scores; None: ``Relations()``, pairs alone.
        item_weight: how often a pair of items that were ordered counts, beside a pair of rows whose classes were.
        log_odds: added to the logarithm of the densities of classes that orderings alone describe, where rows are told
            among all classes; None: those that tell best where the other classes are held out in turn, of 30
            classes and 100 rows a class at most.
        tol: a solution's gradient is at most this share of that at zero, where pairs alone are asked for.
        random_state: draws the rows of quadruplets.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes that were learned from.
        orderings_: (K, m) their numbers.
        places_: list of (K, m) arrays, one per view: the classes' mean scores, NaN where none of a class has the view.
        covariances_: list of (m, m) arrays, one per view: of the scores within a class.
        log_odds_: list of floats, one per view: ``log_odds``, or what was chosen; 0 where all classes have rows.
        names_: (m,) the names of the attributes, or none.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes of two rows that
            have an ordering, orderings of different lengths or with NaN, an attribute that neither two
            classes nor two items differ in, or comparisons that are not pairs in the notions of attributes.
    """

    name = "attributes"
    capabilities = Capabilities(
        cross_view=True, needs_labels=True, orders_items=True, adds_views=True, main_parameter="C"
    )

    groups: ClassVar[Mapping[str, Any]] = {"relations": Relations()}

    C: Positive = 10.0
    orderings: Annotated[Mapping[Any, ArrayLike], Arrays(1, _ORDERINGS)] | None = None
    names: Sequence[str] | None = None
    relations: Relations | None = None
    item_weight: Positive = 1.0
    log_odds: Annotated[float, Between(-1e6, 1e6)] | None = None
    tol: Tolerance = 1e-4
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    @property
    def ordered_classes(self) -> frozenset[str]:
        """The classes of ``orderings``."""
        return frozenset(map(str, self.orderings or ()))

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        self.classes_ = self._ordered_classes(given)
        self.names_ = self._found_names(given.comparisons)
        self.orderings_ = self._checked_orderings(given.comparisons)
        self._check_names()
        super()._fit(views, given)

    def _fit_view(self, views: list[Rows], given: Supervision, view: int) -> dict[str, Any]:
        present = given.mask[:, view]
        rows, labels, comparisons = views[view][present], np.asarray(given.classes)[present], given.comparisons
        known = chosen = np.flatnonzero(np.isin(labels, self.classes_))
        of_items = [ItemPairs.none()] * self.orderings_.shape[1]
        if comparisons is not None:
            comparisons = counted(comparisons.among(present, len(present)))
            # Rows of classes come first; the others are in comparisons.
            named = np.concatenate([one.items.ravel() for one in comparisons.sets])
            chosen = np.concatenate([known, np.setdiff1d(named, known)])
            of_items = pairs_by_attribute(comparisons.among(chosen, len(rows)), self.names_, self.item_weight)
        codes = np.searchsorted(self.classes_, labels[known])
        groups = None if given.groups is None else np.asarray(given.groups)[present][known]
        fitted = self._fit_pairs(rows[chosen], codes, of_items, view)
        return fitted | {"log_odds_": self._found_odds(rows[known], codes, groups)}

    def _fit_pairs(self, rows: Rows, codes: NDArray[np.intp], pairs: Sequence[ItemPairs], view: int) -> dict[str, Any]:
        """Return the fitted attributes of a view; the first of its rows are of classes, and ``pairs`` are of all."""
        if not len(rows):
            raise ValueError("none of the items that were ordered has the view")
        mean = rows.mean(axis=0)
        span = Span.of(rows - mean)
        scale = float(np.sqrt(np.mean(np.square(span.rows).sum(axis=1)))) or 1.0
        directions = [
            self._direction(span.rows / scale, codes, of_items, (view, attribute))
            for attribute, of_items in enumerate(pairs)
        ]
        scores = span.rows @ np.array(directions).T / scale
        places, present = np.full(self.orderings_.shape, np.nan), np.unique(codes)
        for code in present:
            places[code] = scores[: len(codes)][codes == code].mean(axis=0)
        gaps = scores[: len(codes)] - places[codes] if len(codes) else scores
        return {
            "weights_": span.lifted(np.array(directions)) / scale,
            "means_": mean,
            "places_": places,
            "covariances_": gaps.T @ gaps / max(len(gaps) - len(present), 1),
        }

    def _direction(
        self, rows: Rows, codes: NDArray[np.intp], of_items: ItemPairs, place: tuple[int, int]
    ) -> NDArray[np.float64]:
        """Return the direction, (d,), of one attribute of a view; ``place`` numbers view and attribute."""
        values, relations = self.orderings_[:, place[1]], cast(Relations, group(self, "relations"))
        ordered = bool(np.ptp(values) > 0) if len(values) else False
        name = repr(self.names_[place[1]] if self.names_ else place[1])
        if ordered and len(np.unique(codes)) < 2:
            raise ValueError("the rows of a view are of fewer than 2 classes")
        if not ordered and not of_items:
            raise ValueError(
                f"attribute {name} has nothing to learn from: order classes by it, or more items, because no two of "
                "those that are ordered have the view and are learned from"
            )
        rows = rows if of_items else rows[: len(codes)]
        if (relations.ordered, relations.equal) == ("pairs", "pairs"):
            return _minimized(rows, loss_of(values[codes] if ordered else None, of_items), self.C, self.tol)
        try:
            parts = self._crossings(values, codes, relations, place) if ordered else []
        except ValueError as error:
            raise ValueError(f"attribute {name}: {error}") from error
        return _minimized(rows, Crossings([*parts, *of_items.crossings()]), self.C, self.tol)

    def _crossings(
        self, values: NDArray[np.float64], codes: NDArray[np.intp], relations: Relations, place: tuple[int, int]
    ) -> list[Crossing]:
        """Return the relations that the order of the classes, (K,), requires of the scores of their rows."""
        view, attribute = place
        present, own = np.unique(codes, return_inverse=True)
        levels, generator = values[present], np.random.default_rng([self.random_state, view, attribute])
        pairs = class_relations.class_pairs(levels)
        return class_relations.crossings(levels, own, pairs, relations, _MOST_OF_PAIR, generator)

    def _found_odds(self, rows: Rows, codes: NDArray[np.intp], groups: NDArray[Any] | None) -> float:
        """Return the odds of classes that orderings alone describe, chosen with the orders of classes alone."""
        all_seen = len(np.unique(codes)) == len({*map(str, self.classes_), *map(str, self.orderings or ())})
        if self.log_odds is not None or all_seen:
            return self.log_odds or 0.0

        def learned(orderings: Mapping[str, ArrayLike], own: Rows, of: NDArray[Any]) -> "RelativeAttributes":
            inner = RelativeAttributes(
                self.C,
                orderings,
                relations=self.relations,
                log_odds=0.0,
                tol=self.tol,
                random_state=self.random_state,
            )
            return inner.fit(own, of)

        return chosen_log_odds(learned, rows, codes, self.orderings_, self.random_state, groups)

    def _ordered_classes(self, given: Supervision) -> NDArray[Any]:
        """Return the classes to learn from: those with an ordering, or all if no class has one."""
        least = 2 if given.comparisons is None else 0
        classes = shared_classes(given.classes, least)
        if self.orderings is None:
            return classes
        known = {*map(str, self.orderings)}
        ordered: NDArray[Any] = classes[np.array([str(name) in known for name in classes], bool)]
        if len(ordered) < least:
            raise ValueError(
                f"orderings have numbers for {len(ordered)} of the {len(classes)} classes of two or more rows, and at "
                f"least 2 are needed; the classes are: {', '.join(map(str, classes[:_CLASSES_SHOWN]))}"
            )
        return ordered

    def _found_names(self, comparisons: AnyComparisons | None) -> tuple[str, ...]:
        if self.names is not None:
            return tuple(self.names)
        if self.orderings is not None:
            return ()
        if comparisons is None:
            return tuple(map(str, self.classes_))
        return () if comparisons.notions is None else tuple(np.unique(comparisons.notions.astype(str)).tolist())

    def _check_names(self) -> None:
        count = self.orderings_.shape[1]
        if self.names is not None and (len(set(self.names_)) < len(self.names_) or len(self.names_) != count):
            raise ValueError(f"names must be {count} different ones, one per attribute, not {list(self.names)}")

    def _checked_orderings(self, comparisons: AnyComparisons | None) -> NDArray[np.float64]:
        if self.orderings is None:
            return (
                np.eye(len(self.classes_))
                if comparisons is None
                else np.zeros((len(self.classes_), len(self.names_) or 1))
            )
        known = {str(name): np.asarray(values, dtype=np.float64) for name, values in self.orderings.items()}
        count = len(next(iter(known.values())))
        if any(values.shape != (count,) or not count for values in known.values()):
            raise ValueError("orderings must have equally many numbers for every class, one per attribute")
        table = np.array([known[str(name)] for name in self.classes_]).reshape(-1, count)
        if not np.isfinite(table).all():
            raise ValueError("orderings must be finite, without NaN")
        same = np.flatnonzero((table == table[:1]).all(axis=0))
        if len(same) and comparisons is None:
            raise ValueError(f"all classes have as much of attributes {same.tolist()}, so there is nothing to learn")
        return table


def direction(rows: Rows, amounts: NDArray[np.float64], weight: float, tol: float) -> NDArray[np.float64]:
    """Return the direction of one attribute, (d,), by Newton's method with conjugate gradients.

    Args:
        rows: (n, d).
        amounts: (n,) how much of the attribute each row has; only the order matters.
        weight: C.
        tol: when to stop, as a share of the gradient at zero.
    """
    return _minimized(rows, Ordering(amounts), weight, tol)


def _minimized(rows: Rows, loss: Loss, weight: float, tol: float) -> NDArray[np.float64]:
    share = weight / loss.count
    found = np.zeros(rows.shape[1])
    local = loss.around(rows @ found)
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
            local = loss.around(rows @ trial)
            if trial @ trial / 2 + share * local.value <= value + _ENOUGH * size * fall:
                break
            size /= 2
        found = trial
        slope = found + share * (local.slope @ rows)
    return found


def _newton_step(rows: Rows, local: Local, share: float, slope: NDArray[np.float64]) -> NDArray[np.float64]:
    def hessian_product(along: NDArray[np.float64]) -> NDArray[np.float64]:
        checkpoint()
        return np.asarray(along + 2 * share * (local.laplacian(rows @ along) @ rows))

    step: NDArray[np.float64] = cg(
        LinearOperator((len(slope),) * 2, matvec=hessian_product, dtype=np.float64), -slope, rtol=0.1
    )[0]
    return step
