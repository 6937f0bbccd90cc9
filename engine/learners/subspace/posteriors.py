"""Class posteriors: each view predicts how likely a row is of each class, and these probabilities are the space."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from engine.learners.base import Rows, SeparateLearner
from engine.learners.cancellation import checkpoint
from engine.learners.capabilities import Capabilities
from engine.learners.settings import Between, Positive, Seed
from engine.learners.subspace.calibration import best_factor, log_losses, posteriors
from engine.learners.subspace.ridge_path import RidgePath
from engine.learners.subspace.row_kernel import FittedKernel, Kernel, RowKernel, Scaling, candidates
from engine.learners.supervision import Supervision, shared_classes

_PENALTIES = np.logspace(-6, 1, 15)
"""Per row, in units of a row's mean squared length."""
_TRIAL_ROWS = 800
"""Rows by which kernels are compared, drawn by chance where there are more."""
_JITTER = 1e-8
"""Added to a Gaussian kernel of landmarks, which equal rows make singular."""
Groups = NDArray[np.intp]


@dataclass(eq=False, repr=False)
class ClassPosteriors(SeparateLearner):
    """Embeds a row as the probabilities that it is of each class, by a kernel ridge regression for each view.

    The inner product of two such embeddings is the probability that the rows are of the same class, and to rank by it
    is best for retrieval (the probability ranking principle, Robertson 1977): end a pipeline in ``dot`` for that, as
    in "posteriors,dot". The regressions predict one-hot classes (semantic matching, Rasiwasia et al., ACM MM 2010); a
    softmax of the predictions makes the probabilities. Every choice is made view by view and by predictions that leave
    the predicted row out, in closed form: the penalty by squared error; the temperature of the softmax by log loss; and
    the kernel, by log loss too, as the simplest within one standard error of the best: linear before Gaussian, columns
    as they are before scaled ones, one scaling before two.

    Rows that were learned from are known too well. In a pipeline they are embedded as by a regression that leaves them
    out, so that a database of learned and of new items is fair to both.

    Where groups are known, such as the recordings of one speaker, whole groups are left out, not single rows.

    Items of several labels have the probability of each; it is a logistic function then, with even odds at a score of
    one half. Rows alone in their class, as unlabelled items are, are left out.

    Args:
        row_kernel: "linear", inner products; "gaussian", the mean of Gaussian kernels of five widths, see
            ``RowKernel``; None: one of them.
        scaling: of the columns: "none"; "sqrt", signed square roots; "standardize", to unit variance; "both", the mean
            of the last two kernels; None: one of them.
        alpha: the ridge's penalty per row, in units of a row's mean squared length; None: of 15 from 1e-6 to 10.
        n_landmarks: rows that others are compared with, drawn by chance where there are more.
        random_state: seed of the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes, in the order of the embedding's columns.
        kernels_: list of the kernels, one per view.
        scalings_: list of the scalings.
        alphas_: list of the penalties.
        factors_: list of the inverse temperatures.
        losses_: list of the mean log losses of training rows that were left out.
        centers_, deviations_: lists of (d_v,) arrays: what columns are standardised by.
        landmarks_: list of (m, d_v) rows; (0, d_v) for linear.
        distances_: list of arrays: the mean squared distances of the landmarks, of "both" two; none for linear.
        weights_: list of (K, m) arrays; (K, d_v) for linear, of "both" (K, 2 d_v).
        offsets_: list of (K,) arrays.
        left_out_: list of (n_v, K) embeddings of the training rows that have the view, each left out.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, or fewer than two classes of two rows.
    """

    name = "posteriors"
    capabilities = Capabilities(
        cross_view=True, needs_labels=True, multilabel=True, adds_views=True, main_parameter="row_kernel"
    )

    classes_: NDArray[Any] = field(init=False)
    exclusive_: bool = field(init=False)
    kernels_: list[Kernel] = field(init=False)
    scalings_: list[Scaling] = field(init=False)
    alphas_: list[float] = field(init=False)
    factors_: list[float] = field(init=False)
    losses_: list[float] = field(init=False)
    centers_: list[NDArray[np.float64]] = field(init=False)
    deviations_: list[NDArray[np.float64]] = field(init=False)
    landmarks_: list[Rows] = field(init=False)
    distances_: list[NDArray[np.float64]] = field(init=False)
    weights_: list[NDArray[np.float64]] = field(init=False)
    offsets_: list[NDArray[np.float64]] = field(init=False)
    left_out_: list[NDArray[np.float32]] = field(init=False)

    row_kernel: Kernel | None = None
    scaling: Scaling | None = None
    alpha: Positive | None = None
    n_landmarks: Annotated[int, Between(2, 10_000)] = 2500
    random_state: Seed | np.random.RandomState | None = None
    view_slices: Sequence[int] | None = None

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        self.exclusive_ = np.ndim(given.classes) == 1
        if self.exclusive_:
            self.classes_ = shared_classes(given.classes)
        else:
            self.classes_ = np.flatnonzero(given.classes.sum(axis=0) > 1)
        super()._fit(views, given)

    def _fit_present(self, views: list[Rows], given: Supervision, view: int) -> dict[str, Any]:
        checkpoint()
        present = given.mask[:, view]
        groups = None if given.groups is None else np.asarray(given.groups)[present]
        return self._fit_rows(views[view][present], given.classes[present], groups)

    def _fit_rows(self, rows: Rows, labels: Any, groups: Groups | None) -> dict[str, Any]:
        targets = self._targets(labels)
        known = np.flatnonzero(targets.any(axis=1))
        if len(np.unique(targets[known], axis=0)) < 2:
            raise ValueError("the rows of a view are of fewer than 2 classes")
        random = check_random_state(self.random_state)
        learned = _Examples(rows[known], targets[known], None if groups is None else groups[known])
        kernel = self._best_kernel(learned, random)
        landmarks = _drawn(len(known), self.n_landmarks, random)
        model = _Model.of(kernel, learned, landmarks, self.alpha)
        factor = best_factor(model.left_out, learned.targets, self.exclusive_)
        fitted = model.kernel
        weights, offsets = model.weights()
        left_out = np.empty_like(targets)
        left_out[known] = posteriors(model.left_out, factor, self.exclusive_)
        if len(others := np.flatnonzero(~targets.any(axis=1))):
            scores = fitted.features(rows[others]) @ weights.T + offsets
            left_out[others] = posteriors(scores, factor, self.exclusive_)
        return {
            "kernels_": kernel.kernel,
            "scalings_": kernel.scaling,
            "alphas_": model.alpha,
            "factors_": factor,
            "losses_": float(log_losses(model.left_out, learned.targets, factor, self.exclusive_).mean()),
            "centers_": fitted.center,
            "deviations_": fitted.deviation,
            "landmarks_": fitted.landmarks,
            "distances_": fitted.means,
            "weights_": weights,
            "offsets_": offsets,
            "left_out_": left_out.astype(np.float32),
        }

    def _targets(self, labels: Any) -> Rows:
        """Returns (n, K), 1 where a row is of a class."""
        if not self.exclusive_:
            return np.asarray(labels[:, self.classes_].toarray() != 0, dtype=np.float64)
        return np.asarray(np.asarray(labels)[:, None] == self.classes_[None, :], dtype=np.float64)

    def _best_kernel(self, learned: "_Examples", random: np.random.RandomState) -> RowKernel:
        """Returns the simplest kernel whose log loss is within one standard error of the least."""
        tried = candidates(self.row_kernel, self.scaling)
        if len(tried) == 1:
            return tried[0]
        drawn = learned.take(_drawn(len(learned.rows), _TRIAL_ROWS, random))
        losses = np.array([self._losses(kernel, drawn) for kernel in tried])
        behind = losses - losses[int(np.argmin(losses.mean(axis=1)))]
        errors = np.array([drawn.standard_error(one) for one in behind])
        return tried[int(np.argmax(behind.mean(axis=1) <= errors))]

    def _losses(self, kernel: RowKernel, drawn: "_Examples") -> NDArray[np.float64]:
        checkpoint()
        left_out = _Model.of(kernel, drawn, np.arange(len(drawn.rows)), self.alpha).left_out
        factor = best_factor(left_out, drawn.targets, self.exclusive_)
        return log_losses(left_out, drawn.targets, factor, self.exclusive_)

    def _project(self, rows: Rows, view: int) -> Rows:
        kernel = FittedKernel(
            RowKernel(self.kernels_[view], self.scalings_[view]),
            self.centers_[view],
            self.deviations_[view],
            self.landmarks_[view],
            self.distances_[view],
        )
        scores = kernel.features(rows) @ self.weights_[view].T + self.offsets_[view]
        return posteriors(scores, self.factors_[view], self.exclusive_)


