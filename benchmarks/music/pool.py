"""A pool of answers that people gave once: which of them to ask for next."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.joint.asking import LEAST, ROUND, TOGETHER
from benchmarks.joint.people import Triplets
from crossview.engine.findings.questions import Places
from crossview.engine.findings.questions.beliefs import FIRST
from crossview.engine.findings.questions.choosing import information_gain
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.comparison_loss import Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, learn
from crossview.engine.learners.papers.joint.objectives import Objects
from crossview.engine.learners.papers.losses.constraints import triplets

ALPHA = 1e-2
HOW = JointSettings(n_components=10, alpha=ALPHA, loss="tste", sharing="independent", tol=1e-4, max_iter=200)
"""The settings of the embedding."""
LOOKED_AT = 2_000
"""Questions of the pool that are compared, a new draw each time."""


class Pool:
    """Asks for the answers of a pool one after another, at random or the most informative first.

    Until there are two and a half for each object, all are asked for at random, in the pool's order.

    Args:
        answers: (m, 3) all triplets, in random order.
        count: how many objects there are.
        active: whether questions are chosen.
        seed: of the draws.
    """

    def __init__(self, answers: Triplets, count: int, active: bool, seed: int) -> None:
        self._answers, self._count, self._active = answers, count, active
        self._generator = np.random.default_rng([seed, 9])
        self._left = np.arange(len(answers))
        self._asked: list[int] = []
        self._learned: Learned | None = None

    @property
    def asked(self) -> Triplets:
        """The answers so far, (k, 3)."""
        return self._answers[self._asked]

    def ask(self, until: int) -> None:
        """Ask until there have been so many answers."""
        while len(self._asked) < until:
            missing, unplaced = until - len(self._asked), int(np.ceil(FIRST * self._count)) - len(self._asked)
            if self._active and unplaced <= 0:
                self._choose(min(missing, max(len(self._asked) // ROUND, LEAST)))
            else:
                self._note(self._left[: min(missing, unplaced) if self._active else missing])

    def embedding(self) -> Rows:
        """Return the places of the objects, (n, D)."""
        notions = Notions(triplets(self.asked, 0.0), np.zeros(len(self.asked), np.int64), 1)
        self._learned = learn(Objects(self._count), notions, HOW, self._learned)
        return np.asarray(Objects(self._count).project(self._learned.factors[0]))

    def _choose(self, count: int) -> None:
        """Ask for answers, some at once, each about another object, before the artists are placed again."""
        belief = Places.of(self.embedding(), self.asked)
        for start in range(0, count, TOGETHER):
            drawn = self._generator.choice(self._left, min(LOOKED_AT, len(self._left)), replace=False)
            best = drawn[np.argsort(-gains(belief, self._answers[drawn]), kind="stable")]
            _, first = np.unique(self._answers[best, 0], return_index=True)
            places = best[np.sort(first)[: min(TOGETHER, count - start)]]
            belief.learn(self._answers[places])
            self._note(places)

    def _note(self, places: NDArray[np.intp]) -> None:
        self._asked += places.tolist()
        self._left = self._left[~np.isin(self._left, places)]


def gains(belief: Places, questions: Triplets) -> Rows:
    """Return the bits that the answers to (m, 3) questions are expected to tell, (m,)."""
    means, covariances = belief.distances(questions[:, 0], questions[:, 1:])
    variances = covariances[:, 0, 0] + covariances[:, 1, 1] - 2 * covariances[:, 0, 1]
    return information_gain(means[:, 1] - means[:, 0], np.maximum(variances, 0.0))
