"""The items that a training holds out: a random share, or a predefined part."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.errors import InvalidInputError, NotFoundError, NotReadyError, few
from crossview.engine.recipe import Recipe
from crossview.engine.training.examples import Examples, split

Ids = NDArray[np.int64]


def predefined(tx: Transaction, recipe: Recipe) -> Ids | None:
    """Return the ascending ids of the items that the recipe's filter holds out; None without a filter.

    Raises InvalidInputError for an empty or invalid filter or a share as well, NotFoundError for keys of no item and
    for a filter that no item passes.
    """
    if recipe.held_out is None:
        return None
    if recipe.holdout:
        raise InvalidInputError("hold out either a share of the items (`holdout`) or the items of a filter, not both")
    if not recipe.held_out:
        raise InvalidInputError("an empty filter would hold out every item: name an attribute, a prefix or keys")
    rest, names = recipe.held_out.without_keys()
    found = ItemColumns().matching(tx, check_filter(rest).condition)
    if names:
        found = np.intersect1d(found, _named(tx, names))
    if not len(found):
        raise NotFoundError(f"no item of collection {tx.name()!r} can be held out by: {rest}")
    return found


def held_out(items: Examples, recipe: Recipe, given: Ids | None) -> NDArray[np.bool_]:
    """Return which items are held out, (n,): those with the ``given`` ids, or a random share without them.

    Raises NotReadyError if the given ids leave one side empty, InvalidInputError if they part a group.
    """
    if given is None:
        return split(len(items), recipe.holdout, recipe.seed, items.groups)
    found = np.isin(items.ids, given)
    if not found.any():
        raise NotReadyError(f"none of the {len(given)} items to hold out has one of the views {', '.join(items.rows)}")
    if found.all():
        raise NotReadyError(f"all {len(items)} items are held out, and none is left to learn from: hold out fewer")
    parted = np.intersect1d(items.apart[found], items.apart[~found])
    if len(parted) and recipe.group_by is not None:
        raise InvalidInputError(
            f"the items to hold out part {len(parted)} groups by {recipe.group_by.name}: hold out whole groups, or "
            "leave out `group_by`"
        )
    return found


def _named(tx: Transaction, names: tuple[str, ...]) -> Ids:
    """Return the ids of the items that keys or paths name; NotFoundError lists those of no item."""
    found = named_keys(tx, names)
    if unknown := [name for name in names if name not in found]:
        raise NotFoundError(
            f"{len(unknown)} of the {len(names)} items to hold out are not in collection {tx.name()!r}: "
            f"{few(map(repr, unknown))}"
        )
    ids = tx.items.ids_of(key for keys in found.values() for key in keys)
    return np.unique(np.fromiter(ids.values(), np.int64, len(ids)))
