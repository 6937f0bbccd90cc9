"""Classes and instances: a space that ranks by class and, within and beyond classes, by the item itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize
from crossview.engine.learners.frame.settings import Dimensions, OneView, Seed, Weight
from crossview.engine.learners.frame.supervision import Supervision, shared_classes
from crossview.engine.learners.frame.view_rows import Mask, Rows
from crossview.engine.learners.subspace.co_em import CoEM
from crossview.engine.learners.subspace.instances import Fold, Instances
from crossview.engine.learners.subspace.kernel_features import unit_length
from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import over

WEIGHTS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Weights of the instance part to choose from; the smallest only orders items of equal probability."""
_TOLERANCE = 0.005
"""Loss of mean average precision that any weight may cost, if the standard error is smaller."""
_UNMEASURED = 0.1
"""The weight if held-out items cannot measure it: with few labelled items, or with pairs alone."""
_UNSUPERVISED = 1.0
"""The weight without labels and pairs: the item itself is all that is known, and classes are found, not given."""
_LEAST = 100
"""Minimum number of held-out items that measure the weights."""
_MEASURED = 400
"""Maximum number of held-out items of a fold that measure a weight."""
_FIRST = 10
"""Length of the hit lists in which items have to find themselves."""

_LEARNERS = {one.name: one for one in (ClassPosteriors, CoEM)}

State = dict[str, Any]
"""The state of a fitted learner."""


