"""Tuning: the settings that a recipe leaves open, chosen by cross-validation among the training items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidInputError, NotReadyError
from engine.info import Trial, Tuning
from engine.learners.cancellation import checkpoint
from engine.learners.chain import Chain
from engine.learners.metrics.comparisons import Comparisons
from engine.learners.selection import search
from engine.progress import Progress
from engine.recipe import MEASURES, ORDER, Recipe, Tune
from engine.spaces.pipeline import build, distances, metrics_of_items, vectors
from engine.training.examples import Examples
from engine.training.grids import KERNEL, NO_KERNEL, OF_KERNEL, grid, with_kernel
from engine.training.learning import learn
from engine.training.measures import average_precision, knn_correct, members, ranking, relevance

MOST_ITEMS = 5_000
"""Training items that take part; of more, so many are drawn."""
NEIGHBORS = 5
"""Neighbours that vote in the measure "accuracy"."""
_QUERIES_AT_ONCE = 256


def tune(
    recipe: Recipe, steps: Sequence[Sequence[str]], training: Examples, progress: Progress | None = None
) -> tuple[Recipe, Tuning]:
    """Return the recipe with the settings that do best, and how they were chosen.

    Settings are chosen one after another, by the mean measure over folds and over the crossings that the space will
    answer: across the views, or within each where the learner keeps them apart. In each fold the pipeline learns from
    the other folds, which are the database, and its labelled items are the queries (with pairs: its paired items). By
    order, the folds are of constraints: distances are learned from the others and compared with those of the fold.

    Raises InvalidInputError (settings, folds, nothing to tune, every candidate fails), NotReadyError (nothing tells
    which items are similar).
    """
    asked = recipe.tune or Tune()
    _check(asked, training)
    values = grid(recipe, training)
    drawn = training if asked.measure == ORDER else _drawn(training, recipe.seed)
    trial = _trial(recipe, steps, drawn, asked)
    total, trials = 1 + sum(len(tried) - 1 for tried in values.values()), list[Trial]()

    def score(settings: dict[str, Any]) -> float:
        if progress is not None and not trials:
            progress("tuning", 0, total)
        trials.append(trial.run(settings))
        if progress is not None:
            progress("tuning", len(trials), total, trials[-1].sentence(asked.measure))
        return -np.inf if (found := trials[-1].score) is None else found

    best, _ = search(values, score, exhaustive=False)
    chosen = next(one for one in trials if one.settings == best)
    if chosen.score is None:
        raise InvalidInputError(f"none of the settings can be used: {trials[0].error}")
    told = {name: value for name, value in best.items() if len(values[name]) > 1}
    tuning = Tuning(asked.measure, asked.folds, len(drawn), chosen.score, told, tuple(trials))
    return _with_settings(recipe, best), tuning


def check_tried(recipe: Recipe, steps: Sequence[Sequence[str]]) -> None:
    """Raise InvalidInputError for a value to try that the learner cannot take, whatever it learns from."""
    for setting, tried in (recipe.tune or Tune()).values.items():
        for value in tried:
            kernel = {KERNEL: "rbf"} if setting.startswith(OF_KERNEL) else {}
            one = _with_settings(recipe, {**kernel, setting: value})
            build(one.spec, one.views, steps, one.settings, one.dim, one.seed)


@dataclass(frozen=True)
class _Trial:
    """Measures candidates, all on the same folds."""

    recipe: Recipe
    steps: Sequence[Sequence[str]]
    training: Examples
    folds: NDArray[np.intp]
    measure: str

    def run(self, settings: dict[str, Any]) -> Trial:
        recipe = _with_settings(self.recipe, settings)
        scores: list[float] = []
        try:
            for fold in range(self.folds.max() + 1):
                pipeline = build(recipe.spec, recipe.views, self.steps, recipe.settings, recipe.dim, recipe.seed)
                learn(pipeline, self._learned(fold))
                scores += [float(np.nanmean(found)) for found in self._measured(pipeline, fold) if _any(found)]
        except ValueError as error:  # from learners, in their own words, or from the engine
            return Trial(settings, None, str(error))
        if not scores:
            return Trial(settings, None, "no query has a similar item that it could find")
        return Trial(settings, float(np.mean(scores)))

    def _learned(self, fold: int) -> Examples:
        """Return what is learned from while a fold is measured."""
        return self.training.take(self.folds != fold)

    def _measured(self, pipeline: Chain, fold: int) -> Iterator[NDArray[Any]]:
        """Yield, by crossing, the measure of every query of a fold."""
        mask, views, classes = self.training.mask, list(self.training.rows), self.training.classes()
        asking, there = self.folds == fold, self.folds != fold
        for query, target in _crossings(pipeline, len(views)):
            queries = np.flatnonzero(asking & mask[:, query] & self._known())
            items = np.flatnonzero(there & mask[:, target] & self._known())
            if len(queries) and len(items):
                probes = vectors(pipeline, self.training.rows[views[query]][queries], query)
                placed = vectors(pipeline, self.training.rows[views[target]][items], target)
                metrics = metrics_of_items(pipeline, classes[items], target)
                yield self._quality(probes, placed, metrics, queries, items)

    def _known(self) -> NDArray[np.bool_]:
        """Return of which items is known what is similar to them."""
        if self.training.similar is not None:
            return np.asarray(self.training.similar.sum(axis=1)).ravel() > 1
        return np.array([bool(labels) for labels in self.training.labels], bool)

    def _quality(
        self, probes: Any, placed: Any, metrics: Any, queries: NDArray[np.intp], items: NDArray[np.intp]
    ) -> NDArray[Any]:
        parts, random = [], np.random.default_rng(self.recipe.seed)
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            checkpoint()
            part = slice(start, start + _QUERIES_AT_ONCE)
            order = ranking(distances(probes[part], placed, metrics), random)
            parts.append(self._judged(order, queries[part], items))
        return np.concatenate(parts)

    def _judged(self, order: NDArray[np.intp], queries: NDArray[np.intp], items: NDArray[np.intp]) -> NDArray[Any]:
        if self.training.similar is not None:
            shared = self.training.similar[queries][:, items].toarray() > 0
            return average_precision(np.take_along_axis(shared, order, axis=1))
        labels = self.training.labels
        wanted, there = [labels[i] for i in queries], [labels[i] for i in items]
        classes = sorted({label for one in (*wanted, *there) for label in one})
        asked, offered = members(wanted, classes), members(there, classes)
        if self.measure == "accuracy":
            return knn_correct(order, asked, offered, NEIGHBORS).astype(float)
        return average_precision(relevance(order, asked, offered))


class _OrderTrial(_Trial):
    """Measures how well distances agree with constraints; the folds are of these."""

    def _learned(self, fold: int) -> Examples:
        return replace(self.training, constraints=self._said(self.folds != fold))

    def _measured(self, pipeline: Chain, fold: int) -> Iterator[NDArray[Any]]:
        held = self._said(self.folds == fold)
        for view, (rows, there) in enumerate(zip(self.training.rows.values(), self.training.mask.T, strict=True)):
            mine = held.among(there, len(there))
            if len(mine):
                yield np.array([mine.agreement(vectors(pipeline, rows[there], view))])

    def _said(self, chosen: NDArray[np.bool_]) -> Comparisons:
        assert self.training.constraints is not None  # it was checked
        return self.training.constraints.take(chosen)


def _trial(recipe: Recipe, steps: Sequence[Sequence[str]], training: Examples, asked: Tune) -> _Trial:
    if asked.measure == ORDER and training.constraints is not None:
        folds = np.random.default_rng(recipe.seed).permutation(len(training.constraints)) % asked.folds
        return _OrderTrial(recipe, steps, training, folds, asked.measure)
    return _Trial(recipe, steps, training, _folds(training, asked.folds, recipe.seed), asked.measure)


def _with_settings(recipe: Recipe, settings: dict[str, Any]) -> Recipe:
    """Return the recipe with settings that were open; those of a kernel are left out where there is none."""
    chosen = {**(recipe.settings or {}), **{name: value for name, value in settings.items() if name != KERNEL}}
    kernel = settings.get(KERNEL)
    if kernel is None:
        return replace(recipe, settings=chosen)
    if kernel != NO_KERNEL:
        return replace(recipe, spec=with_kernel(recipe.spec, kernel), settings=chosen)
    return replace(recipe, settings={name: value for name, value in chosen.items() if not name.startswith(OF_KERNEL)})


def _crossings(pipeline: Chain, views: int) -> list[tuple[int, int]]:
    """Return the (query view, target view) pairs to measure: all across views where the space answers them."""
    if pipeline.cross_view and views > 1:
        return [(query, target) for query in range(views) for target in range(views) if query != target]
    return [(view, view) for view in range(views)]


def _folds(training: Examples, folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each example, (n,): chance, but every set of labels is spread evenly over them."""
    names, codes = np.unique(["\x1f".join(labels) for labels in training.labels], return_inverse=True)
    generator = np.random.default_rng(seed)
    found = np.empty(len(training), np.intp)
    first = 0  # where one class ended the next goes on, so that small ones do not all fall into the first fold
    for code in range(len(names)):
        mine = generator.permutation(np.flatnonzero(codes == code))
        found[mine] = (first + np.arange(len(mine))) % folds
        first += len(mine)
    return found


