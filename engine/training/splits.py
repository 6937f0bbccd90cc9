"""Splits of items: groups that stay whole, random shares, folds, and the items that a training holds out."""

import json
import warnings
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.training.examples import Examples
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.conditions.tree import EVERY
from crossview.engine.values.errors import Argument, InvalidInputError, NotFoundError, NotReadyError, few
from crossview.engine.values.recipe import Grouping, Recipe

Groups = NDArray[np.intp]
Ids = NDArray[np.int64]


def groups_of(tx: Transaction, ids: NDArray[np.int64], grouping: Grouping | None) -> Groups | None:
    """Return the group of each item, (n,), numbered from 0; an item without a value is alone. None without a grouping.

    Raises NotFoundError if no item has the attribute, or if the groups name no item.
    """
    if grouping is None:
        return None
    values: Mapping[int, str]
    if grouping.groups:
        names = {key: name for name, keys in named_keys(tx, list(grouping.groups)).items() for key in keys}
        values = {item: grouping.groups[names[key]] for key, item in tx.items.ids_of(names).items()}
    else:
        attributes = tx.items.attributes(ids.tolist())
        by_item = {item: of_item.get(grouping.name) for item, of_item in attributes.items()}
        values = {item: _json(value) for item, value in by_item.items() if value is not None}
    if not any(item in values for item in ids.tolist()):
        what = "the file names none of them" if grouping.groups else f"none of them has an attribute {grouping.name!r}"
        raise NotFoundError(f"the {len(ids)} items cannot be grouped by {grouping.name}: {what}")
    numbers: dict[Hashable, int] = {}
    groups = [numbers.setdefault(("of", values[i]) if i in values else i, len(numbers)) for i in ids.tolist()]
    return np.array(groups, np.intp)


def split_groups(groups: Groups, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which items are held out, (n,): those of a random share of the groups, at least one group.

    Raises InvalidInputError if no group is left to learn from.
    """
    held_out = np.zeros(len(groups), bool)
    if not share:
        return held_out
    splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
    try:
        _, places = next(splitter.split(groups, groups=groups))
    except ValueError:
        count = len(np.unique(groups))
        raise InvalidInputError(
            f"the items form {count} group{'s' if count > 1 else ''}, and holding out {share:.0%} of them leaves "
            "one side empty: choose a grouping with more groups, or hold out less"
        ) from None
    held_out[places] = True
    return held_out


def fold_groups(groups: Groups, classes: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each item, (n,): groups stay whole, and classes, numbers from 0, spread as evenly as possible.

    Raises InvalidInputError for fewer groups than folds.
    """
    if (count := len(np.unique(groups))) < folds:
        raise InvalidInputError(
            f"the training items form {count} groups, too few for {folds} folds: use fewer folds, or other groups"
        )
    even = np.bincount(classes).max() >= folds
    splitter = (StratifiedGroupKFold if even else GroupKFold)(folds, shuffle=True, random_state=seed)
    fold_of = np.empty(len(groups), np.intp)
    with warnings.catch_warnings():
        # scikit-learn warns of classes with fewer items than folds, which are allowed here
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, places) in enumerate(splitter.split(groups, classes, groups)):
            fold_of[places] = number
    return np.unique(fold_of, return_inverse=True)[1]  # large groups can leave a fold empty: number the others