@dataclass(eq=False, repr=False)
class ClassInstance(MultiViewLearner):
    """Embeddings of rows as class probabilities beside an instance embedding, whose inner products add up.

    The inner product of two embeddings is the probability that the rows are of one class, plus ``weight_`` times the
    cosine of their instance embeddings; end a pipeline in ``dot`` to rank by it. The probabilities are those of
    ``ClassPosteriors`` or ``CoEM``; with "auto", of co-EM if there are several views and an item has one label,
    because posteriors learn wrong labels, too. They place all items of a class at almost the same point, so they find
    the class of a query but not the items that look like it. The instance embeddings, see ``Instances``, are near each
    other for the rows of one item in all views, and far apart for rows of different items. They order the items of a
    class, and decide where the class is uncertain.

    Some views share a space before they are learned, such as sentences and the names of the classes that a model sees
    in pictures. Their instance part ends with their own rows, centred and of unit length, so that their cosines count
    as they are. The first of these views is also learned together with the others; the rest are not, because a learned
    map would repeat what the other views of their item teach. For the same reason, the rest have no class part without
    labels, with classes that are found.

    The weight is that of the highest instance recall, the share of held-out items that find themselves by another view
    among the first ten hits, of all weights whose mean average precision by class is within one standard error, or
    0.005 if this is more, of the best. Both are measured on labelled items that have all views: the probabilities leave
    out each item, and the instance embeddings its fold. In a single view, an item finds itself with any weight; the
    greatest of these weights keeps it nearest to changed copies of itself.

    Args:
        classes: the learner of class probabilities: "posteriors", "co-em", or "auto", see above.
        weight: weight of the instance part; None: chosen, or 0.1 if fewer than 100 labelled items with all views can
            measure it, or 1 without labels and pairs.
        n_components: maximum number of dimensions of the learned instance part.
        shared: numbers of the views that share a space before, at least two; None: no views do.
        random_state: seed of the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        weight_: float, the weight of the instance part.
        class_state_: dict, the state of the fitted learner of class probabilities.
        instance_state_: dict, the state of the fitted ``Instances``; empty if fewer than two items have two
            views.
        classless_: the numbers of the views without a class part.
        shared_means_: list of (d,) arrays, the mean row of each view in ``shared``.
        left_out_: list of (n_v, K + D) embeddings of the training rows that have the view; the probabilities leave each
            row out.

    Raises:
        ValueError: from ``fit``, as the learner of class probabilities.
    """

    name = "class-instance"
    capabilities: ClassVar[Capabilities] = Capabilities(
        cross_view=True, takes_neighbors=True, multilabel=True, adds_views=True, main_parameter="classes"
    )

    weight_: float = field(init=False)
    class_state_: State = field(init=False)
    instance_state_: State = field(init=False)
    classless_: Sequence[int] = field(init=False, default=())
    shared_means_: Sequence[NDArray[np.float64]] = field(init=False, default=())
    left_out_: list[NDArray[np.float32]] = field(init=False)

    classes: Literal["auto", "posteriors", "co-em"] = "auto"
    weight: Weight | None = None
    n_components: Dimensions = 50
    shared: Sequence[OneView] | None = None
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    _learners: tuple[ClassPosteriors, Instances | None] | None = field(init=False, default=None)

    def again(self) -> Self:
        """Return an unfitted copy that keeps the weight and the choices of both learners."""
        learner = super().again()
        classes, instances = self._models()
        learner.weight, learner._learners = self.weight_, (classes.again(), instances and instances.again())
        return learner

    @property
    def needs_labels(self) -> bool:
        """Whether the learner of class probabilities needs labels."""
        return self.classes != CoEM.name

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the two learners, one after the other."""
        classes, instances = self._of_classes(len(size.widths)).fit_cost(size), Instances().fit_cost(size)
        return FitCost(max(classes.bytes, instances.bytes), classes.operations + instances.operations)

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the number of classes and of dimensions of the instance part."""
        return tuple(width + self.n_components for width in self._of_classes(len(size.widths)).embedded_widths(size))

    def _of_classes(self, views: int, labels: Any = None) -> ClassPosteriors:
        """Return the unfitted learner of class probabilities, for so many views."""
        if self.classes == "auto" and views > 1 and not sp.issparse(labels):
            return CoEM(new_classes=0, random_state=self.random_state)
        return _LEARNERS.get(self.classes, ClassPosteriors)(random_state=self.random_state)

    def _needs_classes(self, supervision: Supervision) -> bool:
        return super()._needs_classes(supervision) or supervision.classes is not None

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.shared_means_ = _shared_means(self._shared, views, supervision.mask)
        unfitted, instances = self._learners or (self._of_classes(len(views), supervision.classes), None)
        classes = unfitted.fit(views, supervision)
        folds: list[Fold] = []
        learned = self._learned_views(len(views))
        mask = supervision.mask[:, learned]
        if (mask.sum(axis=1) >= min(2, len(learned))).sum() > 1:
            instances = instances or Instances(n_components=self.n_components, random_state=self.random_state)
            rows, alone = [views[view] for view in learned], Supervision(mask=mask, groups=supervision.groups)
            if self.weight is None:
                folds = instances.fit_folds(rows, alone)
            else:
                instances.fit(rows, alone)
        left_out = classes.left_out_
        supervised = _supervised(supervision)
        self.classless_ = [] if supervised else self._shared[1:]
        unmeasured = _UNMEASURED if supervised else _UNSUPERVISED
        self.weight_ = unmeasured if self.weight is None else self.weight
        if supervised and folds and supervision.classes is not None:
            spread = [_spread(left_out[view], supervision.mask[:, view]) for view in learned]
            measurable = _measurable(folds, replace(supervision, mask=mask))
            self.weight_ = chosen_weight(measurable, spread, supervision.classes)
        self._hold(classes, instances)
        self.left_out_ = [
            self._joined(probabilities, rows[present], view).astype(np.float32)
            for view, (probabilities, rows, present) in enumerate(zip(left_out, views, supervision.mask.T, strict=True))
        ]

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        self._made: Any = None  # the learners that embed rows now must stay as they are if an error follows
        classes, instances = self._models()
        self._made = None
        classes.add_view(views, supervision)
        if instances is not None:
            learned = self._learned_views(len(views))
            mask = supervision.mask[:, learned]
            if (mask[:, -1] & mask[:, :-1].any(axis=1)).sum() > 1:
                instances.add_view([views[view] for view in learned], Supervision(mask=mask))
            else:
                instances.add_blank(views[-1].shape[1])
        left_out = classes.left_out_[-1]
        self._hold(classes, instances)
        added = self._joined(left_out, views[-1][supervision.mask[:, -1]], len(views) - 1).astype(np.float32)
        self.left_out_ = [*self.left_out_, added]

    def _hold(self, classes: ClassPosteriors, instances: Instances | None) -> None:
        """Hold the states of two fitted learners; embeddings of training rows are stored once, in ``left_out_``."""
        classes.left_out_ = []
        self.class_state_ = classes.to_state()
        self.instance_state_ = {} if instances is None else instances.to_state()

    def _models(self) -> tuple[ClassPosteriors, Instances | None]:
        """Return the two fitted learners, made once for each state."""
        held = getattr(self, "_made", None)
        if held is None or held[0] is not self.class_state_:  # a fit, and loading a state, replace it
            instances = Instances.from_state(self.instance_state_) if self.instance_state_ else None
            classes = _LEARNERS[self.class_state_["learner"]].from_state(self.class_state_)
            held = self._made = (self.class_state_, classes, instances)
        return held[1], held[2]

    def _project(self, rows: Rows, view: int) -> Rows:
        return self._joined(self._models()[0].embedded(rows, view), rows, view)

    def _joined(self, probabilities: NDArray[Any], rows: Rows, view: int) -> Rows:
        """Return class probabilities beside the weighted instance embeddings of rows."""
        instances = self._models()[1]
        parts, shared = [], self._shared
        if view in self.classless_:
            probabilities = np.zeros_like(probabilities)
        if instances is not None and view in shared[1:]:
            parts.append(np.zeros((len(rows), instances.maps_[0].shape[1])))
        elif instances is not None:
            parts.append(instances.embedded(rows, view - sum(other < view for other in shared[1:])))
        if view in shared:
            parts.append(unit_length(rows - self.shared_means_[shared.index(view)]))
        elif shared:
            parts.append(np.zeros((len(rows), len(self.shared_means_[0]))))
        return np.hstack([probabilities, *(np.sqrt(self.weight_) * part for part in parts)]).astype(np.float64)

    @property
    def _shared(self) -> list[int]:
        return list(self.shared or ())

    def _learned_views(self, count: int) -> list[int]:
        """Return the numbers of the views of the learned instance part, of ``count`` views."""
        return [view for view in range(count) if view not in self._shared[1:]]


