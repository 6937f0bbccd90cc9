"""Classes without a training picture, told among all by the orderings that describe them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.attributes.data import Pictures
from benchmarks.attributes.methods import Codes, Rows
from engine.learners.attributes.described import log_densities
from engine.learners.attributes.relative import RelativeAttributes
from engine.learners.chain import Chain
from engine.learners.steps.normalization import Standardize
from engine.spaces.parts import own_learners

HELD_OUT_WEIGHTS = (30.0, 100.0, 300.0)
ODDS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 100.0, 300.0, 1000.0)
"""Natural logarithms of the odds of described classes."""
FOLDS = 3
AS_PUBLISHED, UNCERTAIN = "Gaussians as published", "places are uncertain"
RULES = (AS_PUBLISHED, UNCERTAIN)
EVEN, CHOSEN = "even odds", "odds chosen by held-out classes"


class Shares(NamedTuple):
    """Mean over classes of the share of their pictures that are given their class, among all."""

    held_out: float
    seen: float

    @property
    def harmonic(self) -> float:
        """Their harmonic mean, which is what settings are chosen by."""
        return 2 * self.held_out * self.seen / max(self.held_out + self.seen, 1e-12)


@dataclass(frozen=True, eq=False)
class _Task:
    """Rows of seen classes to learn from, and rows of seen and described classes to judge by."""

    rows: Rows
    codes: Codes
    queries: Rows
    query_codes: Codes
    levels: NDArray[np.float64]
    described: tuple[int, ...]

    def learner(self, weight: float) -> RelativeAttributes:
        """The attributes in which the seen classes differ, with the described ones' amounts of these."""
        seen = np.unique(self.codes)
        levels = self.levels[np.ptp(self.levels[:, seen], axis=1) > 0].T
        orderings = {str(code): levels[code] for code in (*seen.tolist(), *self.described)}
        return RelativeAttributes(weight, orderings).fit(self.rows, self.codes)

    def shares(self, learner: RelativeAttributes, rule: str) -> list[Shares]:
        """Returns what is found at all odds."""
        of_classes = _as_published(self, learner) if rule == AS_PUBLISHED else learner.class_densities(self.queries)
        densities, codes = np.array(list(of_classes.values())), np.array(list(of_classes), dtype=np.int64)
        described = np.isin(codes, self.described)[:, None]
        return [self.shares_of(codes[np.argmax(densities + odds * described, axis=0)]) for odds in ODDS]

    def shares_at(self, learner: RelativeAttributes, rule: str, odds: float) -> Shares:
        """Returns what is found at some odds."""
        if rule == AS_PUBLISHED:
            return self.shares(learner, rule)[ODDS.index(odds)]
        return self.shares_of(learner.classify(self.queries, log_odds=odds).astype(np.int64))

    def shares_of(self, predicted: Codes) -> Shares:
        """Returns what was found of the queries."""

        def mean(codes: Sequence[int]) -> float:
            return float(np.mean([np.mean(predicted[self.query_codes == code] == code) for code in codes]))

        return Shares(mean(self.described), mean(np.unique(self.codes).tolist()))


def held_out(pictures: Pictures, train: Codes, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """Returns shares by rule and odds, the mean over all pairs of classes that are held out of the training.

    The weight of the attributes and the odds are those whose harmonic mean is best where pairs of the other classes
    are held out in turn, with the training pictures alone.
    """
    codes, others = pictures.codes, np.setdiff1d(np.arange(len(pictures.codes)), train)
    found: dict[tuple[str, str], list[Shares]] = {}
    for pair in combinations(np.unique(codes).tolist(), 2):
        own = train[~np.isin(codes[train], pair)]
        chain = Chain([*own_learners([pictures.parts]), Standardize()]).fit([pictures.rows[own]], codes[own])
        rows, queries = (chain.transform(pictures.rows[chosen], view=0) for chosen in (own, others))
        task = _Task(rows, codes[own], queries, codes[others], pictures.levels, pair)
        inner = list(_inner(task, seed))
        learned = {weight: [one.learner(weight) for one in inner] for weight in HELD_OUT_WEIGHTS}
        for rule in RULES:
            grid = {
                (weight, odds): shares
                for weight, learners in learned.items()
                for odds, shares in zip(ODDS, _means(inner, learners, rule), strict=True)
            }
            for name, choices in ((EVEN, ODDS[:1]), (CHOSEN, ODDS)):
                points = [point for point in grid if point[1] in choices]
                weight, odds = max(points, key=lambda point: grid[point].harmonic)
                found.setdefault((rule, name), []).append(task.shares_at(task.learner(weight), rule, odds))
    return {
        rule: {name: Shares(*np.mean(found[rule, name], axis=0).tolist())._asdict() for name in (EVEN, CHOSEN)}
        for rule in RULES
    }


def _inner(task: _Task, seed: int) -> Iterator[_Task]:
    """Every two of the seen classes held out in turn, judged by training pictures that were not learned from."""
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(task.rows, task.codes))
    for number, pair in enumerate(combinations(np.unique(task.codes).tolist(), 2)):
        own, others = folds[number % FOLDS]
        own = own[~np.isin(task.codes[own], pair)]
        if np.any(np.ptp(task.levels[:, np.unique(task.codes[own])], axis=1)):
            yield _Task(task.rows[own], task.codes[own], task.rows[others], task.codes[others], task.levels, pair)


def _means(tasks: Sequence[_Task], learners: Sequence[RelativeAttributes], rule: str) -> list[Shares]:
    found = [task.shares(learner, rule) for task, learner in zip(tasks, learners, strict=True)]
    return [Shares(*np.mean(at_odds, axis=0).tolist()) for at_odds in zip(*found, strict=True)]


def _as_published(task: _Task, learner: RelativeAttributes) -> Mapping[str, NDArray[np.float64]]:
    """Parikh and Grauman (ICCV 2011), section 3.2: a seen class has its covariance, a described one the mean of all."""
    scores, queries = learner.transform(task.rows), learner.transform(task.queries)
    own = {code: np.atleast_2d(np.cov(scores[task.codes == code].T)) for code in np.unique(task.codes).tolist()}
    of_described: Rows = np.mean(list(own.values()), axis=0)
    places = {code: learner.place_of_class(str(code)) for code in (*own, *task.described)}
    covariances: dict[int, Rows] = {**own, **dict.fromkeys(task.described, of_described)}
    return {str(code): log_densities(queries, place, covariances[code]) for code, place in places.items()}
