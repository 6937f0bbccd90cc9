"""Recipes as messages and back."""

import numpy as np

from engine.comparisons import ItemComparisons
from engine.errors import InvalidInputError
from engine.learners.comparisons import KINDS, Comparisons
from engine.recipe import FOLDS, LEARNER, MEASURES, Pair, Recipe, Tune
from server.pb.crossview.v1 import collections_pb2 as pb
from server.structs import from_struct, to_struct


def to_recipe(message: pb.TrainRequest) -> Recipe:
    """Raises InvalidInputError where the columns of comparisons disagree."""
    return Recipe(
        spec=message.learner or LEARNER,
        views=tuple(message.views),
        dim=message.dim if message.HasField("dim") else None,
        settings=from_struct(message.settings),
        holdout=message.holdout,
        seed=message.seed,
        pairs=tuple(Pair(pair.first, pair.second, pair.line) for pair in message.pairs),
        tune=to_tune(message.tune) if message.HasField("tune") else None,
        constraints=to_comparisons(message.constraints) if message.HasField("constraints") else None,
        rerank=message.rerank,
    )


def from_recipe(recipe: Recipe) -> pb.TrainRequest:
    """The message of a recipe, for any collection and space."""
    return pb.TrainRequest(
        learner=recipe.spec,
        views=recipe.views,
        dim=recipe.dim,
        settings=to_struct(recipe.settings),
        holdout=recipe.holdout,
        seed=recipe.seed,
        pairs=[pb.Pair(first=pair.first, second=pair.second, line=pair.line) for pair in recipe.pairs],
        tune=None if recipe.tune is None else from_tune(recipe.tune),
        constraints=None if recipe.constraints is None else from_comparisons(recipe.constraints),
        rerank=recipe.rerank,
    )


def to_tune(message: pb.Tune) -> Tune:
    """How settings are to be chosen; a single value counts as a list of one."""
    values = {
        name: tuple(value) if isinstance(value, list) else (value,)
        for name, value in from_struct(message.values).items()
    }
    return Tune(values, message.measure or MEASURES[0], message.folds or FOLDS)


def from_tune(tune: Tune) -> pb.Tune:
    """The message of how settings are to be chosen."""
    return pb.Tune(values=to_struct(tune.values), measure=tune.measure, folds=tune.folds)


def to_comparisons(message: pb.Comparisons) -> ItemComparisons:
    """Comparisons of items; raises InvalidInputError where the columns disagree."""
    if message.size not in KINDS or len(message.items) % message.size:
        raise InvalidInputError(f"constraints are of 2, 3 or 4 items: {len(message.items)} are none of {message.size}")
    comparisons = Comparisons(
        np.array(message.items, np.int64).reshape(-1, message.size),
        np.array(message.similar, bool) if message.size == 2 else None,
        np.array(message.weights) if message.weights else None,
        np.array(message.margins) if message.margins else None,
    )
    return ItemComparisons(
        tuple(message.keys), comparisons, np.array(message.lines, np.int64) if message.lines else None
    )


def from_comparisons(given: ItemComparisons) -> pb.Comparisons:
    """The message of comparisons of items."""
    columns = {
        "similar": given.comparisons.similar,
        "weights": given.comparisons.weights,
        "margins": given.comparisons.margins,
    }
    return pb.Comparisons(
        keys=given.keys,
        size=given.comparisons.items.shape[1],
        items=given.comparisons.items.ravel().tolist(),
        lines=None if given.lines is None else given.lines.tolist(),
        **{name: None if column is None else column.tolist() for name, column in columns.items()},
    )
