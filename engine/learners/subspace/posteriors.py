"""Class posteriors: a space of class probabilities, which each view predicts for its rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize, regression_cost
from crossview.engine.learners.frame.settings import Between, Positive, Seed
from crossview.engine.learners.frame.supervision import Supervision, shared_classes
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.subspace.kernel_regression import (
    PENALTIES,
    Groups,
    KernelRegression,
    TargetedRows,
    drawn,
)
from crossview.engine.learners.subspace.row_kernel import FittedKernel, Kernel, RowKernel, Scaling, candidates
from crossview.engine.learners.subspace.temperature import best_factor, log_losses, posteriors
from crossview.engine.runtime.cancellation import checkpoint

_TRIAL_ROWS = 500
"""Maximum number of rows for the comparison of kernels, drawn at random."""

Choice = tuple[RowKernel, float | None]
"""The kernel of a view, and its penalty or one near it, if it is known."""


@dataclass(eq=False, repr=False)
class ClassPosteriors(SeparateLearner, MultiViewLearner):
    """Embeddings of rows as the probabilities of each class, by a kernel ridge regression for each view.

    The inner product of two such embeddings is the probability that the rows are of the same class, and retrieval is
    best if it ranks by this probability (the probability ranking principle, Robertson 1977): end a pipeline in ``dot``
    for that, as in "posteriors,dot". The regressions predict one-hot classes (semantic matching, Rasiwasia et al., ACM
    MM 2010), and a softmax turns the predictions into probabilities. The learner chooses all settings view by view,
    from predictions that leave the predicted row out, in closed form: the penalty by squared error; the temperature of
    the softmax by log loss; and the kernel, also by log loss, as the simplest within one standard error of the best:
    linear before Gaussian, unscaled columns before scaled ones, one scaling before two.

    Predictions of training rows are too certain. In a pipeline, training rows are therefore embedded by a regression
    that leaves them out, so that training items and new items of a database are comparable.

    If groups are known, such as the recordings of one speaker, the learner leaves out whole groups instead of single
    rows.

    Items of several labels have a probability for each label, by a logistic function with even odds at a score of one
    half. The learner leaves out rows that are alone in their class, as unlabelled rows are.

    Args:
        row_kernel: "linear", inner products; "gaussian", the mean of Gaussian kernels of five widths, see
            ``RowKernel``; None: the better of the two.
        scaling: see ``RowKernel``; None: the best of all.
        alpha: the ridge's penalty per row, in units of a row's mean squared length; None: the best of 15 from 1e-6 to
            10.
        n_landmarks: maximum number of landmarks, the rows with which the kernel compares others, drawn at random.
        random_state: seed of the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes, in the order of the embedding's columns.
        kernels_: list of the kernels, one per view.
        scalings_: list of the scalings.
        alphas_: list of the penalties.
        factors_: list of the inverse temperatures.
        losses_: list of the mean log losses of left-out training rows.
        centers_, deviations_: lists of (d_v,) arrays, means and standard deviations that standardise the columns.
        landmarks_: list of (m, d_v) rows; (0, d_v) for linear.
        distances_: list of arrays: the mean squared distances of the landmarks, two for "both"; none for linear.
        weights_: list of (K, m) arrays; (K, d_v) for linear, (K, 2 d_v) for linear with "both".
        offsets_: list of (K,) arrays.
        left_out_: list of (n_v, K) embeddings of the training rows that have the view, each left out.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, or fewer than two classes of two rows.
    """

    name = "posteriors"
    capabilities: ClassVar[Capabilities] = Capabilities(
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
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    _choices: Sequence[Choice] = field(init=False, default=())

    def again(self) -> Self:
        """Return an unfitted copy that keeps the kernel and the penalty of each view."""
        learner = super().again()
        kernels = [RowKernel(*pair) for pair in zip(self.kernels_, self.scalings_, strict=True)]
        learner._choices = list(zip(kernels, self.alphas_, strict=True))
        return learner

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the regressions, and of the trials of kernels on few rows."""
        cost = regression_cost(size, self.n_landmarks, len(PENALTIES))
        return FitCost(cost.bytes, cost.operations + self._operations_of_trials(size))

    def _operations_of_trials(self, size: FitSize) -> float:
        """Return the operations of the comparison of kernels."""
        few = replace(size, items=min(size.items, _TRIAL_ROWS))
        trial = regression_cost(few, _TRIAL_ROWS, len(PENALTIES))
        return len(candidates(self.row_kernel, self.scaling)) * trial.operations

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the number of classes."""
        return (size.classes,) * len(size.widths)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.exclusive_ = np.ndim(supervision.classes) == 1
        if self.exclusive_:
            self.classes_ = shared_classes(supervision.classes)
        else:
            self.classes_ = np.flatnonzero(supervision.classes.sum(axis=0) > 1)
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        present = supervision.mask[:, view]
        groups = None if supervision.groups is None else np.asarray(supervision.groups)[present]
        choice = self._choices[view] if self._choices else None
        return self._fit_rows(views[view][present], supervision.classes[present], groups, choice)

    def _fit_rows(self, rows: Rows, labels: Any, groups: Groups | None, choice: Choice | None) -> dict[str, Any]:
        targets = self._targets(labels)
        labelled = np.flatnonzero(targets.any(axis=1))
        if len(np.unique(targets[labelled], axis=0)) < 2:
            raise ValueError("the rows of a view are of fewer than 2 classes")
        random = check_random_state(self.random_state)
        learned = TargetedRows(rows[labelled], targets[labelled], None if groups is None else groups[labelled])
        kernel, near = choice or self._best_kernel(learned, random)
        landmarks = drawn(len(labelled), self.n_landmarks, random)
        model = KernelRegression.of(kernel, learned, landmarks, near if choice else self.alpha, near)
        factor = best_factor(model.left_out, learned.targets, self.exclusive_)
        left_out = np.empty_like(targets)
        left_out[labelled] = posteriors(model.left_out, factor, self.exclusive_)
        if len(unlabelled := np.flatnonzero(~targets.any(axis=1))):
            weights, offsets = model.weights()
            scores = model.kernel.features(rows[unlabelled]) @ weights.T + offsets
            left_out[unlabelled] = posteriors(scores, factor, self.exclusive_)
        loss = float(log_losses(model.left_out, learned.targets, factor, self.exclusive_).mean())
        return fitted_view(model, factor, loss, left_out)

    def _targets(self, labels: Any) -> Rows:
        """Return (n, K) targets, 1 if a row is of a class."""
        if not self.exclusive_:
            return np.asarray(labels[:, self.classes_].toarray() != 0, dtype=np.float64)
        return np.asarray(np.asarray(labels)[:, None] == self.classes_[None, :], dtype=np.float64)

    def _best_kernel(
        self, learned: TargetedRows, random: np.random.RandomState, usual: Sequence[RowKernel] = ()
    ) -> Choice:
        """Return the first kernel whose log loss is within one standard error of the smallest, and its penalty: usual
        ones come first, and then the simplest."""
        tried = candidates(self.row_kernel, self.scaling)
        tried.sort(key=lambda kernel: kernel not in usual)
        if len(tried) == 1:
            return tried[0], self.alpha
        sample = learned.take(drawn(len(learned.rows), _TRIAL_ROWS, random))
        every, alphas = zip(*(self._trial(kernel, sample) for kernel in tried), strict=True)
        losses = np.array(every)
        behind = losses - losses[int(np.argmin(losses.mean(axis=1)))]
        errors = np.array([sample.standard_error(gaps) for gaps in behind])
        best = int(np.argmax(behind.mean(axis=1) <= errors))
        return tried[best], alphas[best]

    def _trial(self, kernel: RowKernel, sample: TargetedRows) -> tuple[NDArray[np.float64], float]:
        """Return the log losses of left-out rows, (n,), and the penalty."""
        checkpoint()
        model = KernelRegression.of(kernel, sample, np.arange(len(sample.rows)), self.alpha)
        factor = best_factor(model.left_out, sample.targets, self.exclusive_)
        return log_losses(model.left_out, sample.targets, factor, self.exclusive_), model.alpha

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


def fitted_view(model: KernelRegression, factor: float, loss: float, left_out: Rows) -> dict[str, Any]:
    """Return the fitted attributes of one view by name: its regression and the temperature of its probabilities."""
    weights, offsets = model.weights()
    return {
        "kernels_": model.kernel.how.kernel,
        "scalings_": model.kernel.how.scaling,
        "alphas_": model.alpha,
        "factors_": factor,
        "losses_": loss,
        "centers_": model.kernel.center,
        "deviations_": model.kernel.deviation,
        "landmarks_": model.kernel.landmarks,
        "distances_": model.kernel.means,
        "weights_": weights,
        "offsets_": offsets,
        "left_out_": left_out.astype(np.float32),
    }
