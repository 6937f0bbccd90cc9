"""Tuning: the values that are tried for each learner's main settings, and their choice by cross-validation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.normalization import L1, L2, Scale, Sqrt, Standardize
from crossview.engine.learners.frame.stage import format_stages, present_settings
from crossview.engine.learners.registry import learner_class, main_stage
from crossview.engine.learners.selection import Candidate, Scores, search, standard_error
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.pipeline import build
from crossview.engine.training.examples import Examples
from crossview.engine.training.settling import OF_KERNEL, Settled
from crossview.engine.training.validation import Scored, by_crossing, validate_order, validate_retrieval
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError
from crossview.engine.values.info import Trial, Tuning
from crossview.engine.values.labels import LABELLING
from crossview.engine.values.recipe import ITEMS, KERNEL, LEARNER, MEASURES, NO_KERNEL, ORDER, Tune

_HOPELESS = 4.0
"""Number of standard errors behind the first candidate, in every direction, at which tuning stops a candidate early."""
MOST_ITEMS = 5_000
"""Maximum number of training items for tuning; larger sets are sampled at random."""
_DIMENSIONS = "n_components"
_SAME_WIDTH = (L1, L2, Sqrt, Standardize, Scale)
_DIMS = (50, 20, 100)
_WEIGHTS = (1e-6, 1e-2, 1e-1)
_KERNELS = (NO_KERNEL, "chi2", "rbf")
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "multi-npp": {KERNEL: _KERNELS, "n_components": _DIMS, "eta": _WEIGHTS, "gamma": _WEIGHTS, "max_iter": (1, 2, 5)},
    "npp-hash": {KERNEL: _KERNELS, "contrast": (None, 0.75, 1.25), "alpha": (None, 1e-4, 1e-3)},
    "hybrid": {
        "n_components": _DIMS,
        "nearest": (20, 10, None),
        "spread": (0.5, 0.35, 1.0),
        "eta": _WEIGHTS,
        "gamma": _WEIGHTS,
        "max_iter": (1, 3),
    },
    "cca": {
        KERNEL: _KERNELS,
        "n_components": _DIMS,
        "shrinkage": ("auto", 0.1, 0.3, 0.6),
        "power": (0.0, 1.0, 2.0, 4.0),
    },
    "pls": {KERNEL: _KERNELS, "n_components": _DIMS},
    "posteriors": {"scaling": (None, "sqrt", "standardize"), "alpha": (None, 1e-4, 1e-3, 1e-2)},
    "class-instance": {"weight": (None, 0.05, 0.2, 0.4), "n_components": _DIMS},
    "instances": {"n_components": _DIMS, "penalty": (None, 1e-4, 1e-3, 1e-2)},
    "co-em": {"label_noise": (None, 0.0), "new_classes": (None, 0)},
    "lda": {KERNEL: _KERNELS},
    "lmnn": {"n_neighbors": (3, 1, 10), "pull": (1.0, 0.1, 10.0), "mu": (0.0, 0.1), "n_components": (32, 10, 100)},
    "attributes": {KERNEL: _KERNELS, "C": (10.0, 1.0, 100.0, 1000.0)},
    "semantic": {KERNEL: _KERNELS, "regression": ("ridge", "logistic"), "alpha": (None, 1e-3, 1e-2, 1e-1, 1.0)},
    "joint": {"alpha": (1e-3, 3e-3, 1e-2, 3e-2), "n_components": (32, 10, 100), "balance": (0.0, 0.5)},
    "fantope": {
        "mu": (1e-2, 0.1, 1.0),
        "n_components": (32, 10, 100),
        "max_iter": (500, 100),
        "n_constraints": (10_000, 50_000),
        "neighbors": (None, 50),
        "gamma": (0.0, 1e-3),
    },
    "qwise": {
        "form": ("full", "diagonal"),
        "C": (1e4, 1e3, 1e5, 1e2, 1e6),
        "n_constraints": (10_000, 50_000),
        "neighbors": (None, 50),
    },
    "musl": {"n_metrics": (1, 3, 10, "class"), "alpha": (0.3, 1.0), "n_thresholds": (7,)},
    "pca": {"n_components": (*_DIMS, 10), "whiten": (False, True)},
}
"""Values by learner and setting, in the order of tuning; tuning always tries a learner's default first."""


