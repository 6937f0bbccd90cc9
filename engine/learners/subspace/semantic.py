"""Semantic matching: a shared space of class predictions, which each view makes for its rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV

from crossview.engine.learners.frame.base import MANY_ITEMS, MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.frame.settings import Positive
from crossview.engine.learners.frame.supervision import Supervision, rows_of_classes, shared_classes
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows

_ALPHAS = np.logspace(-4, 2, 13)
_LOGISTIC_ALPHA = 0.01
_ITERATIONS = 1000  # maximum for the logistic regression, which needs some tens on standardised columns
_NEVER = -1e9  # log odds with a probability of zero
_ROUNDING = 1e-12  # predictions are of order one, so shorter ones have no direction but rounding


@dataclass(eq=False, repr=False)
class SemanticMatching(LinearLearner, SeparateLearner, MultiViewLearner):
    """Embeddings of rows as K class predictions, by a regression of each view separately on the classes.

    Semantic matching of Rasiwasia et al. (A new approach to cross-modal multimedia retrieval, ACM MM 2010). The learner
    leaves out rows that are alone in their class, as unlabelled rows are.

    Args:
        regression: "ridge" regresses on one-hot classes by least squares; "logistic" is multinomial and embeds a row as
            its class posteriors.
        alpha: the penalty, one for all views or one per view: ridge adds alpha |W|^2 to the mean squared error,
            logistic alpha/2 |W|^2 to the mean log loss. None, and for views added later: for ridge the best of 13
            values from 1e-4 to 100 by leave-one-out error, view by view; for logistic 0.01.
        standardize: divide each column by its standard deviation first, so that the penalty does not depend on units.
            False: divide all columns of a view by one number, which makes their mean variance 1; columns then keep
            their relative sizes, as columns of a kernel map or of a PCA should.
        center: subtract the mean of the training predictions.
        normalize: divide each embedding by its Euclidean length, so that distances rank as the cosine does; embeddings
            of zeros stay.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (K,) the classes, in the order of the embedding's columns.
        alphas_: list of the penalties used, one per view.
        offsets_: list of (K,) arrays, added to the linear predictions.
        centers_: list of (K,) arrays, subtracted from the predictions.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, or fewer than two classes of two rows.
    """

    name = "semantic"
    max_items = MANY_ITEMS
    capabilities: ClassVar[Capabilities] = Capabilities(
        cross_view=True, needs_labels=True, adds_views=True, main_parameter="alpha"
    )

    alphas_: list[float] = field(init=False)
    offsets_: list[NDArray[np.float64]] = field(init=False)
    centers_: list[NDArray[np.float64]] = field(init=False)

    regression: Literal["ridge", "logistic"] = "ridge"
    alpha: Positive | Sequence[Positive] | None = None
    standardize: bool = True
    center: bool = True
    normalize: bool = True
    view_slices: Sequence[int] | None = None

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        if isinstance(self.alpha, Sequence | np.ndarray) and len(self.alpha) != len(views):
            raise ValueError(f"alpha={self.alpha} must be one number, or one for each of the {len(views)} views")
        self.classes_: NDArray[Any] = shared_classes(supervision.classes)
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, labels = present_rows(views, supervision, view)
        rows, codes = rows_of_classes(rows, np.asarray(labels), self.classes_)
        mean, deviation = rows.mean(axis=0), _deviations(rows, self.standardize)
        regress = _ridge if self.regression == "ridge" else _logistic
        weights, offsets, alpha = regress((rows - mean) / deviation, codes, len(self.classes_), self._alpha(view))
        weights = weights / deviation
        center = self._activate((rows - mean) @ weights.T + offsets).mean(axis=0)
        return {"weights_": weights, "means_": mean, "offsets_": offsets, "centers_": center, "alphas_": alpha}

    def _alpha(self, view: int) -> float | None:
        """Return the penalty of a view; None if none is given."""
        if isinstance(self.alpha, Sequence | np.ndarray):
            return self.alpha[view] if view < len(self.alpha) else None
        return self.alpha

    def _activate(self, predictions: Rows) -> Rows:
        return softmax(predictions, axis=1) if self.regression == "logistic" else predictions

    def _project(self, rows: Rows, view: int) -> Rows:
        embeddings = self._activate(super()._project(rows, view) + self.offsets_[view])
        if self.center:
            embeddings = embeddings - self.centers_[view]
        if self.normalize:
            lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
            embeddings = np.divide(embeddings, lengths, out=np.zeros_like(embeddings), where=lengths > _ROUNDING)
        return embeddings


def _deviations(rows: Rows, standardize: bool) -> Rows:
    """Return the divisors of the columns: (d,) standard deviations, 1 for constant columns; or one number for all."""
    if standardize:
        return Standardize().fit([rows]).deviations_[0]
    deviation = float(np.sqrt(rows.var(axis=0).mean()))
    rounding = 10 * np.finfo(np.float64).eps * float(np.abs(rows).max())
    return np.full(rows.shape[1], deviation if deviation > rounding else 1.0)


def _ridge(
    rows: Rows, codes: NDArray[np.intp], classes: int, alpha: float | None
) -> tuple[Rows, NDArray[np.float64], float]:
    """Return the (K, d) weights, (K,) offsets and penalty of ridge regression on one-hot classes."""
    targets = np.eye(classes)[codes]
    if alpha is None:
        model = RidgeCV(alphas=_ALPHAS * len(rows)).fit(rows, targets)
        return model.coef_, model.intercept_, float(model.alpha_) / len(rows)
    model = Ridge(alpha=alpha * len(rows)).fit(rows, targets)
    return model.coef_, model.intercept_, float(alpha)


def _logistic(
    rows: Rows, codes: NDArray[np.intp], classes: int, alpha: float | None
) -> tuple[Rows, NDArray[np.float64], float]:
    """Return the results of :func:`_ridge` for logistic regression, which never predicts a class without rows."""
    alpha = _LOGISTIC_ALPHA if alpha is None else alpha
    model = LogisticRegression(C=1 / (alpha * len(rows)), max_iter=_ITERATIONS).fit(rows, codes)
    slopes, constants = model.coef_, model.intercept_
    if len(slopes) == 1:  # with two classes, only the second has weights; the first class's are zeros
        slopes, constants = np.vstack([np.zeros_like(slopes), slopes]), np.append(0.0, constants)
    weights, offsets = np.zeros((classes, rows.shape[1])), np.full(classes, _NEVER)
    weights[model.classes_], offsets[model.classes_] = slopes, constants
    return weights, offsets, float(alpha)
