"""The items that a training holds out: a random share, or a predefined part."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.training.examples import Examples, check_share, split
from crossview.engine.values.conditions.tree import EVERY
from crossview.engine.values.errors import Argument, InvalidInputError, NotFoundError, NotReadyError, few
from crossview.engine.values.recipe import Recipe

Ids = NDArray[np.int64]


def predefined(tx: Transaction, recipe: Recipe) -> Ids | None:
    """Return the ascending ids of the items that the recipe's filter holds out; None without a filter.

    Raises InvalidInputError for an empty or invalid filter or a share as well, NotFoundError for keys of no item and
    for a filter that no item passes.
    """
    if recipe.held_out is None:
        return None
    if recipe.holdout:
        raise InvalidInputError(
            "hold out either a share of the items (", Argument("holdout"), ") or the items of a filter, not both"
        )
    if recipe.held_out.is_empty:
        raise InvalidInputError("an empty filter would hold out every item: name an attribute, a prefix or keys")
    rest, names = recipe.held_out.without_keys()
    found = ItemColumns().matching(tx, check_filter(rest).condition)
    if names:
        found = np.intersect1d(found, _named(tx, names))
    if not len(found):
        raise NotFoundError(f"no item of collection {tx.name()!r} can be held out by: {rest}")
    return found


class Holdout(NamedTuple):
    """The items that a training holds out."""

    given: Ids | None = None
    """A predefined part; None: a random share."""
    unlearned: Ids = np.empty(0, np.int64)
    """The items that the recipe does not learn from, beside the part or the share."""

    @classmethod
    def of(cls, tx: Transaction, recipe: Recipe) -> Self:
        """Return the holdout of a recipe; raises the errors of ``predefined``, InvalidInputError for a wrong share, and
        NotFoundError without an item to learn from."""
        check_share(recipe.holdout)
        given = predefined(tx, recipe)
        columns, chosen = ItemColumns(), check_filter(recipe.where)
        if chosen.is_empty:
            return cls(given)
        found = columns.matching(tx, chosen.condition)
        if not len(found):
            raise NotFoundError(f"no item of collection {tx.name()!r} can be learned from by: {chosen}")
        return cls(given, np.setdiff1d(columns.matching(tx, EVERY), found, assume_unique=True))

    def left(self, ids: Ids, share: float) -> int:
        """Return how many of the items are left to learn from, beside a random share."""
        learned = ids[~np.isin(ids, self.unlearned)]
        return round((1 - share) * len(learned)) if self.given is None else int((~np.isin(learned, self.given)).sum())


NOTHING = Holdout()
"""No predefined part, and every item to learn from."""


def held_out(items: Examples, recipe: Recipe, holdout: Holdout) -> NDArray[np.bool_]:
    """Return which items are held out, (n,).

    Raises NotReadyError if one side is empty, InvalidInputError if a predefined part parts a group.
    """
    given, unlearned = holdout.given, np.isin(items.ids, holdout.unlearned)
    if given is None:
        found = split(len(items), recipe.holdout, recipe.seed, items.groups) | unlearned
        if unlearned.any() and found.all():
            raise NotReadyError(f"no item to learn from has one of the views {', '.join(items.rows)}")
        return found
    found = np.isin(items.ids, given) | unlearned
    if not found.any():
        raise NotReadyError(f"none of the {len(given)} items to hold out has one of the views {', '.join(items.rows)}")
    if found.all():
        raise NotReadyError(f"all {len(items)} items are held out, and none is left to learn from: hold out fewer")
    parted = np.intersect1d(items.apart[found], items.apart[~found])
    if len(parted) and recipe.group_by is not None:
        raise InvalidInputError(
            f"the items to hold out part {len(parted)} groups by {recipe.group_by.name}: hold out whole "
            "groups, or leave out ",
            Argument("group_by"),
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
