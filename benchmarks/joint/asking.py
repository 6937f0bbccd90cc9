"""Sessions of asking simulated people: which questions are put, and what is learned from the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.joint.methods import SOLVING
from benchmarks.joint.people import Person, Table, Triplets, seconds, wrong
from crossview.engine.findings.questions import Places, choose
from crossview.engine.findings.questions.beliefs import FIRST
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.papers.joint.joint_objects import JointObjects, tuned

FIRST_HOW = replace(SOLVING, n_components=10, loss="tste", sharing="independent")
"""The settings of the embedding until answers choose others."""
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


class Session:
    """One person's answers about objects in one notion, and the embedding that is learned from them."""

    def __init__(self, way: Way, distances: Table, person: Person, seed: int) -> None:
        self._way, self._distances, self._person = way, distances, person
        self._seed, self._generator = seed, np.random.default_rng([seed, way.candidates, way.active])
        self.answers: Triplets = np.empty((0, 3), dtype=np.int64)
        self.questions = 0
        self._how = FIRST_HOW

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
        return JointObjects(self._how).fit(Comparisons(self.answers), len(self._distances)).embeddings_[""]

    def error(self, test: Triplets) -> float:
        """Return the share of test triplets that the embedding orders wrongly, after the answers chose its settings."""
        self._how = tuned(self._how, Comparisons(self.answers), len(self._distances))
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
