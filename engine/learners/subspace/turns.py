"""The turns of co-EM: regressions learn the items' classes, and predict the classes of items that they leave out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.subspace.evidence import Evidence, PredictionScore, priors
from crossview.engine.learners.subspace.kernel_regression import KernelRegression
from crossview.engine.learners.subspace.posteriors import fitted_view
from crossview.engine.learners.subspace.temperature import best_factor, log_losses, posteriors
from crossview.engine.runtime.cancellation import checkpoint

_SETTLED = 1e-3
"""Mean, over items, of the summed change of an item's probabilities below which the turns have converged."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Turn:
    """One turn: the views' regressions, learned from the probabilities of the items' classes.

    Attributes:
        regressions: one per view.
        factors: inverse temperatures of the regressions.
        posteriors: (n_v, K) posteriors of the rows of each view, each by a regression that leaves the row out.
        probabilities: (n, K) probabilities that the regressions learned.
        evidence: the evidence, with the current estimates of the shares of wrong labels and pairs.
        mask: (n, V), whether each item has each view.
        number: number of the turn, from 1.
    """

    regressions: Sequence[KernelRegression]
    factors: Sequence[float]
    posteriors: Sequence[Rows]
    probabilities: Rows
    evidence: Evidence
    mask: NDArray[np.bool_]
    number: int

    @property
    def ratios(self) -> Rows:
        """(n, K) sums over the views of the logarithms of posteriors divided by priors."""
        total = np.zeros_like(self.probabilities)
        for present, found in zip(self.mask.T, self.posteriors, strict=True):
            total[present] += log_ratios(found)
        return total

    @property
    def prediction_score(self) -> PredictionScore:
        """How well the views predict each other, held-out labels and held-out pairs."""
        prior, every = priors(self.probabilities), []
        for present, found in zip(self.mask.T, self.posteriors, strict=True):
            rows = np.tile(prior, (len(self.mask), 1))
            rows[present] = found
            every.append(rows)
        return self.evidence.prediction_score(self.probabilities, every, self.mask)

    def fitted(self, view: int) -> dict[str, Any]:
        """Return the fitted attributes of a view, which are those of class posteriors."""
        regression, factor = self.regressions[view], self.factors[view]
        targets = self.probabilities[self.mask[:, view]]
        loss = float(log_losses(regression.left_out, targets, factor, True).mean())
        return fitted_view(regression, factor, loss, self.posteriors[view])


@dataclass(frozen=True, eq=False)
class Turns:
    """The inputs that all turns share: the views' decomposed regressions, the evidence, and settings of ``CoEM``."""

    regressions: Sequence[KernelRegression]
    mask: NDArray[np.bool_]
    evidence: Evidence
    alpha: float | None
    label_noise: float | None
    max_iter: int

    def after(self, probabilities: Rows) -> Iterator[Turn]:
        """Yield the turns that begin with (n, K) probabilities, until they converge or have their maximum number."""
        turn = self.learned(probabilities)
        yield turn
        for _ in range(self.max_iter - 1):
            after = turn.evidence.probabilities(turn.ratios, turn.probabilities)
            change = np.abs(after - turn.probabilities).sum(axis=1).mean()
            turn = self.learned(after, turn)
            yield turn
            if change < _SETTLED:
                break

    def learned(self, probabilities: Rows, before: Turn | None = None) -> Turn:
        """Return the turn that learns (n, K) probabilities, as the first turn or after another."""
        checkpoint()
        evidence = self.evidence if before is None else before.evidence.learned(probabilities, self.label_noise)
        regressions, factors, found = [], [], []
        for regression, present in zip((before or self).regressions, self.mask.T, strict=True):
            targets = probabilities[present]
            regressions.append(regression.with_targets(targets, self.alpha, near=before is not None))
            factors.append(best_factor(regressions[-1].left_out, targets, True))
            found.append(posteriors(regressions[-1].left_out, factors[-1], True))
        number = 1 if before is None else before.number + 1
        return Turn(regressions, factors, found, probabilities, evidence, self.mask, number)


def log_ratios(found: Rows) -> Rows:
    """Return the logarithms of (n, K) posteriors divided by their means."""
    shares = found.mean(axis=0) + _TINY
    return np.asarray(np.log(found + _TINY) - np.log(shares / shares.sum()))
