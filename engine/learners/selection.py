"""Selection of settings by cross-validation: folds, the measures in each fold, and the search through a grid."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Mask, Rows
from crossview.engine.learners.registry import parse_chain
from crossview.engine.runtime.cancellation import checkpoint

Labels = NDArray[Any]
Measure = Callable[[Rows, Labels, Labels], float]
"""Quality, larger is better, from (q, n) distances, (q,) labels of the queries and (n,) labels of the database."""
Crossing = tuple[int, int]
"""The view of the queries and the view of the database, both counted from 0."""
SPEC = "spec"
T = TypeVar("T")
CACHED_BYTES = 1 << 29
"""Maximum memory, in bytes, for the cached outputs of the leading stages of chains."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fold:
    """The training rows of one fold, and the rows to embed for its measure: an array (n, d_v) per view."""

    training: Sequence[Rows]
    """Training rows, with the same number of rows in every view."""
    mask: Mask | None = None
    """(n, V), whether each training item has each view; None: all items have all views."""
    learn: Callable[[Chain, list[Rows]], object]
    """A function that fits a chain on the training rows, after the leading stages."""
    queries: Sequence[Rows]
    database: Sequence[Rows]


class CrossValidation(Generic[T]):
    """Cross-validation, which fits chains in every fold and measures them.

    It fits the leading stages of a chain, such as a kernel map, once in each fold for all chains that begin with them.

    Args:
        folds: at least one fold.
        measure: function that returns values of a fold, given its position, the fitted chain without its leading
            stages, and the embeddings of queries and of database by view; (0, d_v) arrays for a view without rows.
    """

    def __init__(
        self, folds: Sequence[Fold], measure: Callable[[int, Chain, list[Rows], list[Rows]], Iterable[T]]
    ) -> None:
        self.folds = folds
        self.measure = measure
        self._staged: dict[tuple[int, str], tuple[list[Rows], ...]] = {}

    def values(self, make: Callable[[], Chain]) -> list[list[T]]:
        """Return the measured values in each fold, of the unfitted chain that ``make`` returns, called once per fold.

        Raises:
            ValueError: if the chain cannot be made, or cannot be fitted in some fold.
        """
        return list(self.each(make))

    def each(self, make: Callable[[], Chain]) -> Iterator[list[T]]:
        """Yield the results of ``values``, one fold at a time."""
        for number in range(len(self.folds)):
            yield self._values(number, make().steps)

    def _values(self, number: int, steps: Sequence[MultiViewLearner]) -> list[T]:
        # Auxiliary steps without labels give the same rows for every setting of later learners: cache these rows.
        leading = next((i for i, step in enumerate(steps) if not step.capabilities.auxiliary or step.needs_labels), 0)
        training, queries, database = self._after(steps[:leading], number)
        chain = Chain(steps[leading:])
        self.folds[number].learn(chain, training)
        probes = [chain.transform_queries(rows, view) if len(rows) else rows for view, rows in enumerate(queries)]
        return list(self.measure(number, chain, probes, *_transformed(chain, database)))

    def _after(self, stages: Sequence[MultiViewLearner], number: int) -> tuple[list[Rows], ...]:
        """Return training rows, queries and database of a fold after stages that are fitted on the training rows."""
        key = number, repr([(stage.name, stage.get_params()) for stage in stages])
        if key not in self._staged:
            fold = self.folds[number]
            chain = Chain(stages).fit(list(fold.training), Supervision(mask=fold.mask))
            groups = _transformed(chain, fold.training, fold.queries, fold.database)
            # The oldest go first: a search varies the settings of one stage after another and rarely comes back.
            while self._staged and sum(map(_bytes, (groups, *self._staged.values()))) > CACHED_BYTES:
                del self._staged[next(iter(self._staged))]
            self._staged[key] = groups
        return self._staged[key]


def _transformed(chain: Chain, *groups: Sequence[Rows]) -> tuple[list[Rows], ...]:
    """Return groups of rows by view after a chain; the function transforms a repeated group once."""
    by_id: dict[int, list[Rows]] = {}
    for group in groups:
        if id(group) not in by_id:
            by_id[id(group)] = [
                chain.transform(rows, view=view) if len(rows) else rows for view, rows in enumerate(group)
            ]
    return tuple(by_id[id(group)] for group in groups)


def _bytes(groups: Sequence[list[Rows]]) -> int:
    return sum({id(rows): rows.nbytes for group in groups for rows in group}.values())


