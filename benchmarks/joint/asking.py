"""Sessions of asking simulated people: which questions are put, and what is learned from the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.joint.people import Person, Table, Triplets, seconds, wrong
from crossview.engine.findings.questions import Places, choose
from crossview.engine.findings.questions.beliefs import FIRST
from crossview.engine.learners.papers.joint.comparison_loss import Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, learn
from crossview.engine.learners.papers.joint.losses import LossName
from crossview.engine.learners.papers.joint.objectives import Objects
from crossview.engine.learners.papers.losses.constraints import triplets

DIMENSIONS, PENALTY = 10, 5.0
"""Dimension of the embedding, and the weight of its penalty divided by the number of triplets."""
ROUND, LEAST, TOGETHER = 8, 10, 10
"""An embedding is learned again after an eighth more questions, LEAST at least; so many are chosen at once."""
GRID, PICKS = 9, 4


@dataclass(frozen=True)
class Way:
    """A way to ask: the number of candidates of a question, how many are picked, and whether questions are random."""

    candidates: int
    picks: int
    active: bool

    @property
    def triplets(self) -> int:
        """Triplets of an answer."""
        return self.picks * (self.candidates - self.picks)

    @property
    def seconds(self) -> float:
        """Time that an answer takes."""
        return seconds(self.candidates, self.picks)


WAYS: Mapping[str, Way] = {
    "random": Way(2, 1, active=False),
    "active": Way(2, 1, active=True),
    "grid": Way(GRID, PICKS, active=False),
    "active grid": Way(GRID, PICKS, active=True),
}


def learned(answers: Triplets, count: int, alpha: float, loss: LossName, before: Learned | None) -> Learned:
    """Return an embedding of ``count`` objects that (m, 3) triplets order; ``before``: where the descent begins."""
    constraints = Notions(triplets(answers, 0.0), np.zeros(len(answers), np.int64), 1)
    how = JointSettings(n_components=DIMENSIONS, alpha=alpha, loss=loss, sharing="independent", tol=1e-4, max_iter=200)
    return learn(Objects(count), constraints, how, before)


class Session:
    """One person's answers about objects in one notion, and the embedding that is learned from them."""

    def __init__(self, way: Way, distances: Table, person: Person, seed: int) -> None:
        self._way, self._distances, self._person = way, distances, person
        self._seed, self._generator = seed, np.random.default_rng([seed, way.candidates, way.active])
        self.answers: Triplets = np.empty((0, 3), dtype=np.int64)
        self.questions = 0
        self._learned: Learned | None = None

    def ask(self, until: int) -> None:
        """Put questions until there have been so many."""
        while self.questions < until:
            if self._way.active and len(self.answers) >= FIRST * len(self._distances):
                count = min(max(self.questions // ROUND, LEAST), until - self.questions)
                self._answer_chosen(count)
            else:
                remaining = int(np.ceil(FIRST * len(self._distances) / self._way.triplets)) - self.questions
                count = until - self.questions
                self._note(self._random(min(count, remaining) if self._way.active else count))

    def embedding(self) -> NDArray[np.float64]:
        """Return the places of the objects, (n, D)."""
        count = len(self._distances)
        alpha = PENALTY * self._way.triplets**0.5 / len(self.answers)  # triplets of one grid share what they tell
        self._learned = learned(self.answers, count, alpha, "logistic", self._learned)
        return np.asarray(Objects(count).project(self._learned.factors[0]))

    def error(self, test: Triplets) -> float:
        """Return the share of test triplets that the embedding orders wrongly."""
        embedded = self.embedding()
        return wrong(cdist(embedded, embedded, "sqeuclidean"), test)

    def slips(self) -> float:
        """Return the share of all answered triplets that are wrong."""
        return wrong(self._distances, self.answers)

    def _answer_chosen(self, count: int) -> None:
        belief = Places.of(self.embedding(), self.answers)
        answers: list[Triplets] = []
        while len(answers) < count:
            seed = self._seed * 1_000_003 + self.questions + len(answers)
            together = min(TOGETHER, count - len(answers))
            questions = choose(belief, size=self._way.candidates, count=together, seed=seed, asked=self.answers)
            answered = [self._answered(question.anchor, question.candidates) for question in questions]
            belief.learn(np.concatenate(answered))
            answers += answered
        self._note(answers)

    def _random(self, count: int) -> list[Triplets]:
        objects, generator = len(self._distances), self._generator
        drawn = (generator.choice(objects, self._way.candidates + 1, replace=False) for _ in range(count))
        return [self._answered(int(items[0]), items[1:].tolist()) for items in drawn]

    def _answered(self, anchor: int, candidates: Sequence[int]) -> Triplets:
        return self._person.answer(self._distances, anchor, candidates, self._way.picks, self._generator)

    def _note(self, answers: Sequence[Triplets]) -> None:
        self.answers = np.concatenate([self.answers, *answers])
        self.questions += len(answers)