def _shared_means(shared: Sequence[int], views: Sequence[Rows], mask: Mask) -> list[NDArray[np.float64]]:
    """Return the mean row of each view that shares a space; ValueError for wrong numbers or widths."""
    if not len(shared):
        return []
    if len(shared) < 2 or len(set(shared)) < len(shared) or max(shared) >= len(views):
        raise ValueError(f"shared names at least two of the {len(views)} views, each once, not {list(shared)}")
    if len({views[view].shape[1] for view in shared}) > 1:
        widths = ", ".join(str(views[view].shape[1]) for view in shared)
        raise ValueError(f"views that share a space have rows of one length, not of {widths}")
    return [views[view][mask[:, view]].mean(axis=0) for view in shared]


def _supervised(supervision: Supervision) -> bool:
    """Return whether any label or pair is known."""
    labelled = supervision.classes is not None and (supervision.labelled is None or bool(np.any(supervision.labelled)))
    return labelled or supervision.neighbors is not None


def chosen_weight(folds: Sequence[Fold], probabilities: Sequence[Rows], classes: Any) -> float:
    """Return the weight of the highest instance recall with nearly the best mean average precision, see the class.

    Args:
        folds: held-out items that have labels and all views.
        probabilities: (n, K) class probabilities of all items in each view, each without the item.
        classes: (n,) classes of all items, or an (n, L) sparse matrix of their labels.
    """
    measured = over(
        [fold for fold in folds if len(fold[0])],
        partial(_measured, probabilities=probabilities, classes=classes),
    )
    precisions, hits = (
        (np.concatenate(parts, axis=1) for parts in zip(*measured, strict=True)) if measured else (None, None)
    )
    if precisions is None or hits is None or precisions.shape[1] < _LEAST:
        return _UNMEASURED
    means, recalls = precisions.mean(axis=1), hits.mean(axis=1)
    best = int(np.argmax(means))
    error = precisions[best].std(ddof=1) / np.sqrt(precisions.shape[1])
    recalls[means < means[best] - max(error, _TOLERANCE)] = -1.0
    return WEIGHTS[int(np.argmax(recalls))]


