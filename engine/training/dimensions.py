"""Dimensions that are asked for: no more than the training items can have."""

import numpy as np

from engine.errors import InvalidInputError
from engine.learners.chain import Chain
from engine.learners.steps.normalization import L1, L2, Sqrt, Standardize
from engine.recipe import Recipe
from engine.training.examples import Examples
from engine.training.grids import fixed

_SETTING = "n_components"
_SAME_WIDTH = (L1, L2, Sqrt, Standardize)


def check_dimensions(recipe: Recipe, pipeline: Chain, training: Examples) -> None:
    """Raise InvalidInputError where a recipe asks for more dimensions than its learner can make of the examples.

    A default is not asked for: the learner takes as many as there are.
    """
    main = pipeline.main_learner
    asked = list(recipe.tune.values.get(_SETTING, ())) if recipe.tune else []
    if main is not None and _SETTING in fixed(recipe):
        asked.append(main.get_params()[_SETTING])
    if main is None or not (whole := [one for one in asked if isinstance(one, int)]):
        return
    items = dict(zip(training.rows, training.mask.sum(axis=0).tolist(), strict=True))
    ranks, reasons = items, [f"{count} training items have view {view}" for view, count in items.items()]
    before = pipeline.steps[: pipeline.steps.index(main)]
    if all(isinstance(step, _SAME_WIDTH) for step in before):  # others, such as kernels, make columns of items
        ranks = {view: min(rows.shape[1], items[view]) for view, rows in training.rows.items()}
        reasons = [f"view {view} has {rows.shape[1]} numbers" for view, rows in training.rows.items()] + reasons
    most = main.most_dimensions(list(ranks.values()), _classes(training))
    if max(whole) > most:
        name = _SETTING if recipe.dim is None else "dim"
        raise InvalidInputError(
            f"{name} {max(whole)} is more than the {most} dimensions that {main.name} can have: {', '.join(reasons)}"
        )


def _classes(training: Examples) -> int:
    """Return how many classes have two items or more."""
    return int((np.unique(training.classes(), return_counts=True)[1] > 1).sum())
