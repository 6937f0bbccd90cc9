"""Grids: the values that tuning tries for each learner's main settings, and the dimensions that items allow."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crossview.engine.learners.frame import aliases
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.kernels import KernelMap
from crossview.engine.learners.frame.normalization import L1, L2, Scale, Sqrt, Standardize
from crossview.engine.learners.frame.stage import Stage, format_stages, parse_stages
from crossview.engine.learners.registry import learner_class, main_stage
from crossview.engine.spaces.pipeline import build
from crossview.engine.training.examples import Examples
from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.recipe import Recipe

KERNEL = "kernel"
"""The setting of a recipe for the kernel stage before the learner, or "none"; no learner has it."""
NO_KERNEL = "none"
LEARNER = "learner"
"""The setting for the pipeline, in recipes without a learner."""
OF_KERNEL = f"{KernelMap.name}__"
"""Prefix of settings of the kernel stage, such as ``kernel__bandwidth``."""

_DIMENSIONS = "n_components"
_SAME_WIDTH = (L1, L2, Sqrt, Standardize, Scale)
_DIMS = (50, 20, 100)
_WEIGHTS = (1e-6, 1e-2, 1e-1)
_KERNELS = (NO_KERNEL, "chi2", "rbf")
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "multi-npp": {KERNEL: _KERNELS, "n_components": _DIMS, "eta": _WEIGHTS, "gamma": _WEIGHTS, "max_iter": (1, 2, 5)},
    "npp-hash": {KERNEL: _KERNELS, "contrast": (0.75, 1.25), "alpha": (None, 1e-4, 1e-3)},
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


def grid(recipe: Recipe, training: Examples) -> dict[str, tuple[Any, ...]]:
    """Return the values to try by setting, the likeliest first, without settings that the recipe fixes.

    Raises InvalidInputError for values of a fixed or unknown setting, or if no value is left to try.
    """
    name, settled = main_learner(recipe.spec), fixed(recipe)
    if recipe.tune and LEARNER in recipe.tune.values:
        return {LEARNER: tuple(recipe.tune.values[LEARNER])}
    given = aliases.present_settings(name, recipe.tune.values if recipe.tune else {})
    if twice := sorted(settled & set(given)):
        raise InvalidInputError(f"the recipe sets {twice[0]} and also tries values of it: do one of both")
    main = build(recipe.spec, recipe.views, [()] * len(recipe.views)).main_learner
    defaults = {KERNEL: NO_KERNEL} | (main.settings() if main else {})
    values = {
        setting: _possible(setting, _once((defaults[setting], *tried)), training, KERNEL in GRIDS[name])
        for setting, tried in GRIDS.get(name, {}).items()
        if setting not in settled
    }
    values |= {setting: _once(tried) for setting, tried in given.items()}
    if unknown := sorted(setting for setting in set(values) - set(defaults) if not setting.startswith(OF_KERNEL)):
        known = ", ".join(sorted(set(defaults) - {"view_slices", "random_state"}))
        raise InvalidInputError(f"{name!r} has no parameter {unknown[0]}; it has: {known}")
    if empty := [setting for setting, tried in values.items() if not tried]:
        raise InvalidInputError(f"no values of {empty[0]} to try")
    if not any(len(tried) > 1 for tried in values.values()):
        raise InvalidInputError(
            f"there is nothing to tune of {recipe.spec}: give values, as in ",
            Argument("values", {"n_components": [10, 50]}),
        )
    return values


def fixed(recipe: Recipe) -> set[str]:
    """Return the settings that the recipe fixes, also in its spec."""
    stages = parse_stages(recipe.spec)
    main = stages[main_stage(stages)]
    learner = learner_class(main.name)
    settled = set(aliases.present_settings(learner.name, recipe.all_settings()))
    parameter = learner.capabilities.main_parameter
    if parameter is not None and main.argument is not None:
        settled.add(parameter)
    return settled | ({KERNEL} if KernelMap.name in [stage.name for stage in stages] else set())


def with_kernel(spec: str, kernel: str) -> str:
    """Return the spec with a kernel stage before its main learner."""
    stages = parse_stages(spec)
    main = main_stage(stages)
    return format_stages([*stages[:main], Stage(KernelMap.name, kernel), *stages[main:]])


def main_learner(spec: str) -> str:
    """Return the name of a spec's last learner that is not auxiliary, otherwise of its last learner."""
    stages = parse_stages(spec)
    return learner_class(stages[main_stage(stages)].name).name


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


def check_dimensions(recipe: Recipe, pipeline: Chain, training: Examples) -> None:
    """Raise InvalidInputError if a recipe sets more dimensions than its learner can make from the examples.

    Defaults are not checked, because a learner reduces them itself.
    """
    main = pipeline.main_learner
    wanted = list(recipe.tune.values.get(_DIMENSIONS, ())) if recipe.tune else []
    if main is not None and _DIMENSIONS in fixed(recipe):
        wanted.append(main.get_params()[_DIMENSIONS])
    if main is None or not (numbers := [one for one in wanted if isinstance(one, int)]):
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
        name = _DIMENSIONS if recipe.dim is None else "dim"
        raise InvalidInputError(
            f"{name} {max(numbers)} is more than the {most} dimensions that {main.name} can have: {', '.join(reasons)}"
        )
