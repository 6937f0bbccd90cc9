"""Conversion of recipes, comparisons and calibration requests to messages and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import KINDS, Comparisons, Taxonomy
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import DEFAULT, FOLDS, Grouping, Pair, Recipe, Tune
from crossview.server.wire.convert import from_filter, to_filter
from crossview.server.wire.fields import to_message, to_value
from crossview.server.wire.structs import from_struct
from crossview.v1 import collections_pb2 as pb


def to_recipe(message: pb.TrainRequest) -> Recipe:
    """Return the recipe of a message; raise InvalidInputError if columns of comparisons do not match."""
    return to_value(
        Recipe,
        message,
        spec=message.learner or DEFAULT,
        pairs=tuple(to_value(Pair, pair) for pair in message.pairs),
        tune=to_tune(message.tune) if message.HasField("tune") else None,
        constraints=to_comparisons(message.constraints) if message.HasField("constraints") else None,
        group_by=to_grouping(message.group_by) if message.HasField("group_by") else None,
        held_out=to_filter(message.held_out) if message.HasField("held_out") else None,
        where=to_filter(message.where) if message.HasField("where") else None,
        taxonomy=to_taxonomy(message.taxonomy) if message.HasField("taxonomy") else None,
    )


def from_recipe(recipe: Recipe) -> pb.TrainRequest:
    """Return the message of a recipe, without its collection and space."""
    return to_message(
        pb.TrainRequest,
        recipe,
        learner=recipe.spec,
        pairs=[to_message(pb.Pair, pair) for pair in recipe.pairs],
        tune=None if recipe.tune is None else to_message(pb.Tune, recipe.tune),
        constraints=None if recipe.constraints is None else from_comparisons(recipe.constraints),
        group_by=from_grouping(recipe.group_by),
        held_out=None if recipe.held_out is None else from_filter(recipe.held_out),
        where=None if recipe.where is None else from_filter(recipe.where),
        taxonomy=from_taxonomy(recipe.taxonomy),
    )


def activates(message: pb.TrainRequest | pb.ExtendSpaceRequest | pb.AssignLabelRequest) -> bool | None:
    """Return whether searches must use the new space; None if the request does not specify it."""
    return message.activate if message.HasField("activate") else None


def to_tune(message: pb.Tune) -> Tune:
    """Return the tuning of a message; a single value counts as a list of one value."""
    values = {
        name: tuple(value) if isinstance(value, list) else (value,)
        for name, value in from_struct(message.values).items()
    }
    return to_value(Tune, message, values=values, folds=message.folds or FOLDS)


def to_grouping(message: pb.Grouping) -> Grouping:
    """Return the groups of items."""
    return to_value(Grouping, message)


def from_grouping(grouping: Grouping | None) -> pb.Grouping | None:
    """Return the message of the groups of items; None for None."""
    return None if grouping is None else to_message(pb.Grouping, grouping)


def to_taxonomy(message: pb.Taxonomy) -> Taxonomy:
    """Return the taxonomy of a message; raise InvalidInputError if its parents do not form a tree."""
    try:
        return to_value(Taxonomy, message)
    except ValueError as error:
        raise InvalidInputError(f"invalid taxonomy: {error}") from error


def from_taxonomy(taxonomy: Taxonomy | None) -> pb.Taxonomy | None:
    """Return the message of a tree of classes; None for None."""
    return None if taxonomy is None else pb.Taxonomy(parents=taxonomy.parents)


def to_comparisons(message: pb.Comparisons) -> ItemComparisons:
    """Return the comparisons of a message; raise InvalidInputError if its columns do not match."""
    if message.size not in KINDS or len(message.items) % message.size:
        raise InvalidInputError(
            f"constraints have 2, 3 or 4 items: {len(message.items)} items do not form constraints of {message.size}"
        )
    comparisons = Comparisons(
        np.array(message.items, np.int64).reshape(-1, message.size),
        np.array(message.similar, bool) if message.size == 2 else None,
        np.array(message.weights) if message.weights else None,
        np.array(message.margins) if message.margins else None,
        _to_notions(message),
    )
    if any(len(one.others) for one in message.others):
        raise InvalidInputError("constraints inside others cannot have others themselves: put them all into one list")
    return ItemComparisons(
        tuple(message.keys),
        comparisons,
        np.array(message.lines, np.int64) if message.lines else None,
        tuple(map(to_comparisons, message.others)),
    )


def _to_notions(message: pb.Comparisons) -> NDArray[Any] | None:
    if not message.notions:
        return None
    codes = np.array(message.notions, np.int64)
    if codes.min() < 0 or codes.max() >= len(message.notion_names):
        raise InvalidInputError(
            f"notions of constraints are positions in notion_names, below {len(message.notion_names)}"
        )
    return np.array(message.notion_names)[codes]


def to_calibration(message: pb.CalibrateSpaceRequest) -> CalibrationRequest:
    """Return a calibration request; raise InvalidInputError if columns of pairs do not match."""
    pairs = to_comparisons(message.pairs) if message.HasField("pairs") else None
    group_by = to_grouping(message.group_by) if message.HasField("group_by") else None
    return to_value(CalibrationRequest, message, pairs=pairs, group_by=group_by)


def from_calibration(request: CalibrationRequest) -> pb.CalibrateSpaceRequest:
    """Return the message of a calibration, without its collection."""
    pairs = None if request.pairs is None else from_comparisons(request.pairs)
    return to_message(pb.CalibrateSpaceRequest, request, pairs=pairs, group_by=from_grouping(request.group_by))


def from_comparisons(given: ItemComparisons) -> pb.Comparisons:
    """Return the message of comparisons of items."""
    columns = {**vars(given.comparisons), "lines": given.lines}
    if given.notions:
        columns["notions"] = given.notion_codes
    size = columns["items"].shape[1]
    lists = {name: None if column is None else column.ravel().tolist() for name, column in columns.items()}
    others = map(from_comparisons, given.others)
    return pb.Comparisons(keys=given.keys, size=size, notion_names=given.notions, others=others, **lists)