@dataclass(frozen=True, eq=False)
class _Examples:
    """Rows of one view that are learned from."""

    rows: Rows
    targets: Rows
    """(n, K), 1 where a row is of a class."""
    groups: Groups | None
    """(n,), of the rows that are left out together; None: each alone."""

    def take(self, chosen: NDArray[np.intp]) -> "_Examples":
        groups = None if self.groups is None else self.groups[chosen]
        return _Examples(self.rows[chosen], self.targets[chosen], groups)

    def standard_error(self, values: NDArray[np.float64]) -> float:
        """Returns that of the mean of (n,) values, of which those of a group may go together."""
        off = values - values.mean()
        if self.groups is not None:
            off = np.bincount(np.unique(self.groups, return_inverse=True)[1], off)
        return float(np.sqrt(np.square(off).sum()) / len(values))


@dataclass(frozen=True, eq=False)
class _Model:
    """A regression of one view, with the features by which rows are described: those of the kernel times ``root``."""

    kernel: FittedKernel
    root: Rows | None
    features: Rows
    path: RidgePath
    penalty: float
    alpha: float
    left_out: Rows

    @classmethod
    def of(cls, kernel: RowKernel, learned: _Examples, landmarks: NDArray[np.intp], alpha: float | None) -> "_Model":
        fitted = FittedKernel.of(kernel, learned.rows, landmarks)
        features, root = fitted.features(learned.rows), None
        every = len(landmarks) == len(learned.rows)
        gaussian = kernel.kernel == "gaussian"
        if gaussian and not every:
            root = _inverse_root(features[landmarks])
            # A landmark is compared with itself, which a new row never is: instead its value is what the others say.
            features[landmarks, np.arange(len(landmarks))] -= 1 / np.square(root).sum(axis=1)
            features = features @ root
        whole = gaussian and every
        path = RidgePath.of_gram(features, learned.targets) if whole else RidgePath.of_rows(features, learned.targets)
        unit = float(path.values.sum()) or 1.0  # n times the mean squared length of centred rows
        penalty = path.best_penalty(_PENALTIES * unit, learned.groups) if alpha is None else alpha * unit
        return cls(fitted, root, features, path, penalty, penalty / unit, path.left_out(penalty, learned.groups))

    def weights(self) -> tuple[Rows, NDArray[np.float64]]:
        """Returns (K, m) weights of the kernel's features and (K,) offsets."""
        coefficients, mean = self.path.coefficients(self.penalty), self.features.mean(axis=0)
        whole = self.kernel.how.kernel == "gaussian" and self.root is None
        weights = coefficients if whole else (self.features - mean).T @ coefficients
        offsets = self.path.means - mean @ weights
        return (weights if self.root is None else self.root @ weights).T, offsets


def _drawn(count: int, most: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Returns the positions of all of ``count`` rows, or of so many drawn by chance, ascending."""
    if count <= most:
        return np.arange(count)
    return np.sort(random.permutation(count)[:most])


def _inverse_root(kernel: Rows) -> Rows:
    """Returns a triangular R with R R^T = K^-1, of an (m, m) kernel with a little more on its diagonal."""
    factor = np.linalg.cholesky(kernel + _JITTER * np.eye(len(kernel)))
    return np.asarray(solve_triangular(factor, np.eye(len(kernel)), lower=True).T)
