"""Instance embeddings: rows of all views of an item are near each other, and far from the rows of other items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, permutations
from typing import Annotated, Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize, linear_cost
from crossview.engine.learners.frame.settings import Between, Count, Dimensions, Positive, Seed
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Mask, MultiView, Rows, slices
from crossview.engine.learners.subspace.cca import Matrix, correlated
from crossview.engine.learners.subspace.kernel_features import (
    InstanceMap,
    KernelFeatures,
    RowsKernel,
    Scaling,
    unit_length,
)
from crossview.engine.learners.subspace.kernel_regression import PENALTIES as REGRESSION_PENALTIES
from crossview.engine.learners.subspace.kernel_regression import drawn
from crossview.engine.learners.subspace.ridge_path import RidgePath, downhill
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import over

PENALTIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""Penalties to choose from, in units of the total variance of a view."""
KERNELS = tuple(RowsKernel(scaling, bandwidth) for scaling in get_args(Scaling) for bandwidth in (1.0, 0.3))
"""Kernels to choose from; the first where none can be measured."""
FOLDS = 3
Groups = NDArray[Any] | None
Fold = tuple[NDArray[np.intp], list[Rows]]
"""The numbers of held-out items, and their embeddings in each view by a model without them."""
_UNMEASURED = 3e-3
"""The penalty if there are too few items for folds."""
_KERNEL_ITEMS = 400
"""Maximum number of items that measure the kernels, drawn at random."""
_TRIED_ROWS = 500
"""Maximum number of held-out items of a fold that measure a penalty."""
_SHARPNESS = (2.0, 4.0, 8.0, 16.0, 32.0)
_MOST_CORRELATED = 0.99


