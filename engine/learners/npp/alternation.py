"""Algorithm 1 of Multi-NPP: in turn, each view's projection minimises the convex bound of the objective."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.npp.problem import Problem
from crossview.engine.learners.npp.subproblem import Subproblem
from crossview.engine.learners.settings import Count, Steps, Weight
from crossview.engine.runtime.cancellation import checkpoint, report_progress

FULL_PAIRS = 5000
"""Rows of a view up to which batch_size="auto" uses all pairs."""
_BATCH = 16_384
_FACTORS = 2.0 ** np.arange(-4, 3)
_COLUMNS = 1024
"""Rows of each other view that repel a batch."""
_PROBE = 2048
"""Rows of each view by which the objective of a large problem is estimated."""


@dataclass(frozen=True)
class Optimization:
    """How to minimise the objective, and in which units.

    Attributes:
        max_iter: alternations (N), each over the views that are not frozen. The start is regularised and the loss is
            not, so a few generalise better than many.
        inner_iter: steps of each convex sub-problem at most.
        tol: stop when an alternation lowers the objective by less than this share of it.
        batch_size: None uses all rows and pairs. A number: each convex sub-problem is that of so many rows of its view,
            drawn anew, with all that attract them and some of those that repel them, so that neither time nor memory
            grow with the number of pairs. "auto": None up to 5,000 rows of a view, else 16,384.
        scaled: whether each view is centred and scaled to unit mean square first. False: rows are taken as they are.
    """

    max_iter: Steps = 2
    inner_iter: Count = 15
    tol: Weight = 1e-4
    batch_size: Count | Literal["auto"] | None = "auto"
    scaled: bool = True

    def batch(self, largest: int) -> int | None:
        """Return the rows of a batch, given the number of rows of the largest view; None: all rows and pairs."""
        if self.batch_size is None or isinstance(self.batch_size, int):
            return self.batch_size
        return _BATCH if largest > FULL_PAIRS else None


@dataclass
class Alternation:
    """Improves the projections of a problem, in place.

    Args:
        problem: what is to be improved.
        batch_size: each bound is that of so many rows of the learned view, drawn anew: with all the rows that attract
            them, and some of those that repel them. Then neither memory nor time grow with the number of pairs. None:
            all rows and pairs; the objective never rises.
        generator: draws the rows.
    """

    problem: Problem
    batch_size: int | None
    generator: np.random.RandomState

    def __post_init__(self) -> None:
        self._probe = self.problem
        if self.batch_size is not None:
            self._probe = self.problem.sample(_PROBE, self.generator)

    def rescale(self) -> None:
        """Scale all projections by the factor, of several, at which the loss is least: starts know no scale."""
        unit = self.problem.scisd.reach / max(self._probe.distance(), np.finfo(np.float64).tiny)
        factors = (unit * _FACTORS).tolist()
        best = factors[int(np.argmin(self._probe.losses(factors)))]
        self.problem.weights[:] = [best * W for W in self.problem.weights]

    def run(self, how: Optimization) -> NDArray[np.float64]:
        """Return the objective, or with batches an estimate from the same rows each time, before and after each turn.

        Args:
            how: when to stop; with batches only after all alternations.
        """
        history = [self._probe.objective()]
        done, total = 0, how.max_iter * len(self.problem.free) * how.inner_iter

        def report(steps: int) -> None:
            report_progress(done + steps, total)

        for _ in range(how.max_iter):
            before = list(self.problem.weights)
            for view in self.problem.free:
                checkpoint()
                self.problem.weights[view] = self._bound(view).solve(how.inner_iter, how.tol / 10, report)
                done += how.inner_iter
            history.append(self._probe.objective())
            if self.batch_size is not None:
                continue
            if history[-1] > history[-2]:  # by rounding, of sums over many pairs
                self.problem.weights[:], history[-1] = before, history[-2]
            if history[-2] - history[-1] <= how.tol * abs(history[-2]):
                break
        report_progress(total, total)
        return np.array(history)

    def _bound(self, view: int) -> Subproblem:
        if self.batch_size is None:
            return self.problem.bound(view)
        return self.problem.sampled_bound(view, self.batch_size, _COLUMNS, self.generator)
