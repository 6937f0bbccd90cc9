"""A supervised cross-view hasher: Multi-NPP with codes in place of embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from engine.learners.base import Mask, Rows
from engine.learners.cancellation import report_progress
from engine.learners.hashing.hasher import Hasher
from engine.learners.hashing.itq import rotation
from engine.learners.hashing.regression import Regression
from engine.learners.hashing.relaxed import PairLoss, RelaxedCodes
from engine.learners.npp.multi_npp import MultiNPP
from engine.learners.npp.neighborhoods import pair_relations
from engine.learners.npp.problem import draw_rows
from engine.learners.npp.relations import Similarity, similarity_of
from engine.learners.npp.start import groups
from engine.learners.settings import Bits, PairRows, Seed, Steps, Weight
from engine.learners.subspace.pca import principal_components
from engine.learners.subspace.span import Span
from engine.learners.supervision import Supervision

Matrix = NDArray[np.float64]


class _Scaled(NamedTuple):
    """Rows of a view less their mean, and divided by their root mean square."""

    span: Span
    mean: NDArray[np.float64]
    scale: float

    @classmethod
    def of(cls, rows: Rows) -> "_Scaled":
        mean = rows.mean(axis=0)
        centred = rows - mean
        scale = float(np.sqrt((centred * centred).mean())) or 1.0
        return cls(Span.of(centred / scale), mean, scale)

    @property
    def rows(self) -> Rows:
        return self.span.rows


@dataclass(eq=False, repr=False)
class NPPHash(Hasher):
    """Codes of several views in which similar items differ in few bits and dissimilar ones in half of them.

    Bit b of a row x of view v is whether w_vb (x - m_v) + c_vb > 0. The functions of all views minimise together, by
    L-BFGS on their relaxation tanh, the objective of Multi-NPP in the Hamming distance (see :class:`PairLoss`), over
    the pairs of rows of different views: what Quadrianto and Lampert (ICML 2011) leave to future work, "merging the
    phases of metric learning and the hash code generation into a single learning problem". The functions start as each
    view's regression on the classes (or on the groups that similar items form otherwise), rotated by iterative
    quantisation, and ``eta`` penalises the distance to that. The rotation is learned from predictions by regressions
    that each leave their row out, since those of rows that were learned from are overconfident. Views are centred and
    scaled to unit mean square for it, so that eta means the same for counts and for frequencies.

    A view that is added starts as the regression on the mean code of what is similar in the others, whose codes stay.
    Items may lack views: whatever rows there are take part.

    Args:
        n_bits: bits of a code (B).
        eta: weight of the distance to the start: the noisier the views, the more. The objective alone makes hard
            decisions, the start alone leaves bits where classes are not separated.
        max_iter: steps of L-BFGS at most.
        max_rows: rows of a view whose pairs are looked at, drawn by chance where there are more. The regression is on
            all rows, so that time grows with their number only linearly.
        random_state: seed of the rotation's start and of drawn rows.
        view_slices: widths of the views in a 2-D ``X``; None: two halves.

    Attributes:
        weights_: list of (B, d_v) arrays, one per view.
        means_: list of (d_v,) arrays.
        offsets_: list of (B,) arrays, c_v.
        objective_: (n_iter_ + 1,) the objective at the start and after each step, never rising; of the views fitted
            last.
        n_iter_: int, steps done.

    Raises:
        ValueError: from ``fit``, for parameters out of range, a single view, neither labels nor neighbors, or no
            similar or no dissimilar pair.
    """

    name = "npp-hash"
    capabilities = replace(MultiNPP.capabilities, binary=True, main_parameter="n_bits")

    weights_: list[Matrix] = field(init=False)
    means_: list[NDArray[np.float64]] = field(init=False)
    offsets_: list[NDArray[np.float64]] = field(init=False)

    n_bits: Bits = 64
    eta: Weight = 1e-2
    max_iter: Steps = 30
    max_rows: PairRows = 4096
    random_state: Seed | None = None
    view_slices: Sequence[int] | None = None

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        self._learn(*_known(views, given))

    def _add_view(self, views: list[Rows], given: Supervision) -> None:
        self._learn_added(*_known(views, given))

    def _learn(self, views: list[Rows], present: Mask, similar: Similarity) -> None:
        random = check_random_state(self.random_state)
        items, drawn, pairs = self._pairs(present, similar, random)
        targets = groups(similar, self.n_bits, random)
        scaled = [_Scaled.of(rows[numbers]) for rows, numbers in zip(views, items, strict=True)]
        few = [one.rows[numbers] for one, numbers in zip(scaled, drawn, strict=True)]
        regressions, predicted = [], []
        for one, numbers, chosen in zip(scaled, items, drawn, strict=True):
            regressions.append(Regression.of(one.rows, targets[numbers]))
            predicted.append(regressions[-1].left_out(one.rows, targets[numbers], chosen))
        losses = {(v, w): PairLoss(both) for (v, w), both in pairs.items() if v < w}
        relaxed = RelaxedCodes(few, losses, self.eta, _turned(regressions, np.vstack(predicted), self.n_bits, random))
        self.means_, self.weights_, self.offsets_ = [], [], []
        self._keep(scaled, relaxed)

    def _learn_added(self, views: list[Rows], present: Mask, similar: Similarity) -> None:
        new = len(views) - 1
        items, drawn, pairs = self._pairs(present, similar, check_random_state(self.random_state))
        fixed_codes = [2.0 * self._project(views[v][items[v][drawn[v]]], v) - 1.0 for v in range(new)]
        sums = sum(
            pairs[new, v].attracted.sums(np.column_stack([codes, np.ones(len(codes))]))
            for v, codes in enumerate(fixed_codes)
        )
        reached = sums[:, -1] > 0
        if not reached.any():
            raise ValueError("no row of the added view is similar to a row of the fitted views")
        scaled = _Scaled.of(views[new][items[new]])
        few = scaled.rows[drawn[new]]
        wanted = sums[reached, :-1] / sums[reached, -1:]
        start = Regression.of(few[reached], wanted)
        losses = {(v, new): PairLoss(pairs[v, new]) for v in range(new)}
        relaxed = RelaxedCodes(
            [few], losses, self.eta, [np.column_stack([start.weights, start.constants])], fixed_codes
        )
        self._keep([scaled], relaxed)

    def _pairs(self, present: Mask, similar: Similarity, random: np.random.RandomState) -> tuple[Any, Any, Any]:
        """Returns by view the items that have it and which of these rows are drawn, and the pairs of drawn rows."""
        items = [np.flatnonzero(column) for column in present.T]
        drawn = [draw_rows(len(numbers), self.max_rows, random) for numbers in items]
        rows = [numbers[chosen] for numbers, chosen in zip(items, drawn, strict=True)]
        return items, drawn, pair_relations(similar, rows)

    def _keep(self, scaled: Sequence["_Scaled"], relaxed: RelaxedCodes) -> None:
        functions = relaxed.split(self._minimized(relaxed))
        self.means_ = [*self.means_, *(one.mean for one in scaled)]
        self.weights_ = [
            *self.weights_,
            *(one.span.lifted(W[:, :-1]) / one.scale for W, one in zip(functions, scaled, strict=True)),
        ]
        self.offsets_ = [*self.offsets_, *(W[:, -1].copy() for W in functions)]

    def _minimized(self, relaxed: RelaxedCodes) -> Matrix:
        history = [relaxed(relaxed.start)[0]]

        def record(intermediate_result: Any) -> None:
            history.append(float(intermediate_result.fun))
            report_progress(len(history) - 1, self.max_iter)

        found = relaxed.start
        minimize: Any = scipy.optimize.minimize
        if self.max_iter:
            options = {"maxiter": self.max_iter}
            found = minimize(relaxed, found, jac=True, method="L-BFGS-B", callback=record, options=options).x
        report_progress(self.max_iter, self.max_iter)
        self.objective_ = np.array(history)
        self.n_iter_ = len(history) - 1
        return np.asarray(found)

    def _scores(self, rows: Rows, view: int) -> Rows:
        return np.asarray((rows - self.means_[view]) @ self.weights_[view].T + self.offsets_[view])


def _known(views: list[Rows], given: Supervision) -> tuple[list[Rows], Mask, Similarity]:
    """Returns the items that have a view: others must not change what is drawn."""
    present, similar = given.mask, similarity_of(given.classes, given.neighbors, len(given.mask))
    known = np.flatnonzero(present.any(axis=1))
    if len(known) == len(present):
        return views, present, similar
    return [rows[known] for rows in views], present[known], similar.cut(known, known)


def _turned(
    regressions: Sequence[Regression], predicted: Rows, n_bits: int, random: np.random.RandomState
) -> list[Matrix]:
    """Returns (B, d_v + 1) per view: its regression, turned so that (m, K) predictions of all views are near signs."""
    lengths = np.linalg.norm(predicted, axis=1, keepdims=True)
    directions = predicted / np.where(lengths > 0, lengths, 1.0)
    components, _ = principal_components(directions, min(n_bits, *directions.shape))
    padded = np.zeros((len(directions), n_bits))
    padded[:, : len(components)] = directions @ components.T
    turned = rotation(padded, random)[: len(components)].T @ components
    size = float(np.abs(predicted @ turned.T).mean()) or 1.0
    return [np.column_stack([turned @ one.weights / size, np.zeros(n_bits)]) for one in regressions]
