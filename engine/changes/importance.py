"""Which regions matter: a metric on the region distances of versions, learned from time and perhaps some labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.changes.monotony import Monotony
from engine.learners.cancellation import checkpoint
from engine.learners.metrics.constraints import Constraints
from engine.learners.metrics.descent import Descent, descend
from engine.learners.metrics.features import Differences
from engine.learners.metrics.objective import Objective, satisfied
from engine.learners.metrics.parameters import Diagonal, Full, Metric, Parameters
from engine.learners.metrics.regularizer import Regularizer

Form = Literal["diagonal", "full"]
Rows = NDArray[np.float64]
FORMS: Mapping[Form, type[Parameters]] = {"diagonal": Diagonal, "full": Full}
WEIGHTS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Weights of the squared Frobenius norm to choose from."""
_FOLDS = 3
_FEWEST = 20  # held-out comparisons that tell one weight from another
_DESCENT = Descent(max_iter=1000, tol=1e-4, smoothing=0.05)


@dataclass(frozen=True, eq=False)
class Importance:
    """A learned metric D^2 = c^T M c, c the square roots of a pair's region distances (equations 22 and 23).

    Attributes:
        matrix: (g^2, g^2) M, positive semidefinite, of region distances as they are.
        form: "diagonal" or "full".
        frobenius: the weight of its squared norm.
        order: share of held-out comparisons in order, of the weight that was chosen; None where none was held out.
    """

    matrix: Rows
    form: Form
    frobenius: float
    order: float | None

    def distances(self, regions: Rows) -> Rows:
        """Returns the (p,) squared distances of pairs from their (p, g^2) region distances."""
        roots = np.sqrt(regions)
        return np.asarray(np.einsum("pi,pi->p", roots @ self.matrix, roots))

    def weights(self) -> Rows:
        """Returns how important each region is, (g^2,), not negative and with sum 1 unless all are zero.

        Of a diagonal metric its entries; of a full one the absolute values of its dominant eigenvector (figure 6).
        """
        found = np.diag(self.matrix) if self.form == "diagonal" else np.abs(np.linalg.eigh(self.matrix)[1][:, -1])
        total = found.sum()
        return np.asarray(found / total if total > 0 else found)

    def shares(self, regions: Rows) -> Rows:
        """Returns what each region contributes to the squared distance of pairs, (p, g^2), which they sum to."""
        roots = np.sqrt(regions)
        return np.asarray(roots * (roots @ self.matrix))


def learn(regions: Rows, known: Monotony, form: Form = "diagonal", weights: Sequence[float] = WEIGHTS) -> Importance:
    """Returns the metric that agrees best with what is assumed of versions.

    The weight of the norm is that of ``weights`` by which metrics of two thirds of the time put most quadruplets of A
    of the last third in order, each third in turn: nothing but time is needed to choose it.

    Args:
        regions: (p, g^2) region distances of ``known.pairs``.
        known: the quadruplets.
        form: of the metric.
        weights: to choose from; the first, largest one where too few quadruplets can be held out.

    Raises:
        ValueError: if there are no quadruplets, or no two versions differ.
    """
    if not len(known):
        raise ValueError("there are too few versions near each other in time to learn from")
    scale = float(regions.sum(axis=1).mean())
    if scale <= 0:
        raise ValueError("no two versions differ: there is nothing to learn from")
    features = Differences(np.vstack([np.zeros(regions.shape[1]), np.sqrt(regions / scale)]))
    chosen, order = weights[0], None
    if len(weights) > 1 and (folds := _folds(known)):
        scores = [np.mean([_held_out(features, *fold, form, weight) for fold in folds]) for weight in weights]
        chosen, order = weights[int(np.argmax(scores))], float(np.max(scores))
    metric = _fit(features, known.constraints(), form, chosen)
    return Importance(metric.matrix / scale, form, chosen, order)


def _folds(known: Monotony) -> list[tuple[Constraints, Constraints]]:
    """Returns the quadruplets outside each third of the versions, and those of A inside it."""
    near, far = known.pairs[known.near], known.pairs[known.far]
    first, last = np.minimum(near, far).min(axis=1), np.maximum(near, far).max(axis=1)
    ends = np.linspace(0, known.pairs.max() + 1, _FOLDS + 1)
    found = []
    for start, end in pairwise(ends):
        outside = np.flatnonzero((last < start) | (first >= end))
        inside = np.flatnonzero((first >= start) & (last < end) & (known.margins > 0))
        if min(len(outside), len(inside)) >= _FEWEST:
            held = known.take(inside).constraints()
            order = Constraints(held.near, held.far, np.zeros(len(held)), held.weights)
            found.append((known.take(outside).constraints(), order))
    return found


def _held_out(features: Differences, learned: Constraints, held: Constraints, form: Form, weight: float) -> float:
    return satisfied(_fit(features, learned, form, weight), features, held)


def _fit(features: Differences, constraints: Constraints, form: Form, weight: float) -> Metric:
    checkpoint()
    parameters = FORMS[form]()
    objective = Objective(features, constraints, Regularizer(frobenius=weight), parameters)
    return descend(objective, parameters.start(np.eye(features.width)), _DESCENT).metric
