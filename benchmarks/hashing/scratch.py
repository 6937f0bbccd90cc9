"""SCRATCH, a discrete hasher of the literature that the hashing benchmark compares with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Bits, Positive, Seed, Steps
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, complete
from crossview.engine.learners.hashing.hasher import Hasher
from crossview.engine.learners.hashing.itq import turned_to
from crossview.engine.learners.subspace.span import Span
from crossview.engine.runtime.cancellation import checkpoint

Matrix = NDArray[np.float64]


class MatrixFactorizationHashing(Hasher):
    """One code for all views of a training item, by factorisation of the views' rows and of the labels.

    Li et al., "SCRATCH: a scalable discrete matrix factorization hashing for cross-modal retrieval" (ACM MM 2018;
    TCSVT 2020): B codes, V a latent representation of the items, columns each, minimise

        sum_v lambda_v |X_v - U_v V|^2 + alpha |L - G V|^2 + |B - R V|^2 + sum_v mu |V - W_v X_v|^2
            + gamma (|U_v|^2 + |G|^2 + |V|^2 + |W_v|^2),  R orthogonal, B of -1 and 1,

    by turns in closed form, X_v being the rows less their mean, L one-hot classes, and lambda_v one half. Items that
    were learned from have the codes B; the code of a further row x is sign(R W_v x).

    Args:
        n_bits: bits of a code.
        alpha: weight of the labels.
        mu: weight of the functions of rows.
        gamma: weight of the regularisation.
        max_iter: turns.
        random_state: seed of the start.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        codes_: (n, B) codes, 0 and 1, of the training items.
    """

    name = "scratch"
    capabilities = Capabilities(
        cross_view=True,
        needs_labels=True,
        least_views=2,
        most_views=2,
        binary=True,
        codes_of_vectors=True,
        main_parameter="n_bits",
    )

    codes_: Rows

    def __init__(
        self,
        n_bits: Bits = 64,
        alpha: Positive = 500.0,
        mu: Positive = 1000.0,
        gamma: Positive = 5.0,
        max_iter: Steps = 20,
        random_state: Seed | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.alpha = alpha
        self.mu = mu
        self.gamma = gamma
        self.max_iter = max_iter
        self.random_state = random_state
        self.view_slices = view_slices

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        random = check_random_state(self.random_state)
        _, classes = np.unique(np.asarray(supervision.classes)[supervision.mask.all(axis=1)], return_inverse=True)
        views = complete(views, supervision.mask)
        self.means_ = [rows.mean(axis=0) for rows in views]
        spans = [Span.of(rows - mean) for rows, mean in zip(views, self.means_, strict=True)]
        functions = [_Regression.of(span.rows, self.gamma / self.mu) for span in spans]
        factored = [(0.5, span.rows) for span in spans] + [(self.alpha, np.eye(classes.max() + 1)[classes])]
        latent = random.standard_normal((len(classes), self.n_bits))
        turn = np.linalg.qr(random.standard_normal((self.n_bits, self.n_bits)))[0]
        for _ in range(self.max_iter):
            checkpoint()
            codes = np.where(latent @ turn.T >= 0, 1.0, -1.0)
            latent = self._latent(factored, functions, latent, codes @ turn)
            turn = turned_to(latent, codes).T
        self.weights_ = [
            span.lifted(turn @ function.weights(latent)) for span, function in zip(spans, functions, strict=True)
        ]
        self.codes_ = (latent @ turn.T >= 0).astype(float)

    def _latent(
        self, factored: Sequence[tuple[float, Rows]], functions: "Sequence[_Regression]", latent: Rows, turned: Rows
    ) -> Rows:
        """Return the best V, (n, B), where the factors and functions are the best ones of the V before.

        Args:
            factored: the (n, d) rows that are factorised, with their weights.
            functions: of the views.
            latent: (n, B), the V before.
            turned: (n, B) codes, turned back.
        """
        own, gram = np.eye(self.n_bits), latent.T @ latent
        quadratic: Matrix = (1.0 + self.gamma + self.mu * len(functions)) * own
        linear = turned + self.mu * np.sum([function.predicted(latent) for function in functions], axis=0)
        for weight, rows in factored:
            factor = np.linalg.solve(weight * gram + self.gamma * own, weight * latent.T @ rows)
            quadratic = quadratic + weight * factor @ factor.T
            linear = linear + weight * rows @ factor.T
        return np.asarray(np.linalg.solve(quadratic, linear.T).T)

    def _scores(self, rows: Rows, view: int) -> Rows:
        return np.asarray((rows - self.means_[view]) @ self.weights_[view].T)


@dataclass(frozen=True)
class _Regression:
    """Ridge regressions without a constant, of any targets on the same (n, d) rows P S Q^T."""

    left: Rows
    values: NDArray[np.float64]
    right: Matrix
    penalty: float

    @classmethod
    def of(cls, rows: Rows, penalty: float) -> "_Regression":
        return cls(*np.linalg.svd(rows, full_matrices=False), penalty)

    def weights(self, targets: Rows) -> Matrix:
        """Return (B, d) for (n, B) targets."""
        shrunk = self.values / (self.values**2 + self.penalty)
        return np.asarray(((targets.T @ self.left) * shrunk) @ self.right)

    def predicted(self, targets: Rows) -> Rows:
        """Return what the regression of (n, B) targets predicts for its rows."""
        shares = self.values**2 / (self.values**2 + self.penalty)
        return np.asarray((self.left * shares) @ (self.left.T @ targets))