def _json(value: Any) -> str:
    """Return a JSON value as text, the same for equal values such as 1 and 1.0."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, sort_keys=True)


def check_share(share: float) -> None:
    """Raise InvalidInputError unless 0 <= share < 1."""
    if not 0 <= share < 1:
        raise InvalidInputError(f"the held-out share must be at least 0 and below 1, not {share}")


def split(count: int, share: float, seed: int, groups: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
    """Return which of ``count`` examples are held out, (count,): a random share of the examples, or of their groups.

    Raises InvalidInputError unless 0 <= share < 1, and if no group is left to learn from.
    """
    check_share(share)
    if groups is not None:
        return split_groups(groups, share, seed)
    held_out = np.zeros(count, bool)
    held_out[np.random.default_rng(seed).permutation(count)[: round(share * count)]] = True
    return held_out


class Holdout(NamedTuple):
    """The items that a recipe holds out."""

    recipe: Recipe
    predefined: Ids | None
    """The ascending ids of a predefined part; None: a random share."""
    unlearned: Ids
    """The items that the recipe does not learn from, beside the part or the share."""

    @classmethod
    def of(cls, tx: Transaction, recipe: Recipe) -> Self:
        """Return the holdout of a recipe.

        Raises InvalidInputError for a share out of range, an empty or invalid filter, or a share and a filter;
        NotFoundError for keys of no item, a filter that no item passes, and if no item is left to learn from.
        """
        check_share(recipe.holdout)
        predefined = None if recipe.held_out is None else _predefined(tx, recipe, recipe.held_out)
        columns, where = ItemColumns(), check_filter(recipe.where)
        if where.is_empty:
            return cls(recipe, predefined, np.empty(0, np.int64))
        ids = columns.matching(tx, where.condition)
        if not len(ids):
            raise NotFoundError(f"no item of collection {tx.name()!r} can be learned from by: {where}")
        return cls(recipe, predefined, np.setdiff1d(columns.matching(tx, EVERY), ids, assume_unique=True))

    def count_left(self, ids: Ids) -> int:
        """Return how many of the items are left to learn from."""
        learned = ids[~np.isin(ids, self.unlearned)]
        if self.predefined is None:
            return round((1 - self.recipe.holdout) * len(learned))
        return int((~np.isin(learned, self.predefined)).sum())

    def among(self, items: Examples) -> NDArray[np.bool_]:
        """Return which items are held out, (n,).

        Raises NotReadyError if one side is empty, InvalidInputError if a predefined part parts a group.
        """
        unlearned, recipe = np.isin(items.ids, self.unlearned), self.recipe
        if self.predefined is None:
            held_out = split(len(items), recipe.holdout, recipe.seed, items.groups) | unlearned
            if unlearned.any() and held_out.all():
                raise NotReadyError(f"no item to learn from has one of the views {', '.join(items.rows)}")
            return held_out
        held_out = np.isin(items.ids, self.predefined) | unlearned
        if not held_out.any():
            raise NotReadyError(
                f"none of the {len(self.predefined)} items to hold out has one of the views {', '.join(items.rows)}"
            )
        if held_out.all():
            raise NotReadyError(f"all {len(items)} items are held out, and none is left to learn from: hold out fewer")
        parted = np.intersect1d(items.apart[held_out], items.apart[~held_out])
        if len(parted) and recipe.group_by is not None:
            raise InvalidInputError(
                f"the items to hold out part {len(parted)} groups by {recipe.group_by.name}: hold out whole "
                "groups, or leave out ",
                Argument("group_by"),
            )
        return held_out


def _predefined(tx: Transaction, recipe: Recipe, held_out: Filter) -> Ids:
    """Return the ascending ids of the items that pass a filter, whose keys can also be paths of the items' files."""
    if recipe.holdout:
        raise InvalidInputError(
            "hold out either a share of the items (", Argument("holdout"), ") or the items of a filter, not both"
        )
    if held_out.is_empty:
        raise InvalidInputError("an empty filter would hold out every item: name an attribute, a prefix or keys")
    rest, names = held_out.without_keys()
    ids = ItemColumns().matching(tx, check_filter(rest).condition)
    if names:
        keys = named_keys(tx, names)
        if unknown := [name for name in names if name not in keys]:
            raise NotFoundError(
                f"{len(unknown)} of the {len(names)} items to hold out are not in collection {tx.name()!r}: "
                f"{few(map(repr, unknown))}"
            )
        items = tx.items.ids_of(key for of_name in keys.values() for key in of_name)
        ids = np.intersect1d(ids, np.fromiter(items.values(), np.int64, len(items)))
    if not len(ids):
        raise NotFoundError(f"no item of collection {tx.name()!r} can be held out by: {rest}")
    return ids