class ClassValidation:
    """Cross-validation of chains by the classes of rows.

    In each fold it fits a chain on the other folds, whose rows are the database unless ``unseen``; the rows of the fold
    are the queries. It fits a chain once for all crossings.

    Args:
        views: (n, d_v) array per view.
        labels: (n,) classes; folds are stratified if every class has at least as many members as there are folds.
        measure: the measure to average.
        crossings: all (query view, database view) pairs to score.
        folds: number of folds, at least 2.
        seed: seed of the shuffle before the division into folds.
        unseen: use the fold as the database too, if searches will run over items that were not trained on; each
            crossing then needs two different views, because otherwise an item would find itself.
    """

    def __init__(
        self,
        views: Sequence[Rows],
        labels: Labels,
        *,
        measure: Measure,
        crossings: Sequence[Crossing],
        folds: int = 3,
        seed: int = 0,
        unseen: bool = False,
    ) -> None:
        self.crossings = crossings
        # Stratified folds need a member of every class in each fold; scikit-learn warns without.
        smallest = np.unique(labels, return_counts=True)[1].min()
        splitter = (StratifiedKFold if smallest >= folds else KFold)(folds, shuffle=True, random_state=seed)
        splits = list(splitter.split(views[0], labels))

        def measured(number: int, chain: Chain, queries: list[Rows], items: list[Rows]) -> list[float]:
            train, held_out = splits[number]
            of_items = labels[held_out if unseen else train]
            return [measure(distances(queries[q], items[d]), labels[held_out], of_items) for q, d in crossings]

        self._validation = CrossValidation(
            [_fold(views, labels, train, held_out, unseen) for train, held_out in splits], measured
        )
        self._scores: dict[tuple[str, str], dict[Crossing, float]] = {}

    def score(self, spec: str, settings: Mapping[str, Any], crossings: Sequence[Crossing] = ()) -> float:
        """Return the mean measure of one chain over the folds and over some of the crossings [default: all].

        Args:
            spec: the chain, as ``parse_chain`` reads it.
            settings: parameters of its learner.
            crossings: a subset of the crossings of the validation.

        Raises:
            ValueError: for an unknown learner, parameter or value, or too few rows.
        """
        key = spec, repr(sorted(settings.items()))
        if key not in self._scores:
            means = np.array(self._validation.values(lambda: parse_chain(spec, settings))).mean(axis=0)
            self._scores[key] = dict(zip(self.crossings, means.tolist(), strict=True))
        return float(np.mean([self._scores[key][crossing] for crossing in crossings or self.crossings]))


def _fold(
    views: Sequence[Rows], labels: Labels, train: NDArray[np.intp], held_out: NDArray[np.intp], unseen: bool
) -> Fold:
    training, queries = ([rows[items] for rows in views] for items in (train, held_out))
    return Fold(
        training=training,
        learn=lambda chain, rows: chain.fit(rows, labels[train]),
        queries=queries,
        database=queries if unseen else training,
    )


Scores = Mapping[Any, NDArray[np.float64]]
"""Measures of one candidate, such as the average precision of each query, by crossing or in other groups of equal
weight; paired with the measures of other candidates, with NaN in the same places."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings that the search tried."""

    settings: dict[str, Any]
    score: float | None
    """None if the settings cannot be used."""
    error: str = ""
    """The reason why the settings cannot be used."""
    scores: Scores = field(default_factory=dict)
    """The measures in groups; the score is the mean of the groups' means. Empty if the score was measured as one
    number."""

    def near(self, best: "Candidate") -> bool:
        """Return whether the score is at most one standard error of the paired differences below the score of a better
        candidate."""
        if self.score is None or best.score is None or not self.scores:
            return False
        errors = [standard_error(best.scores[group] - values) for group, values in self.scores.items()]
        return best.score - self.score <= float(np.sqrt(np.square(errors).sum())) / len(errors)

    def harms(self, other: "Candidate") -> bool:
        """Return whether a group is worse than the same group of another candidate by more than one standard error."""
        differences = [other.scores[group] - values for group, values in self.scores.items()]
        return any(float(np.nanmean(difference)) > standard_error(difference) for difference in differences)