@dataclass(eq=False, repr=False)
class Instances(MultiViewLearner):
    """Embeddings of unit length, in which the rows of one item in all views are near each other and those of different
    items far apart: kernel canonical correlation analysis that identifies items.

    The analysis (Akaho 2001; Bach and Jordan, JMLR 2002) whitens the kernel features of each view with a penalty and
    finds the directions of greatest correlation r between views. Each direction has the weight r / (1 - r^2) in the
    product of two embeddings, as it has in the likelihood ratio of one item against two items under Gaussian variables.
    The kernel is Gaussian, of rows or of their signed square roots. The kernel, and then the penalty, are those with
    the smallest contrastive loss of held-out items: the mean of -log p, with p the softmax, over the held-out items, of
    the scaled cosines of an item's row with their rows in another view (van den Oord et al. 2018). At most 400 items
    measure the kernels, at a penalty of 3e-3, from which the search for the penalty descends.

    A single view keeps its kernel features of greatest variance. An added view learns to predict the mean embedding of
    its items in the other views, by ridge regression. Items with two or more views take part in the pairs of their
    views.

    Args:
        n_components: maximum number of dimensions.
        penalty: penalty of the whitening, in units of the variance of a view; None: the best of six from 1e-4 to 3e-2.
        scaling: of rows: "root", signed square roots, or "none"; None: the better.
        bandwidth: factor of the kernel's width, see ``KernelMap``; None: the better of 1 and 0.3.
        n_landmarks: maximum number of landmarks of the kernel.
        max_items: maximum number of items to learn from, drawn at random.
        random_state: seed of the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        penalty_: float, the penalty; 0 for a single view.
        scaling_: str, the scaling of rows.
        bandwidth_: float, the factor of the kernel's width.
        landmarks_: list of (m, d_v) arrays, see ``InstanceMap``.
        scales_: list of float.
        maps_: list of (m, D) arrays.
        offsets_: list of (D,) arrays.

    Raises:
        ValueError: from ``fit``, for parameters out of range, or if fewer than two items have two views.
    """

    name = "instances"
    capabilities: ClassVar[Capabilities] = Capabilities(cross_view=True, adds_views=True, main_parameter="n_components")

    penalty_: float = field(init=False)
    scaling_: Scaling = field(init=False, default="root")  # that of states of earlier versions, which name none
    bandwidth_: float = field(init=False, default=1.0)
    landmarks_: list[Rows] = field(init=False)
    scales_: list[float] = field(init=False)
    maps_: list[Rows] = field(init=False)
    offsets_: list[NDArray[np.float64]] = field(init=False)

    n_components: Dimensions = 50
    penalty: Positive | None = None
    scaling: Scaling | None = None
    bandwidth: Positive | None = None
    n_landmarks: Annotated[int, Between(2, 10_000)] = 1000
    max_items: Count = 5000
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the kernel's values, their eigenvectors, and the folds."""
        size = replace(size, items=min(size.items, self.max_items))
        return linear_cost(size, (min(size.items, self.n_landmarks),) * len(size.widths))

    def fit_folds(self, X: MultiView, y: Any = None) -> list[Fold]:
        """Fit the learner and return held-out items: those by which it measured penalties; none for too few items.

        A single view has no penalty, and its map, which learns nothing of single items, embeds the held-out items, too.

        Args, raises: as ``fit``.
        """
        return self._learned(*self._validated(X, y), True)

    def again(self) -> Self:
        """Return an unfitted copy that keeps the kernel and the penalty."""
        kernel = {"scaling": self.scaling_, "bandwidth": self.bandwidth_}
        return super().again().set_params(penalty=self.penalty_ or self.penalty, **kernel)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self._learned(views, supervision, self.penalty is None)

    def _learned(self, views: list[Rows], supervision: Supervision, in_folds: bool) -> list[Fold]:
        items = np.flatnonzero(supervision.mask.sum(axis=1) >= min(2, len(views)))
        if len(items) < 2:
            raise ValueError(f"{len(items)} items have two of the views; at least 2 are needed")
        random = check_random_state(self.random_state)
        items = items[drawn(len(items), self.max_items, random)]
        mask = supervision.mask[items]
        groups = None if supervision.groups is None else np.asarray(supervision.groups)[items]
        divided = folds_of(len(items), groups) if in_folds else []
        rows = [view[items] for view in views]
        kernel = self._kernel(rows, mask, groups, random)
        self.scaling_, self.bandwidth_ = kernel
        features = self._features(rows, mask, kernel, random)
        self.penalty_ = 0.0
        folds: list[Fold] = []
        if len(views) == 1:
            maps = [features[0].map(np.eye(features[0].rows.shape[1])[:, -self.n_components :])]
            own = unit_length(features[0].rows[:, -self.n_components :])
            folds = [(held, [own[held]]) for _, held in divided]
        else:
            maps, self.penalty_, folds = instance_maps(features, self.n_components, self.penalty, divided)
        self._hold(maps, ())
        return [(items[held], embedded) for held, embedded in folds]

    def _kernel(self, views: list[Rows], mask: Mask, groups: Groups, random: np.random.RandomState) -> RowsKernel:
        """Return the kernel with the smallest contrastive loss of drawn items; the first of those to choose from if too
        few items have two views."""
        able = [
            RowsKernel(kernel.scaling, self.bandwidth or kernel.bandwidth)
            for kernel in KERNELS
            if self.scaling in (None, kernel.scaling)
        ]
        able = list(dict.fromkeys(able))
        some = drawn(len(mask), _KERNEL_ITEMS, random)
        folds = folds_of(len(some), None if groups is None else groups[some])
        if len(able) == 1 or len(views) == 1 or not folds:
            return able[0]
        rows, mask, seed = [view[some] for view in views], mask[some], random.randint(1 << 31)

        def loss(kernel: RowsKernel) -> float:
            checkpoint()
            features = self._features(rows, mask, kernel, np.random.RandomState(seed))
            return sum(_held_out_loss(features, mask, fold, self.n_components) for fold in folds)

        return able[int(np.argmin(over(able, loss)))]

    def _features(
        self, views: list[Rows], mask: Mask, kernel: RowsKernel, random: np.random.RandomState
    ) -> list[KernelFeatures]:
        both = zip(views, mask.T, strict=True)
        return [KernelFeatures.of(rows, present, kernel, self.n_landmarks, random) for rows, present in both]

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        fitted, present = supervision.mask[:, :-1], supervision.mask[:, -1]
        items = np.flatnonzero(present & fitted.any(axis=1))
        if len(items) < 2:
            raise ValueError(f"{len(items)} items have the added view and another; at least 2 are needed")
        random = check_random_state(self.random_state)
        items = items[drawn(len(items), self.max_items, random)]
        sums = np.zeros((len(items), self.maps_[0].shape[1]))
        for view, has in enumerate(fitted[items].T):
            sums[has] += self._project(views[view][items[has]], view)
        kernel = RowsKernel(self.scaling_, self.bandwidth_)
        (features,) = self._features([views[-1][items]], np.ones((len(items), 1), bool), kernel, random)
        means = sums / fitted[items].sum(axis=1, keepdims=True)
        self._hold([regressed_map(features, means)], [self._map(view) for view in range(len(views) - 1)])

    def add_blank(self, width: int) -> None:
        """Add a view whose rows, of a width, have the embedding 0, because no items show what they have in common with
        other views."""
        weights = np.zeros((1, self.maps_[0].shape[1]))
        blank = InstanceMap(self.scaling_, np.zeros((1, width)), 1.0, weights, weights[0])
        self._hold([blank], [self._map(view) for view in range(len(self.view_widths_))])
        self.view_widths_, self.n_features_in_ = [*self.view_widths_, width], self.n_features_in_ + width

    def _hold(self, maps: Sequence["InstanceMap"], before: Sequence["InstanceMap"]) -> None:
        held = [*before, *maps]
        self.landmarks_, self.scales_ = [view_map.landmarks for view_map in held], [view_map.scale for view_map in held]
        self.maps_, self.offsets_ = [view_map.weights for view_map in held], [view_map.offsets for view_map in held]

    def _map(self, view: int) -> "InstanceMap":
        parts = self.landmarks_[view], self.scales_[view], self.maps_[view], self.offsets_[view]
        return InstanceMap(self.scaling_, *parts)

    def _project(self, rows: Rows, view: int) -> Rows:
        embedded = np.empty((len(rows), self.maps_[view].shape[1]))
        for part in slices(len(rows), len(self.landmarks_[view])):
            embedded[part] = self._map(view).embedded(rows[part])
        return embedded


