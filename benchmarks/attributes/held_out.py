"""Recognition of classes without a training picture, by the orderings that describe them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.attributes.data import Pictures
from benchmarks.attributes.methods import Codes
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import Standardize
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.attributes.class_scores import log_densities
from crossview.engine.learners.papers.attributes.described_odds import ODDS, Shares, held_out_in_turn, shares_at_odds
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes
from crossview.engine.spaces.pipeline import own_learners

HELD_OUT_WEIGHTS = (30.0, 100.0, 300.0)
AS_PUBLISHED, UNCERTAIN = "Gaussians as published", "places are uncertain"
RULES = (AS_PUBLISHED, UNCERTAIN)
EVEN, CHOSEN = "even odds", "odds chosen by held-out classes"


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
        """Return the attributes in which the seen classes differ, with the described ones' amounts of these."""
        classes = np.unique(self.codes)
        levels = self.levels[np.ptp(self.levels[:, classes], axis=1) > 0].T
        orderings = {str(code): levels[code] for code in (*classes.tolist(), *self.described)}
        return RelativeAttributes(weight, orderings, log_odds=0.0).fit(self.rows, self.codes)

    def shares(self, learner: RelativeAttributes, rule: str) -> list[Shares]:
        """Return what is found at all odds."""
        of_classes = _as_published(self, learner) if rule == AS_PUBLISHED else learner.class_densities(self.queries)
        return shares_at_odds(of_classes, self.query_codes, self.described)

    def shares_at(self, learner: RelativeAttributes, rule: str, odds: float) -> Shares:
        """Return what is found at some odds."""
        if rule == AS_PUBLISHED:
            return self.shares(learner, rule)[ODDS.index(odds)]
        predicted = learner.classify(self.queries, log_odds=odds).astype(np.int64)
        return Shares.of(predicted, self.query_codes, self.described, np.unique(self.codes).tolist())


def held_out(pictures: Pictures, train: Codes, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return shares by rule and odds, the mean over all pairs of classes that are held out of the training.

    The weight of the attributes and the odds are those whose harmonic mean is best where pairs of the other classes
    are held out in turn, with the training pictures alone.
    """
    codes, test = pictures.codes, np.setdiff1d(np.arange(len(pictures.codes)), train)
    results: dict[tuple[str, str], list[Shares]] = {}
    for pair in combinations(np.unique(codes).tolist(), 2):
        own = train[~np.isin(codes[train], pair)]
        chain = Chain([*own_learners([pictures.parts]), Standardize()]).fit([pictures.rows[own]], codes[own])
        rows, queries = (chain.transform(pictures.rows[places], view=0) for places in (own, test))
        task = _Task(rows, codes[own], queries, codes[test], pictures.levels, pair)
        inner = list(_inner(task, seed))
        learned = {weight: [fold.learner(weight) for fold in inner] for weight in HELD_OUT_WEIGHTS}
        for rule in RULES:
            grid = {
                (weight, odds): shares
                for weight, learners in learned.items()
                for odds, shares in zip(ODDS, _means(inner, learners, rule), strict=True)
            }
            for name, choices in ((EVEN, ODDS[:1]), (CHOSEN, ODDS)):
                points = [point for point in grid if point[1] in choices]
                weight, odds = max(points, key=lambda point: grid[point].harmonic)
                results.setdefault((rule, name), []).append(task.shares_at(task.learner(weight), rule, odds))
    return {
        rule: {name: Shares(*np.mean(results[rule, name], axis=0).tolist())._asdict() for name in (EVEN, CHOSEN)}
        for rule in RULES
    }


def _inner(task: _Task, seed: int) -> Iterator[_Task]:
    """Every two of the seen classes held out in turn, judged by training pictures that were not learned from."""
    for own, test, pair in held_out_in_turn(task.codes, task.levels.T, seed, size=2):
        yield _Task(task.rows[own], task.codes[own], task.rows[test], task.codes[test], task.levels, pair)


def _means(tasks: Sequence[_Task], learners: Sequence[RelativeAttributes], rule: str) -> list[Shares]:
    shares = [task.shares(learner, rule) for task, learner in zip(tasks, learners, strict=True)]
    return [Shares.mean(at_odds) for at_odds in zip(*shares, strict=True)]


def _as_published(task: _Task, learner: RelativeAttributes) -> Mapping[str, NDArray[np.float64]]:
    """Parikh and Grauman (ICCV 2011), section 3.2: a seen class has its covariance, a described one the mean of all."""
    scores, queries = learner.transform(task.rows), learner.transform(task.queries)
    own = {code: np.atleast_2d(np.cov(scores[task.codes == code].T)) for code in np.unique(task.codes).tolist()}
    of_described: Rows = np.mean(list(own.values()), axis=0)
    places = {code: learner.place_of_class(str(code)) for code in (*own, *task.described)}
    covariances: dict[int, Rows] = {**own, **dict.fromkeys(task.described, of_described)}
    return {str(code): log_densities(queries, place, covariances[code]) for code, place in places.items()}
