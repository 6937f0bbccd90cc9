"""Tuning: choosing the open settings of a recipe by cross-validation on the training items."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.selection import Candidate, Scores, search, standard_error
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.parts import Part
from crossview.engine.spaces.pipeline import build
from crossview.engine.training.examples import Examples
from crossview.engine.training.grids import KERNEL, LEARNER, NO_KERNEL, OF_KERNEL, grid, with_kernel
from crossview.engine.training.validation import Scored, by_crossing, validate_order, validate_retrieval
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError
from crossview.engine.values.info import Trial, Tuning
from crossview.engine.values.labels import LABELLING
from crossview.engine.values.recipe import ITEMS, MEASURES, ORDER, Recipe, Tune

_HOPELESS = 4.0
"""Number of standard errors behind the first candidate, in every direction, at which tuning stops a candidate early."""
MOST_ITEMS = 5_000
"""Maximum number of training items for tuning; larger sets are sampled at random."""


def tune(
    recipe: Recipe, parts: Sequence[Sequence[Part]], training: Examples, progress: Progress | None = None
) -> tuple[Recipe, Tuning]:
    """Return the recipe with the best settings, and a report of the choice.

    Tuning chooses one setting after another: the first value within one standard error of the best, by the mean over
    the folds of ``validate_retrieval`` or ``validate_order``.

    Raises InvalidInputError (settings, folds, nothing to tune, every candidate fails), NotReadyError (no similar
    items are known).
    """
    wanted = _with_measure(recipe.tune or Tune(), training)
    _check(wanted, training)
    if wanted.measure == ORDER and assemble(recipe, parts).capabilities.orders_items:
        raise InvalidInputError(f"{ORDER} is that of distances, and items are ordered by scores: tune by {MEASURES[0]}")
    values = grid(recipe, training)
    sample = training
    if wanted.measure != ORDER and len(training) > MOST_ITEMS:
        sample = training.take(np.sort(np.random.default_rng(recipe.seed).permutation(len(training))[:MOST_ITEMS]))
    database, score = _score(recipe, parts, sample, wanted)

    def report(done: int, total: int, candidate: Candidate | None) -> None:
        if progress is not None:
            notes = [] if candidate is None else [_trial(candidate).sentence(wanted.measure)]
            progress("tuning", done, total, *notes)

    try:
        best, best_score, tried = search(values, score, exhaustive=False, progress=report)
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    tuning = Tuning(
        measure=wanted.measure,
        folds=wanted.folds,
        items=len(sample),
        score=best_score,
        chosen={name: value for name, value in best.items() if len(values[name]) > 1},
        tried=tuple(map(_trial, tried)),
        database=database,
    )
    return _with_settings(recipe, best), tuning


def _score(
    recipe: Recipe, parts: Sequence[Sequence[Part]], sample: Examples, wanted: Tune
) -> tuple[str, Callable[[dict[str, Any]], float | Scores]]:
    """Return the database of the queries, "" for none, and the function that measures settings in all folds."""

    def make(settings: dict[str, Any]) -> Chain:
        return assemble(_with_settings(recipe, settings), parts)

    if wanted.measure == ORDER and sample.constraints is not None:
        order = validate_order(sample, sample.constraints, wanted.folds, recipe.seed)
        return "", lambda settings: float(np.mean(list(chain.from_iterable(order.values(lambda: make(settings))))))
    database, retrieval = validate_retrieval(sample, wanted.folds, wanted.measure, recipe.seed)
    first: list[list[Scored]] = []

    def by_query(settings: dict[str, Any]) -> Scores:
        folds: list[list[Scored]] = []
        for found in retrieval.each(lambda: make(settings)):
            folds.append(found)
            if len(folds) < len(first):
                where = f"{len(folds)} of {len(first)} folds"
                _check_hope(by_crossing(folds), by_crossing(first[: len(folds)]), where)
        if not (scores := by_crossing(folds)):
            raise InvalidInputError("no query has a similar item to find: ", LABELLING)
        first.extend(folds if not first else ())
        return scores

    return database, by_query


def _check_hope(scores: Scores, first: Scores, where: str) -> None:
    """Raise InvalidInputError if settings are worse than the first candidate by far more than chance."""
    if not scores or scores.keys() != first.keys():  # a fold of one group has no query with a similar item
        return
    behind = [first[crossing] - values for crossing, values in scores.items()]
    means = [float(np.nanmean(one)) for one in behind]
    error = float(np.sqrt(np.square([standard_error(one) for one in behind]).sum())) / len(behind)
    if np.mean(means) > _HOPELESS * error and min(means) > 0:
        raise InvalidInputError(f"stopped after {where}: {np.mean(means):.3f} behind the first candidate")


def _with_measure(wanted: Tune, training: Examples) -> Tune:
    """Return the tuning request with a measure: its own, or the default for the supervision."""
    if wanted.measure:
        return wanted
    known = training.similar is not None or any(training.labels) or len(training.rows) < 2
    return replace(wanted, measure=MEASURES[0] if known else ITEMS)


def check_tried(recipe: Recipe, parts: Sequence[Sequence[Part]]) -> None:
    """Raise InvalidInputError for a value to try that the learner refuses on any data."""
    for setting, tried in (recipe.tune or Tune()).values.items():
        for value in tried:
            kernel = {KERNEL: "rbf"} if setting.startswith(OF_KERNEL) else {}
            assemble(_with_settings(recipe, {**kernel, setting: value}), parts)


def _trial(candidate: Candidate) -> Trial:
    return Trial(candidate.settings, candidate.score, candidate.error)


def assemble(recipe: Recipe, parts: Sequence[Sequence[Part]]) -> Chain:
    """Return the recipe's unfitted pipeline; ``parts`` has the parts of each view."""
    return build(recipe.spec, recipe.views, parts, recipe.settings, recipe.dim, recipe.seed)


