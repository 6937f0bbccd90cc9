"""Relative attributes: one linear score per attribute that orders the classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator, cg

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.comparisons import AnyComparisons
from crossview.engine.learners.frame.settings import Arrays, Between, Positive, Seed, Tolerance, drawn_seed, group
from crossview.engine.learners.frame.supervision import Supervision, shared_classes
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.attributes import class_relations
from crossview.engine.learners.papers.attributes.class_relations import Relations
from crossview.engine.learners.papers.attributes.class_scores import ClassesByScores
from crossview.engine.learners.papers.attributes.described_odds import chosen_log_odds
from crossview.engine.learners.papers.attributes.ordered_items import (
    ItemPairs,
    Local,
    Loss,
    counted,
    loss_of,
    pairs_by_attribute,
)
from crossview.engine.learners.papers.attributes.ordering import Ordering
from crossview.engine.learners.papers.attributes.quadruplets import Crossing, Crossings
from crossview.engine.learners.subspace.span import Span
from crossview.engine.runtime.cancellation import checkpoint

_ORDERINGS = "an object of classes, each with its list of numbers"
_MOST_OF_PAIR = 1_000  # maximum number of pairs of rows of two classes
_CLASSES_SHOWN = 10
_STEPS = 100
_SMALLEST = 1e-9  # smaller shares of a Newton step have no effect
_ENOUGH = 1e-4  # a step is accepted with this share of the fall that the slope predicts


@dataclass(eq=False, repr=False)
class RelativeAttributes(ClassesByScores, LinearLearner, SeparateLearner, MultiViewLearner):
    """Embeddings of rows as scores of attributes, each learned from an order of the classes; scores are comparable
    across views.

    Parikh and Grauman, "Relative Attributes" (ICCV 2011): for every attribute the w that minimises |w|^2 / 2 plus C
    times the mean, over all pairs of rows, of [1 - w (x_i - x_j)]_+^2 if the class of i has more of the attribute than
    that of j, and of (w (x_i - x_j))^2 if both have as much. It is the paper's objective, (1), with the mean instead of
    the sums, so that C has the same meaning for any number of rows. The learner leaves out rows that are alone in their
    class, as unlabelled rows are. It centres rows and divides them by their root mean square length first.

    The mean also contains pairs of items that people ordered, the paper's images: comparisons
    (:class:`~engine.learners.frame.supervision.Supervision`) of pairs, each in the notion of an attribute. Items of a
    similar pair have as much of the attribute; otherwise the second has more. An attribute that is equal in all classes
    is learned from items alone.

    With other ``relations`` than pairs, the loss is the mean Huber loss of constraints on pairs and quadruplets of rows
    (Law, Thome and Cord, IJCV 2017, equations 14, 25 and 26), of at most 1,000 pairs of rows of every two classes, each
    beside all pairs of rows of the surrounding classes, again at most 1,000 of every two.

    Args:
        C: weight of the pairs.
        orderings: {class: m numbers}, the amounts of each of m attributes of a class; only their order matters, and
            equal numbers mean equal amounts. Classes are matched by their text. Classes without rows are described by
            their numbers alone, and the learner ignores rows of classes without numbers. None: every class is an
            attribute of its own, which only this class has; if pairs of items are given, classes have no order.
        names: names of the attributes, in their order; None: the names of the classes if each is an attribute, the
            notions if only items are ordered, and otherwise no names.
        relations: the constraints of the order of two classes on their rows' scores; None: ``Relations()``, pairs
            alone.
        item_weight: weight of a pair of ordered items, relative to a pair of rows of ordered classes.
        log_odds: number added to the logarithm of the densities of classes that only orderings describe, when rows are
            assigned to classes; None: the number that is best if the other classes are held out in turn, over at most
            30 classes and 100 rows of each.
        tol: maximum gradient of a solution, as a share of the gradient at zero, with pairs alone.
        random_state: seed of the draws of the rows of quadruplets.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes of the training rows.
        orderings_: (K, m) numbers of these classes.
        places_: list of (K, m) arrays, one per view: the classes' mean scores, NaN for a class without rows of the
            view.
        covariances_: list of (m, m) arrays, one per view: covariance of the scores within a class.
        log_odds_: list of floats, one per view: ``log_odds``, or the chosen number; 0 if all classes have rows.
        names_: (m,) the names of the attributes; empty without names.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes of two rows that
            have an ordering, orderings of different lengths or with NaN, an attribute that is equal in all classes and
            items, or comparisons that are not pairs in the notions of attributes.
    """

    name = "attributes"
    capabilities: ClassVar[Capabilities] = Capabilities(
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

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.classes_: NDArray[Any] = self._ordered_classes(supervision)
        self.names_: tuple[str, ...] = self._found_names(supervision.comparisons)
        self.orderings_: NDArray[np.float64] = self._checked_orderings(supervision.comparisons)
        self._check_names()
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        present, comparisons = supervision.mask[:, view], supervision.comparisons
        rows, labels = views[view][present], np.asarray(supervision.classes)[present]
        labelled = places = np.flatnonzero(np.isin(labels, self.classes_))
        of_items = [ItemPairs.none()] * self.orderings_.shape[1]
        if comparisons is not None:
            comparisons = counted(comparisons.among(present, len(present)))
            # Rows of classes come first, then the other rows that comparisons name.
            compared = np.concatenate([part.items.ravel() for part in comparisons.sets])
            places = np.concatenate([labelled, np.setdiff1d(compared, labelled)])
            of_items = pairs_by_attribute(comparisons.among(places, len(rows)), self.names_, self.item_weight)
        codes = np.searchsorted(self.classes_, labels[labelled])
        groups = None if supervision.groups is None else np.asarray(supervision.groups)[present][labelled]
        fitted = self._fit_pairs(rows[places], codes, of_items, view)
        return fitted | {"log_odds_": self._found_odds(rows[labelled], codes, groups)}

    def _fit_pairs(self, rows: Rows, codes: NDArray[np.intp], pairs: Sequence[ItemPairs], view: int) -> dict[str, Any]:
        """Return the fitted attributes of a view; its first rows have classes, and ``pairs`` refer to all rows."""
        if not len(rows):
            raise ValueError("none of the ordered items has the view")
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
                f"attribute {name} has nothing to learn from, because no two of the ordered classes or items have the "
                "view: order classes by it, or more items"
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
        """Return the constraints of the order of the classes, (K,), on the scores of their rows."""
        view, attribute = place
        present, own = np.unique(codes, return_inverse=True)
        levels, generator = values[present], np.random.default_rng([drawn_seed(self.random_state), view, attribute])
        pairs = class_relations.class_pairs(levels)
        return class_relations.crossings(levels, own, pairs, relations, _MOST_OF_PAIR, generator)

    def _found_odds(self, rows: Rows, codes: NDArray[np.intp], groups: NDArray[Any] | None) -> float:
        """Return the odds of classes that only orderings describe, chosen with the orders of classes alone."""
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

        return chosen_log_odds(learned, rows, codes, self.orderings_, drawn_seed(self.random_state), groups)

    def _ordered_classes(self, supervision: Supervision) -> NDArray[Any]:
        """Return the classes to learn from: those with an ordering, or all if no class has one."""
        least = 2 if supervision.comparisons is None else 0
        classes = shared_classes(supervision.classes, least)
        if self.orderings is None:
            return classes
        names = {*map(str, self.orderings)}
        ordered: NDArray[Any] = classes[np.array([str(name) in names for name in classes], bool)]
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
        by_class = {str(name): np.asarray(values, dtype=np.float64) for name, values in self.orderings.items()}
        count = len(next(iter(by_class.values())))
        if any(values.shape != (count,) or not count for values in by_class.values()):
            raise ValueError("orderings must have equally many numbers for every class, one per attribute")
        table = np.array([by_class[str(name)] for name in self.classes_]).reshape(-1, count)
        if not np.isfinite(table).all():
            raise ValueError("orderings must be finite, without NaN")
        same = np.flatnonzero((table == table[:1]).all(axis=0))
        if len(same) and comparisons is None:
            raise ValueError(f"attributes {same.tolist()} are equal in all classes, so nothing can be learned")
        return table


def direction(rows: Rows, amounts: NDArray[np.float64], weight: float, tol: float) -> NDArray[np.float64]:
    """Return the direction of one attribute, (d,), by Newton's method with conjugate gradients.

    Args:
        rows: (n, d).
        amounts: (n,) amounts of the attribute of each row; only the order matters.
        weight: C.
        tol: gradient at which to stop, as a share of the gradient at zero.
    """
    return _minimized(rows, Ordering(amounts), weight, tol)


def _minimized(rows: Rows, loss: Loss, weight: float, tol: float) -> NDArray[np.float64]:
    share = weight / loss.count
    w = np.zeros(rows.shape[1])
    local = loss.around(rows @ w)
    slope = share * (local.slope @ rows)
    least = tol * float(np.linalg.norm(slope))
    for _ in range(_STEPS):
        checkpoint()
        if np.linalg.norm(slope) <= least:
            break
        step = _newton_step(rows, local, share, slope)
        value, fall, size = w @ w / 2 + share * local.value, float(slope @ step), 1.0
        while size > _SMALLEST:
            checkpoint()
            trial = w + size * step
            local = loss.around(rows @ trial)
            if trial @ trial / 2 + share * local.value <= value + _ENOUGH * size * fall:
                break
            size /= 2
        w = trial
        slope = w + share * (local.slope @ rows)
    return w


def _newton_step(rows: Rows, local: Local, share: float, slope: NDArray[np.float64]) -> NDArray[np.float64]:
    def hessian_product(along: NDArray[np.float64]) -> NDArray[np.float64]:
        checkpoint()
        return np.asarray(along + 2 * share * (local.laplacian(rows @ along) @ rows))

    step: NDArray[np.float64] = cg(
        LinearOperator((len(slope),) * 2, matvec=hessian_product, dtype=np.float64), -slope, rtol=0.1
    )[0]
    return step