def instance_maps(
    views: Sequence[KernelFeatures], size: int, penalty: float | None, folds: Sequence[tuple[Any, Any]]
) -> tuple[list[InstanceMap], float, list[Fold]]:
    """Return the maps of two or more views, see ``Instances``, their penalty, and held-out embeddings.

    Args:
        views: features of the same items in each view.
        size: maximum number of dimensions.
        penalty: the penalty; None: that with the smallest contrastive loss of held-out items.
        folds: the positions of the learned and of the held-out items of each fold.

    Returns:
        The maps, the penalty, and for each fold the positions of its held-out items and their embeddings in each view,
        by maps without them.
    """
    rows = [view.rows for view in views]
    penalties = PENALTIES if penalty is None else (penalty,)
    mask = np.column_stack([view.present for view in views])
    single = [view.astype(np.float32) for view in rows]
    whitened = over(folds, lambda fold: [_Whitening.of(view[fold[0]]) for view in single])
    embedded: dict[int, list[list[Rows]]] = {}

    def of_fold(number: int, fold: int) -> list[Rows]:
        checkpoint()
        learned, held = folds[fold]
        weights = _directions(whitened[fold], mask[learned], size, penalties[number])
        return [unit_length(view[held] @ directions) for view, directions in zip(single, weights, strict=True)]

    def loss(number: int) -> float:
        embedded[number] = over(range(len(folds)), partial(of_fold, number))
        return sum(contrastive_loss(rows, mask[held]) for (_, held), rows in zip(folds, embedded[number], strict=True))

    best = downhill(loss, len(penalties), PENALTIES.index(_UNMEASURED)) if penalty is None and folds else 0
    if folds and best not in embedded:
        loss(best)
    penalty = penalties[best] if folds or penalty is not None else _UNMEASURED
    weights = _directions([_Whitening.of(view) for view in rows], mask, size, penalty)
    maps = [view.map(directions) for view, directions in zip(views, weights, strict=True)]
    return maps, penalty, [(held, embedded[best][number]) for number, (_, held) in enumerate(folds)]


def regressed_map(features: KernelFeatures, targets: Rows) -> InstanceMap:
    """Return the map of a view by ridge regression to (n, D) instance embeddings of the same items in other views."""
    path = RidgePath.of_rows(features.rows, targets)
    penalty = path.best_penalty(REGRESSION_PENALTIES * (float(path.values.sum()) or 1.0))
    weights = features.rows.T @ path.coefficients(penalty)
    view_map = features.map(weights)
    return replace(view_map, offsets=view_map.offsets - path.means)


