"""Algorithm 1 of Multi-NPP: alternating minimisation of the convex bound of the objective in each view's projection."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.settings import Count, Steps, Weight
from crossview.engine.learners.papers.npp.problem import Problem
from crossview.engine.learners.papers.npp.subproblem import Subproblem
from crossview.engine.runtime.cancellation import checkpoint, report_progress

FULL_PAIRS = 5000
"""Maximum number of rows of a view for which batch_size="auto" uses all rows and pairs."""
_BATCH = 16_384
"""Number of rows of a batch with batch_size="auto": time and memory then stay the same for any larger view."""
_FACTORS = 2.0 ** np.arange(-4, 3)
"""Scales of the start to compare, in units of the reach of the loss."""
_COLUMNS = 1024
"""Number of rows of each other view that repel the rows of a batch."""
_PROBE = 2048
"""Number of rows of each view that serve to estimate the objective of a large problem."""


@dataclass(frozen=True)
class Optimization:
    """Settings of the minimisation, and the scale of the rows.

    Attributes:
        max_iter: maximum number of alternations (N); each alternation learns all views that are not frozen. The start
            is regularised and the loss is not, so a few alternations generalise better than many.
        inner_iter: maximum number of steps of each convex sub-problem.
        tol: stop when an alternation lowers the objective by less than this share of its value.
        batch_size: number of rows in each convex sub-problem. The rows are drawn again each time, and come with all
            rows that attract them and a sample of the rows that repel them, so that time and memory do not grow with
            the number of pairs. None uses all rows and pairs; "auto" is None up to 5,000 rows of a view, and 16,384
            above.
        scaled: whether to centre each view and scale it to unit mean square first. False uses the rows as they are.
    """

    max_iter: Steps = 2
    inner_iter: Count = 15
    tol: Weight = 1e-4
    batch_size: Count | Literal["auto"] | None = "auto"
    scaled: bool = True

    def batch(self, largest: int) -> int | None:
        """Return the number of rows of a batch, for the number of rows of the largest view; None: all rows and
        pairs."""
        if self.batch_size is None or isinstance(self.batch_size, int):
            return self.batch_size
        return _BATCH if largest > FULL_PAIRS else None


@dataclass
class Alternation:
    """The alternating minimisation of a problem, which changes the problem's projections in place.

    Args:
        problem: the problem to minimise.
        batch_size: number of rows of the learned view in each bound, see ``Optimization``. None: all rows and pairs;
            then the objective never rises.
        generator: generator of the draws.
    """

    problem: Problem
    batch_size: int | None
    generator: np.random.RandomState

    def __post_init__(self) -> None:
        self._probe = self.problem
        if self.batch_size is not None:
            self._probe = self.problem.sample(_PROBE, self.generator)

    def rescale(self) -> None:
        """Scale all projections by the one of several factors with the least loss, because starts have no scale of
        their own."""
        unit = self.problem.scisd.reach / max(self._probe.distance(), np.finfo(np.float64).tiny)
        factors = (unit * _FACTORS).tolist()
        best = factors[int(np.argmin(self._probe.losses(factors)))]
        self.problem.weights[:] = [best * W for W in self.problem.weights]

    def run(self, how: Optimization) -> NDArray[np.float64]:
        """Minimise, and return the objective before the first alternation and after each; with batches, an estimate
        from the same rows each time.

        Args:
            how: the settings; with batches, all alternations run, for any tolerance.
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
            if history[-1] > history[-2]:  # rounding in sums over many pairs
                self.problem.weights[:], history[-1] = before, history[-2]
            if history[-2] - history[-1] <= how.tol * abs(history[-2]):
                break
        report_progress(total, total)
        return np.array(history)

    def _bound(self, view: int) -> Subproblem:
        if self.batch_size is None:
            return self.problem.bound(view)
        return self.problem.sampled_bound(view, self.batch_size, _COLUMNS, self.generator)