def tuned(settled: Settled, tune: Tune, training: Examples, progress: Progress | None = None) -> tuple[Settled, Tuning]:
    """Return a settled recipe with the best of its open settings, and a report of the choice.

    Tuning chooses one setting after another: the first value within one standard error of the best, by the mean over
    the folds of ``validate_retrieval`` or ``validate_order``.

    Raises InvalidInputError (settings, folds, nothing to tune, every candidate fails), NotReadyError (no similar
    items are known).
    """
    if not tune.measure:
        similar = training.similar is not None or any(training.labels) or len(training.rows) < 2
        tune = replace(tune, measure=MEASURES[0] if similar else ITEMS)
    _check(tune, training)
    if tune.measure == ORDER and settled.pipeline().capabilities.orders_items:
        raise InvalidInputError(f"{ORDER} is that of distances, and items are ordered by scores: tune by {MEASURES[0]}")
    values = grid(settled, tune, training)
    sample = training
    if tune.measure != ORDER and len(training) > MOST_ITEMS:
        sample = training.take(np.sort(np.random.default_rng(settled.seed).permutation(len(training))[:MOST_ITEMS]))
    database, score = _score(settled, tune, sample)

    def trial(candidate: Candidate) -> Trial:
        return Trial(candidate.settings, candidate.score, candidate.error)

    def report(done: int, total: int, candidate: Candidate | None) -> None:
        if progress is not None:
            notes = [] if candidate is None else [trial(candidate).sentence(tune.measure)]
            progress("tuning", done, total, *notes)

    try:
        best, best_score, tried = search(values, score, exhaustive=False, progress=report)
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    tuning = Tuning(
        measure=tune.measure,
        folds=tune.folds,
        items=len(sample),
        score=best_score,
        chosen={name: value for name, value in best.items() if len(values[name]) > 1},
        tried=tuple(map(trial, tried)),
        database=database,
    )
    return settled.trying(best), tuning


def _score(settled: Settled, tune: Tune, sample: Examples) -> tuple[str, Callable[[dict[str, Any]], float | Scores]]:
    """Return the database of the queries, "" for none, and the function that measures settings in all folds."""
    if tune.measure == ORDER and sample.constraints is not None:
        order = validate_order(sample, sample.constraints, tune.folds, settled.seed)

        def agreement(settings: dict[str, Any]) -> float:
            return float(np.mean(list(chain.from_iterable(order.values(settled.trying(settings).pipeline)))))

        return "", agreement
    database, retrieval = validate_retrieval(sample, tune.folds, tune.measure, settled.seed)
    first: list[list[Scored]] = []

    def by_query(settings: dict[str, Any]) -> Scores:
        folds: list[list[Scored]] = []
        for fold in retrieval.each(settled.trying(settings).pipeline):
            folds.append(fold)
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
    means = [float(np.nanmean(differences)) for differences in behind]
    error = float(np.sqrt(np.square(list(map(standard_error, behind))).sum())) / len(behind)
    if np.mean(means) > _HOPELESS * error and min(means) > 0:
        raise InvalidInputError(f"stopped after {where}: {np.mean(means):.3f} behind the first candidate")


def _check(tune: Tune, training: Examples) -> None:
    if tune.measure not in MEASURES:
        raise InvalidInputError(f"{tune.measure!r} is not a measure for tuning; there are: {', '.join(MEASURES)}")
    if tune.folds < 2:
        raise InvalidInputError(f"tuning needs at least 2 folds, not {tune.folds}")
    if tune.measure == ORDER:
        if training.constraints is None:
            raise InvalidInputError(
                f"{ORDER} is that of constraints: give ", Argument("constraints"), f", or tune by {MEASURES[0]}"
            )
        if len(training.constraints) < tune.folds:
            raise NotReadyError(f"{len(training.constraints)} constraints are too few for {tune.folds} folds")
        return
    if tune.measure == ITEMS:
        if len(training.rows) < 2:
            raise InvalidInputError(f"{ITEMS} is how soon an item's own other view is found: name at least two views")
        return
    if training.similar is not None:
        if tune.measure != MEASURES[0]:
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
    if (labelled := sum(map(bool, training.labels))) < tune.folds:
        raise NotReadyError(f"{labelled} labelled items are too few for {tune.folds} folds")