def _held_out_loss(features: Sequence[KernelFeatures], mask: Mask, fold: tuple[Any, Any], size: int) -> float:
    """Return the contrastive loss of the held-out items of a fold by directions of the others, at the usual penalty."""
    learned, held = fold
    single = [view.rows.astype(np.float32) for view in features]
    weights = _directions([_Whitening.of(view[learned]) for view in single], mask[learned], size, _UNMEASURED)
    embedded = [unit_length(view[held] @ directions) for view, directions in zip(single, weights, strict=True)]
    return contrastive_loss(embedded, mask[held])


def contrastive_loss(views: Sequence[Rows], mask: Mask) -> float:
    """Return the contrastive loss of (n, D) embeddings of n items in each view, of those that an (n, V) mask states to
    exist, with the best of several scales; 0 if no item has two views."""
    cosines = []
    for query, target in permutations(range(len(views)), 2):
        both = np.flatnonzero(mask[:, query] & mask[:, target])[:_TRIED_ROWS]
        if len(both):
            cosines.append((views[query][both] @ views[target][both].T).astype(np.float32))
    if not cosines:
        return 0.0
    return min(float(np.mean([_cross_entropy(scale * products) for products in cosines])) for scale in _SHARPNESS)


def _cross_entropy(scores: NDArray[Any]) -> float:
    """Return the mean of -log p of the diagonal, with p the softmax of each row."""
    below = scores - scores.max(axis=1, keepdims=True)
    return float((np.log(np.exp(below).sum(axis=1)) - below.diagonal()).mean())


@dataclass(frozen=True, eq=False)
class _Whitening:
    """The eigenvectors of the scatter of one view's features, (r, s), its s eigenvalues above rounding, and the
    features in them."""

    vectors: Matrix
    values: NDArray[np.float64]
    coordinates: Rows

    @classmethod
    def of(cls, rows: Rows) -> "_Whitening":
        few = len(rows) < rows.shape[1]
        values, vectors = np.linalg.eigh(rows @ rows.T if few else rows.T @ rows)
        large = values > values[-1] * len(values) * np.finfo(rows.dtype).eps
        large[-1] = True  # of features that are all 0, too
        values, vectors = np.maximum(values[large], np.finfo(rows.dtype).tiny), vectors[:, large]
        if few:
            return cls(rows.T @ (vectors / np.sqrt(values)), values, vectors * np.sqrt(values))
        return cls(vectors, values, rows @ vectors)

    def root(self, penalty: float) -> NDArray[np.float64]:
        """Return the factors of the coordinates, (r,), that whiten them, given a penalty."""
        total = float(self.values.sum()) or 1.0
        return np.asarray(1.0 / np.sqrt(self.values + penalty * total))


def _directions(views: Sequence[_Whitening], mask: Mask, size: int, penalty: float) -> list[Rows]:
    """Return the (r, D) weights of each view's features, given which items have which view, (n, V)."""
    roots = [view.root(penalty) for view in views]
    white = [view.coordinates * root for view, root in zip(views, roots, strict=True)]
    counts = mask.T.astype(np.float64) @ mask  # of items with both views
    cross: Mapping[tuple[int, int], Matrix] = {
        (v, w): white[v].T @ white[w] * np.sqrt(counts[v, v] * counts[w, w]) / max(counts[v, w], 1.0)
        for v, w in combinations(range(len(views)), 2)
    }
    bases, correlations = correlated(cross, size)
    correlations = np.clip(correlations, 0.0, _MOST_CORRELATED)
    scale = np.sqrt(correlations / (1.0 - correlations**2))
    return [(view.vectors * root) @ (basis * scale) for view, root, basis in zip(views, roots, bases, strict=True)]


def folds_of(count: int, groups: Groups) -> list[Any]:
    """Return the positions of learned and of held-out items of each fold; none for too few items or groups."""
    if (count if groups is None else len(np.unique(groups))) < 2 * FOLDS:
        return []
    if groups is None:
        return list(KFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(count)))
    return list(GroupKFold(FOLDS).split(np.zeros(count), groups=groups))
