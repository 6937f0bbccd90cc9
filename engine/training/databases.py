"""Databases: which items the queries of an evaluation are to find, and which of these can be measured."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.errors import InvalidInputError, NotReadyError
from crossview.engine.evaluation import ITEMS, MIXED, OWN_ITEM, TRAINED, UNSEEN
from crossview.engine.training.division import Division, Divisions
from crossview.engine.training.examples import Examples

_ENOUGH = 2
"""Labels, and held-out items with each of them, that unseen items take to be shown beside trained ones."""
FEW = (
    "unseen items are no database here, because fewer than two labels are on two held-out items each in every view: "
    "hold out more"
)


_BY_LABELS = {
    TRAINED: "the items that were learned from",
    UNSEEN: "all held-out items but the one that asks",
    MIXED: "the items that were learned from and all held-out ones but the one that asks",
}
_BY_ITEMS = {UNSEEN: "all held-out items", MIXED: "all held-out items and those that were learned from"}


def described(databases: Sequence[str], by: str) -> str:
    """Return what the queries are to find, in a sentence."""
    held = _BY_ITEMS if by == ITEMS else _BY_LABELS
    asked = "each is to find its own item in another view, " if by == ITEMS else ""
    return asked + ", ".join(f"database {name}: {held[name]}" for name in databases)


def chosen_databases(
    items: Examples, divisions: Divisions, targets: Sequence[str], by: str, wanted: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return the databases to measure, and a note where held-out items are too few for one; "" as a rule.

    ``targets`` are the views that items are found in. Where no database is wanted, these are trained and unseen, if
    two labels are on at least two held-out items each in every view and division, and else trained alone; by items it
    is unseen.

    Raises InvalidInputError for trained items by items, of which a query's own is none.
    """
    if by == ITEMS:
        if TRAINED in wanted:
            raise InvalidInputError(OWN_ITEM)
        return tuple(wanted) or (UNSEEN,), ""
    if wanted:
        return tuple(wanted), ""
    few = any(_shared_labels(items, one, target) < _ENOUGH for one in divisions.parts for target in targets)
    return ((TRAINED,), FEW) if few else ((TRAINED, UNSEEN), "")


def check_database(database: str, items: Examples, division: Division, crossing: tuple[str, str], by: str) -> None:
    """Raise NotReadyError where no query of one view could find anything by the other view."""
    view, target = crossing
    queries = np.intersect1d(division.queries, items.ids_in(view), assume_unique=True)
    offered = items.ids_in(target)
    if not len(queries):
        raise NotReadyError(f"no item that queries has view {view!r}")
    if by == ITEMS:
        if len(np.intersect1d(queries, offered, assume_unique=True)) < _ENOUGH:
            raise NotReadyError(f"fewer than two held-out items have both {view} and {target}: hold out more")
    elif database == UNSEEN and not _shared_labels(items, division, target):
        raise NotReadyError(
            f"no two held-out items with view {target!r} share a label, so that none could find another: "
            "hold out more, or measure `databases=['trained']`"
        )
    if database != UNSEEN and not np.isin(division.trained, offered).any():
        raise NotReadyError(f"no item to be found has view {target!r}")


def contents(database: str, division: Division) -> NDArray[np.int64]:
    """Return the ids of the items to find, ascending."""
    if database == MIXED:
        return np.union1d(division.trained, division.held_out)
    return division.trained if database == TRAINED else division.held_out


def _shared_labels(items: Examples, division: Division, target: str) -> int:
    """Return how many labels are on two held-out items with a view that do not belong together: ``_ENOUGH`` of more."""
    found = np.isin(items.ids, np.intersect1d(division.held_out, items.ids_in(target), assume_unique=True))
    first: dict[str, int] = {}
    shared = set()
    for place, group in zip(np.flatnonzero(found).tolist(), items.apart[found].tolist(), strict=True):
        shared |= {label for label in items.labels[place] if first.setdefault(label, group) != group}
        if len(shared) >= _ENOUGH:
            break
    return min(len(shared), _ENOUGH)