def _drawn(training: Examples, seed: int) -> Examples:
    if len(training) <= MOST_ITEMS:
        return training
    return training.take(np.sort(np.random.default_rng(seed).permutation(len(training))[:MOST_ITEMS]))


def _check(asked: Tune, training: Examples) -> None:
    if asked.measure not in MEASURES:
        raise InvalidInputError(f"{asked.measure!r} is no measure to tune by; there are: {', '.join(MEASURES)}")
    if asked.folds < 2:
        raise InvalidInputError(f"tuning takes at least 2 folds, not {asked.folds}")
    if asked.measure == ORDER:
        if training.constraints is None:
            raise InvalidInputError(f"{ORDER} is that of constraints: give --constraints, or tune by {MEASURES[0]}")
        if len(training.constraints) < asked.folds:
            raise NotReadyError(f"{len(training.constraints)} constraints are too few for {asked.folds} folds")
        return
    if training.similar is not None:
        if asked.measure != MEASURES[0]:
            raise InvalidInputError(f"neighbours vote with labels, not pairs: tune by {MEASURES[0]}")
        return
    counts = np.unique([label for labels in training.labels for label in labels], return_counts=True)[1]
    if not (counts > 1).any():
        raise NotReadyError(
            "tuning compares the hits of labelled items, and no label is on two training items: "
            f"index with --labels folder or a CSV file, give --pairs, or --constraints and tune by {ORDER}"
        )
    if (labelled := sum(map(bool, training.labels))) < asked.folds:
        raise NotReadyError(f"{labelled} labelled items are too few for {asked.folds} folds")


def _any(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).any())
