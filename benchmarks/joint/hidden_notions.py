"""Hidden notions: the unknown notion of each comparison, out of T, is inferred together with the metrics."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint import initial_metrics
from crossview.engine.learners.papers.joint.comparison_loss import ComparisonLoss, Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, learned_at
from crossview.engine.learners.papers.joint.losses import Losses as Costs
from crossview.engine.learners.papers.joint.losses import logistic
from crossview.engine.learners.papers.joint.objectives import Inputs, JointProblem, Losses, balanced
from crossview.engine.learners.papers.joint.solver import Descent, descend
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.runtime.cancellation import checkpoint

_ROUGH_STEPS, _ROUNDS = 60, 4
"""Maximum steps of a trial from one start, and rounds between updates of the shares in the final descent."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """The result of a fit to comparisons without notions.

    Attributes:
        learned: the map and the metrics of T notions.
        shares: (T,) the share of each notion in the comparisons.
        likelihood: the mean logarithm of the probability of a comparison, in nats.
    """

    learned: Learned
    shares: Rows
    likelihood: float

    def log_probabilities(self, inputs: Inputs, constraints: Constraints) -> Rows:
        """Return (T, c), the logarithms of share times probability of constraints, on rows with the same columns."""
        embedded = inputs.project(self.learned.common) @ self.learned.local
        costs = ComparisonLoss(_tiled(constraints, len(self.shares)), inputs.count, logistic).losses(embedded).values
        return np.log(self.shares)[:, None] - costs.reshape(len(self.shares), -1)

    def memberships(self, inputs: Inputs, constraints: Constraints) -> Rows:
        """Return (T, c) probabilities that each constraint was made in each notion."""
        logarithms = self.log_probabilities(inputs, constraints)
        return np.asarray(np.exp(logarithms - np.logaddexp.reduce(logarithms, axis=0)))

    def held_out(self, inputs: Inputs, constraints: Constraints) -> float:
        """Return the mean logarithm of the probability of held-out constraints, which can show the number of
        notions."""
        logarithms = np.logaddexp.reduce(self.log_probabilities(inputs, constraints), axis=0)
        return float(np.average(logarithms, weights=constraints.weights))


def learn_hidden(inputs: Inputs, constraints: Constraints, count: int, how: JointSettings, starts: int = 6) -> Hidden:
    """Return ``count`` notions and their metrics by expectation maximisation, from the best of several random starts.

    The probability of a comparison is the sum of s_t p_t, with s_t the share of notion t and p_t = 1 / (1 + exp(near -
    far)). The objective is its mean negative logarithm plus the penalties of
    :class:`~engine.learners.papers.joint.joint.JointMetrics`. The expectation step computes the memberships s_t p_t /
    sum at every evaluation of L-BFGS, which is the maximisation step; rounds update the shares. Deterministic annealing
    made all notions equal. The notions have no order.

    Args:
        inputs: the rows.
        constraints: constraints, whose margins are ignored.
        count: T.
        how: the settings; the loss is the logistic one.
        starts: number of random starts; a few steps descend from each, and the descent continues from the best.
    """
    constraints = replace(constraints, margins=np.zeros(len(constraints)))
    constraints = replace(constraints, weights=constraints.weights / constraints.weights.sum())
    width = min(how.n_components, inputs.width)
    how = replace(how, n_components=width, loss="logistic", sharing="joint")
    tried = [_run(inputs, constraints, count, how, how.random_state + seed) for seed in range(starts)]
    return _finished(inputs, constraints, how, min(tried, key=lambda state: state[0]))


def matched(errors: Rows) -> NDArray[np.intp]:
    """Return the hidden notion of each known one, given (T known, T hidden) errors, with the smallest total error."""
    return np.asarray(linear_sum_assignment(errors)[1])


class _Mixture(ComparisonLoss):
    """The negative logarithm of each constraint's probability, over all notions in which it may have been made."""

    def __init__(self, constraints: Constraints, rows: int, count: int) -> None:
        super().__init__(_tiled(constraints, count), rows, logistic)
        self.shares = np.full(count, 1 / count)

    def memberships(self, embedded: Rows) -> Rows:
        """Return the (T, c) memberships."""
        return self._expected(self.losses(embedded))[0]

    def pulls(self, embedded: Rows, smoothing: float = 0.0) -> tuple[float, Rows]:
        """Return the loss, and its derivatives with respect to squared distances, weighted by memberships."""
        costs = self.losses(embedded)
        belonging, values = self._expected(costs)
        weights = self._weights.reshape(belonging.shape)
        shares = (weights * belonging).ravel()
        slopes = np.concatenate([shares * costs.near, shares * costs.far])
        places = np.concatenate([self._near, self._far])
        return float(weights[0] @ values), np.bincount(places, slopes, self._pairs.count).astype(float)

    def _expected(self, losses: Costs) -> tuple[Rows, Rows]:
        """Return the (T, c) memberships, and the (c,) negative logarithms of the probabilities."""
        costs = losses.values.reshape(len(self.shares), -1)
        logarithms = np.log(self.shares)[:, None] - costs
        total = np.logaddexp.reduce(logarithms, axis=0)
        return np.exp(logarithms - total), -total