def _with_settings(recipe: Recipe, settings: dict[str, Any]) -> Recipe:
    """Return the recipe with chosen settings; without a kernel, its settings are left out."""
    if LEARNER in settings:
        return replace(recipe, spec=settings[LEARNER])
    chosen = {**(recipe.settings or {}), **{name: value for name, value in settings.items() if name != KERNEL}}
    kernel = settings.get(KERNEL)
    if kernel is None:
        return replace(recipe, settings=chosen)
    if kernel != NO_KERNEL:
        return replace(recipe, spec=with_kernel(recipe.spec, kernel), settings=chosen)
    return replace(recipe, settings={name: value for name, value in chosen.items() if not name.startswith(OF_KERNEL)})


def _check(wanted: Tune, training: Examples) -> None:
    if wanted.measure not in MEASURES:
        raise InvalidInputError(f"{wanted.measure!r} is not a measure for tuning; there are: {', '.join(MEASURES)}")
    if wanted.folds < 2:
        raise InvalidInputError(f"tuning needs at least 2 folds, not {wanted.folds}")
    if wanted.measure == ORDER:
        if training.constraints is None:
            raise InvalidInputError(
                f"{ORDER} is that of constraints: give ", Argument("constraints"), f", or tune by {MEASURES[0]}"
            )
        if len(training.constraints) < wanted.folds:
            raise NotReadyError(f"{len(training.constraints)} constraints are too few for {wanted.folds} folds")
        return
    if wanted.measure == ITEMS:
        if len(training.rows) < 2:
            raise InvalidInputError(f"{ITEMS} is how soon an item's own other view is found: name at least two views")
        return
    if training.similar is not None:
        if wanted.measure != MEASURES[0]:
            raise InvalidInputError(f"neighbours vote with labels, not pairs: tune by {MEASURES[0]}")
        return
    counts = np.unique([label for labels in training.labels for label in labels], return_counts=True)[1]
    if not (counts > 1).any():
        raise NotReadyError(
            "tuning compares the hits of labelled items, and no label is on two training items: give ",
            Argument("pairs"),
            ", or ",
            Argument("constraints"),
            f" and tune by {ORDER}, or ",
            LABELLING,
        )
    if (labelled := sum(map(bool, training.labels))) < wanted.folds:
        raise NotReadyError(f"{labelled} labelled items are too few for {wanted.folds} folds")