def _measured(fold: Fold, probabilities: Sequence[Rows], classes: Any) -> tuple[Rows, Rows]:
    """Return the average precision by class of the held-out items of a fold for each weight, over all pairs of views,
    (W, m) for the m items that share their class, and the share of pairs of views in which each finds itself, or the
    weights themselves if there is a single view."""
    items, instances = fold
    relevant = _sharing(classes[items])
    np.fill_diagonal(relevant, False)
    precisions = np.zeros((len(WEIGHTS), len(items)))
    own: list[NDArray[np.bool_]] = []
    for query, target in product(range(len(instances)), repeat=2):
        checkpoint()
        by_class = probabilities[query][items] @ probabilities[target][items].T
        by_instance = instances[query] @ instances[target].T
        similar = [by_class + weight * by_instance for weight in WEIGHTS]
        precisions += [average_precision(scores, relevant) for scores in similar]
        if query != target:
            own.append(np.array([_finds_itself(scores) for scores in similar]))
    shares = np.mean(own, axis=0) if own else np.repeat(np.array(WEIGHTS)[:, None], len(items), axis=1)
    return precisions[:, relevant.any(axis=1)] / len(instances) ** 2, shares


def _measurable(folds: Sequence[Fold], supervision: Supervision) -> list[Fold]:
    """Return of each fold the first items that have labels and all views."""
    labelled = supervision.labelled
    if labelled is None and sp.issparse(supervision.classes):
        labels: Any = supervision.classes
        labelled = np.diff(labels.indptr) > 0
    elif labelled is None:
        labelled = np.isin(supervision.classes, shared_classes(supervision.classes))
    able = np.asarray(labelled, bool) & supervision.mask.all(axis=1)
    measured = [(items, np.flatnonzero(able[items])[:_MEASURED], embedded) for items, embedded in folds]
    return [(items[some], [rows[some] for rows in embedded]) for items, some, embedded in measured]


def _spread(rows: NDArray[np.float32], present: NDArray[np.bool_]) -> Rows:
    """Return the rows of the items that have a view, and zeros for the others, (n, K)."""
    spread = np.zeros((len(present), rows.shape[1]))
    spread[present] = rows
    return spread


def average_precision(similar: Rows, relevant: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the average precision of each item's ranking of the others, (n,); 0 if no other is relevant."""
    distances = -similar
    np.fill_diagonal(distances, np.finfo(np.float64).max)
    # The last bit of each number states whether the item is relevant: sorting numbers is faster than ordering items.
    bits = (distances.view(np.int64) | 1) ^ relevant
    ranked = (np.sort(bits.view(np.float64), axis=1).view(np.int64) & 1) == 0
    precision = ranked.cumsum(axis=1) / np.arange(1, ranked.shape[1] + 1)
    return np.asarray((precision * ranked).sum(axis=1) / np.maximum(ranked.sum(axis=1), 1))


def _finds_itself(similar: Rows) -> NDArray[np.bool_]:
    """Return whether each item is among the first items that it finds, (n,); of equal ones it is the last."""
    return np.asarray((similar >= similar.diagonal()[:, None]).sum(axis=1) <= _FIRST)


def _sharing(classes: Any) -> NDArray[np.bool_]:
    """Return which of some items share a class, or one of their labels, (m, m)."""
    if sp.issparse(classes):
        labels: Any = classes
        return np.asarray((labels @ labels.T).toarray() > 0)
    return np.asarray(classes[:, None] == classes[None, :])
