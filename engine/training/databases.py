"""Databases and targets of an evaluation: the items that its queries search, and the views to find these items in."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target, view_of
from crossview.engine.training.division import Division, Divisions
from crossview.engine.training.examples import Examples
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError, Text
from crossview.engine.values.evaluation import ITEMS, MIXED, OWN_ITEM, TRAINED, UNSEEN, EvaluationRequest
from crossview.engine.values.labels import LABELLING

NO_LABEL = Text("no item with these views has a label: ", LABELLING)
_ENOUGH = 2
"""Minimum number of labels, and of held-out items with each, for a default evaluation on unseen items."""
FEW = (
    "unseen items are not a database here, because fewer than two labels are on two held-out items each in every view: "
    "hold out more"
)

_BY_LABELS = {
    TRAINED: "the training items",
    UNSEEN: "all held-out items except the query",
    MIXED: "the training items and all held-out items except the query",
}
_BY_ITEMS = {UNSEEN: "all held-out items", MIXED: "all held-out items and the training items"}


def described(databases: Sequence[str], by: str) -> str:
    """Return a sentence about the items that the queries search."""
    held = _BY_ITEMS if by == ITEMS else _BY_LABELS
    task = "each must find its own item in another view, " if by == ITEMS else ""
    return task + ", ".join(f"database {name}: {held[name]}" for name in databases)


def chosen_databases(
    items: Examples, divisions: Divisions, targets: Sequence[str], by: str, wanted: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return the databases to measure, and a note if held-out items are too few for one; "" otherwise.

    ``targets`` are the views of the items to find. The default is trained and unseen if two labels are on at least two
    held-out items each in every view and division, and trained alone otherwise; by items it is unseen.

    Raises InvalidInputError for trained items by items: a query must find its own item, which is not a trained one.
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
    """Raise NotReadyError if no query of one view can find a relevant item by the other view."""
    view, target = crossing
    queries = np.intersect1d(division.queries, items.ids_in(view), assume_unique=True)
    offered = items.ids_in(target)
    if not len(queries):
        raise NotReadyError(f"no item of the query set has view {view!r}")
    if by == ITEMS:
        if len(np.intersect1d(queries, offered, assume_unique=True)) < _ENOUGH:
            raise NotReadyError(f"fewer than two held-out items have both {view} and {target}: hold out more")
    elif database == UNSEEN and not _shared_labels(items, division, target):
        raise NotReadyError(
            f"no two held-out items with view {target!r} share a label, so no query can find a relevant "
            "one: hold out more, or measure ",
            Argument("databases", ["trained"]),
        )
    if database != UNSEEN and not np.isin(division.trained, offered).any():
        raise NotReadyError(f"no item of the database has view {target!r}")


def contents(database: str, division: Division) -> NDArray[np.int64]:
    """Return the ascending ids of the items of a database."""
    if database == MIXED:
        return np.union1d(division.trained, division.held_out)
    return division.trained if database == TRAINED else division.held_out


def _shared_labels(items: Examples, division: Division, target: str) -> int:
    """Return the number of labels on two held-out items of different groups with a view, counted up to ``_ENOUGH``."""
    found = np.isin(items.ids, np.intersect1d(division.held_out, items.ids_in(target), assume_unique=True))
    first: dict[str, int] = {}
    shared = set()
    for place, group in zip(np.flatnonzero(found).tolist(), items.apart[found].tolist(), strict=True):
        shared |= {label for label in items.labels[place] if first.setdefault(label, group) != group}
        if len(shared) >= _ENOUGH:
            break
    return min(len(shared), _ENOUGH)


def notion_of(spaces: Sequence[Space], request: EvaluationRequest) -> str:
    """Return the notion of similarity of the requested targets; "" if they have no notion.

    Raises InvalidInputError for targets of several notions, each of which has labels of its own.
    """
    known = {name for space in spaces for name in space.pipeline.metric_names_}
    named = dict.fromkeys(target.partition(":")[2] or target for target in request.targets)
    if not known.intersection(named):
        return ""
    if len(named) > 1:
        raise InvalidInputError(
            f"an evaluation measures one notion at a time, by its own labels, not {', '.join(named)}"
        )
    return next(iter(named))


def target_views(
    spaces: Sequence[Space], request: EvaluationRequest, by: str, notion: str
) -> dict[str, tuple[str, ...]]:
    """Return, by space, the views of the items to find: those that the space can match with the query view.

    Raises NotFoundError for unknown views and targets, InvalidInputError if no space can match them, NotReadyError
    without labels if nothing else can be measured.
    """
    matched = {space.name: _matched(space, request, notion) for space in spaces}
    found = {name: tuple(dict.fromkeys(target.view for target in targets)) for name, targets in matched.items()}
    if not any(found.values()):
        spaces[0].targets_for(request.view, request.targets)
    if by != ITEMS:
        return found
    found = {name: tuple(target for target in views if target != request.view) for name, views in found.items()}
    if any(found.values()):
        return found
    across = f"items find their own other view in a space across views, in other views than {request.view!r}"
    if request.by:
        raise InvalidInputError(f"{across}: measure such a space, as of multi-npp or cca, or by labels")
    raise NotReadyError(NO_LABEL, f"; without labels {across}")


def _matched(space: Space, request: EvaluationRequest, notion: str) -> Sequence[Target]:
    """Return the requested targets that a space has; for a notion that it lacks, the view itself."""
    if notion and notion not in space.pipeline.metric_names_:
        return space.targets_of(request.view)
    names = [one for one in request.targets if notion or space.cross_view or view_of(one) == request.view]
    return space.targets_for(request.view, names) if names or not request.targets else ()