MixtureState = tuple[float, Rows, Rows, Rows]
"""An objective, and the L, R and shares at which it was reached."""


def _run(inputs: Inputs, constraints: Constraints, count: int, how: JointSettings, seed: int) -> MixtureState:
    """Return the state after a few steps from a random start."""
    checkpoint()
    generator, width = np.random.default_rng(seed), how.n_components
    mixture = _Mixture(constraints, inputs.count, count)
    pooled = Notions(replace(constraints, margins=np.ones(len(constraints))), np.zeros(len(constraints), np.int64), 1)
    (factor,) = initial_metrics.first_factors(inputs, pooled, logistic, width)
    basis = np.linalg.qr(initial_metrics.stirred(factor, seed))[0]
    local = np.stack([basis.T @ factor @ generator.normal(size=(factor.shape[1], width)) for _ in range(count)])
    losses = Losses(pooled, inputs.count, logistic, width)
    factors = [basis @ factor for factor in local]
    common, local = initial_metrics.joint_start(
        inputs, factors, lambda embedded, _: losses(embedded[:1], 0.0), width, seed
    )
    return _descended(inputs, mixture, how, (0.0, common, local, mixture.shares), Descent(_ROUGH_STEPS, 1e-4, (0.0,)))


def _descended(
    inputs: Inputs, mixture: _Mixture, how: JointSettings, at: MixtureState, descent: Descent
) -> MixtureState:
    _, common, local, mixture.shares = at
    problem = JointProblem(inputs, mixture, how.alpha, (inputs.width, how.n_components, len(local)))
    optimum = descend(problem, problem.packed(common, local), descent)
    common, local = problem.unpacked(optimum.theta)
    belonging = mixture.memberships(inputs.project(common) @ local)
    weights = mixture._weights.reshape(belonging.shape)
    shares = np.maximum((weights * belonging).sum(axis=1), 1e-6)  # the logarithms of the shares must be finite
    return optimum.objective, *balanced(common, local), shares / shares.sum()


def _finished(inputs: Inputs, constraints: Constraints, how: JointSettings, at: MixtureState) -> Hidden:
    mixture = _Mixture(constraints, inputs.count, len(at[3]))
    for _ in range(_ROUNDS):
        at = _descended(inputs, mixture, how, at, Descent(how.max_iter // _ROUNDS, how.tol, (0.0,)))
    value, common, local, shares = at
    hidden = Hidden(learned_at(common, local, value), shares, 0.0)
    return replace(hidden, likelihood=hidden.held_out(inputs, constraints))


def _tiled(constraints: Constraints, count: int) -> Notions:
    """Return constraints as if each were made in every notion, notion by notion."""
    every = constraints.take(np.tile(np.arange(len(constraints)), count))
    return Notions(every, np.repeat(np.arange(count), len(constraints)), count)