def standard_error(differences: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of paired differences; 0 for a single one."""
    finite = differences[~np.isnan(differences)]
    return float(finite.std(ddof=1) / np.sqrt(len(finite))) if len(finite) > 1 else 0.0


def search(
    grid: Mapping[str, Sequence[Any]],
    score: Callable[[dict[str, Any]], float | Scores],
    *,
    exhaustive: bool = True,
    progress: Callable[[int, int, Candidate | None], None] | None = None,
) -> tuple[dict[str, Any], float, list[Candidate]]:
    """Return the best point of a grid (a value by name), its score, and all candidates.

    Among equal scores the first wins. If scores are given in groups, the first candidate within one standard error of
    the best wins, unless one of its groups is worse than that of the first value by more than a standard error.

    Args:
        grid: values to try by name, the simplest or likeliest first.
        score: function to call once for each tried point; its ValueError states why a point cannot be used.
        exhaustive: try every combination. Otherwise start from every first value and choose the settings one after
            another, in the order of the grid, which needs a sum of fits instead of a product.
        progress: function to call with (done, total, candidate), before the first point with None as the candidate, and
            after each point.

    Raises:
        ValueError: if no point can be used.
    """
    names, sizes = list(grid), [len(values) for values in grid.values()]
    total = int(np.prod(sizes)) if exhaustive else 1 + sum(size - 1 for size in sizes)
    tried: dict[tuple[int, ...], Candidate] = {}

    def candidate(point: tuple[int, ...]) -> Candidate:
        if point not in tried:
            checkpoint()
            tried[point] = _candidate({name: grid[name][i] for name, i in zip(names, point, strict=True)}, score)
            if progress is not None:
                progress(len(tried), total, tried[point])
        return tried[point]

    if progress is not None:
        progress(0, total, None)
    if exhaustive:
        best = _best(list(np.ndindex(*sizes)), candidate)
    else:
        best = (0,) * len(sizes)
        for axis, size in enumerate(sizes):
            # The value so far comes first, because only a clear gain may replace it.
            rest = [i for i in range(size) if i != best[axis]]
            best = _best([(*best[:axis], i, *best[axis + 1 :]) for i in (best[axis], *rest)], candidate)
    candidates = list(tried.values())
    if (score_of_best := tried[best].score) is None:
        raise ValueError(f"none of the settings can be used: {candidates[0].error}")
    return tried[best].settings, score_of_best, candidates


def _best(points: Sequence[tuple[int, ...]], candidate: Callable[[tuple[int, ...]], Candidate]) -> tuple[int, ...]:
    """Return the best of several points; the first point stays unless another is better."""
    candidates = [candidate(point) for point in points]
    first = candidates[0]
    allowed = {
        number: trial.score
        for number, trial in enumerate(candidates)
        if trial.score is not None and (first.score is None or not trial.harms(first))
    }
    if not allowed:
        return points[0]
    best = max(allowed, key=lambda number: allowed[number])
    return points[next(number for number in allowed if number == best or candidates[number].near(candidates[best]))]


def _candidate(settings: dict[str, Any], score: Callable[[dict[str, Any]], float | Scores]) -> Candidate:
    try:
        scores = score(settings)
    except ValueError as error:  # some settings do not suit the data, such as more dimensions than rows
        return Candidate(settings, None, str(error))
    if isinstance(scores, Mapping):
        return Candidate(settings, float(np.mean([np.nanmean(values) for values in scores.values()])), "", scores)
    return Candidate(settings, scores)


@dataclass(frozen=True)
class Selection:
    """The chosen chain and settings, and all candidates."""

    spec: str
    """The chosen chain, as ``parse_chain`` reads it."""
    settings: dict[str, Any]
    """The chosen parameters of its learner."""
    score: float
    """The mean measure of the chosen settings over folds and crossings."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """Every candidate, in order: "spec", "settings" and "score"; and "error" if it cannot be used."""


def select(
    grid: Mapping[str, Sequence[Any]],
    validation: ClassValidation,
    *,
    crossings: Sequence[Crossing] = (),
    fixed: Mapping[str, Any] | None = None,
    exhaustive: bool = True,
) -> Selection:
    """Return the best chain and settings of a grid.

    Args:
        grid: values to try by parameter name, "spec" among them, the likeliest first.
        validation: validation that scores a candidate.
        crossings: as in ``ClassValidation.score``.
        fixed: parameters with the same value for all candidates.
        exhaustive: as in ``search``.

    Raises:
        ValueError: if no candidate can be used, or for a grid without "spec".
    """
    if SPEC not in grid:
        raise ValueError('a grid needs "spec", the chains to try')

    def merged(point: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        settings = {**(fixed or {}), **point}
        return settings.pop(SPEC), settings

    best, score, tried = search(grid, lambda point: validation.score(*merged(point), crossings), exhaustive=exhaustive)
    described = [
        {"spec": spec, "settings": settings, "score": trial.score} | ({"error": trial.error} if trial.error else {})
        for trial, (spec, settings) in ((trial, merged(trial.settings)) for trial in tried)
    ]
    return Selection(*merged(best), score, described)


def distances(queries: Rows, items: Rows) -> Rows:
    """Return the (q, n) squared Euclidean distances, never below 0."""
    squared: Rows = (queries**2).sum(axis=1)[:, None] + (items**2).sum(axis=1)[None, :] - 2 * queries @ items.T
    return np.maximum(squared, 0.0)