def grid(settled: Settled, tune: Tune, training: Examples) -> dict[str, tuple[Any, ...]]:
    """Return the values to try by setting, the likeliest first, without settings that the recipe fixes.

    Raises InvalidInputError for values of a fixed or unknown setting, or if no value is left to try.
    """
    if LEARNER in tune.values:
        return {LEARNER: tuple(tune.values[LEARNER])}
    name, fixed = _main_learner(settled)
    overrides = present_settings(name, tune.values)
    if twice := sorted(fixed & set(overrides)):
        raise InvalidInputError(f"the recipe sets {twice[0]} and also tries values for it: do one of both")
    main = build(settled.stages, settled.views, [()] * len(settled.views)).main_learner
    defaults = {KERNEL: NO_KERNEL} | (main.settings() if main else {})
    values = {
        setting: _possible(setting, _once((defaults[setting], *tried)), training, KERNEL in GRIDS[name])
        for setting, tried in GRIDS.get(name, {}).items()
        if setting not in fixed
    }
    values |= {setting: _once(tried) for setting, tried in overrides.items()}
    if unknown := sorted(setting for setting in set(values) - set(defaults) if not setting.startswith(OF_KERNEL)):
        names = ", ".join(sorted(set(defaults) - {"view_slices", "random_state"}))
        raise InvalidInputError(f"{name!r} has no parameter {unknown[0]}; it has: {names}")
    if empty := [setting for setting, tried in values.items() if not tried]:
        raise InvalidInputError(f"no values of {empty[0]} to try")
    if not any(len(tried) > 1 for tried in values.values()):
        raise InvalidInputError(
            f"there is nothing to tune of {format_stages(settled.stages)}: give values, as in ",
            Argument("values", {"n_components": [10, 50]}),
        )
    return values


def _main_learner(settled: Settled) -> tuple[str, set[str]]:
    """Return the name of the main learner, and its settings that the recipe fixes, also in its stages."""
    main = settled.stages[main_stage(settled.stages)]
    learner = learner_class(main.name)
    fixed = set(present_settings(learner.name, settled.settings))
    if learner.capabilities.main_parameter is not None and main.argument is not None:
        fixed.add(learner.capabilities.main_parameter)
    if any(stage.name == KERNEL for stage in settled.stages):
        fixed.add(KERNEL)
    return learner.name, fixed


def _once(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values in order, each once; they may be lists."""
    return tuple(value for number, value in enumerate(values) if value not in values[:number])


def _possible(setting: str, values: Sequence[Any], training: Examples, widened: bool) -> tuple[Any, ...]:
    """Leave out values that the rows do not allow: chi-squared distances of negative values, too many dimensions.

    ``widened``: a kernel can give the rows more columns than they have now.
    """
    if setting == KERNEL and any((rows < 0).any() for rows in training.rows.values()):
        return tuple(value for value in values if value != "chi2")
    if setting == _DIMENSIONS:
        columns = [] if widened else [rows.shape[1] for rows in training.rows.values()]
        most = max(1, min([len(training) // 2, *columns]))
        return tuple(value for value in values if value is None or value <= most) or (most,)
    return tuple(values)


def check_dimensions(settled: Settled, pipeline: Chain, training: Examples, setting: str) -> None:
    """Raise InvalidInputError if a recipe sets more dimensions than its learner can make from the examples.

    Defaults are not checked, because a learner reduces them itself. ``setting`` is the name by which the recipe sets
    the dimensions.
    """
    main = pipeline.main_learner
    sizes = list(settled.tune.values.get(_DIMENSIONS, ())) if settled.tune else []
    if main is not None and _DIMENSIONS in _main_learner(settled)[1]:
        sizes.append(main.get_params()[_DIMENSIONS])
    if main is None or not (numbers := [number for number in sizes if isinstance(number, int)]):
        return
    items = dict(zip(training.rows, training.mask.sum(axis=0).tolist(), strict=True))
    ranks, reasons = items, [f"{count} training items have view {view}" for view, count in items.items()]
    before = pipeline.steps[: pipeline.steps.index(main)]
    if all(isinstance(step, _SAME_WIDTH) for step in before):  # other steps, such as kernels, make columns from items
        ranks = {view: min(rows.shape[1], items[view]) for view, rows in training.rows.items()}
        reasons = [f"view {view} has {rows.shape[1]} numbers" for view, rows in training.rows.items()] + reasons
    classes = int((np.unique(training.classes(), return_counts=True)[1] > 1).sum())  # classes with two items or more
    most = main.most_dimensions(list(ranks.values()), classes)
    if max(numbers) > most:
        raise InvalidInputError(
            f"{setting} {max(numbers)} is more than the {most} dimensions that {main.name} can have: "
            f"{', '.join(reasons)}"
        )
