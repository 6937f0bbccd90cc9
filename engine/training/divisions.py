"""Divisions of an evaluation's items into queries and training items, and the databases that its queries search."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.description import RAW
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target, view_of
from crossview.engine.training.examples import Examples
from crossview.engine.training.splits import split
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError, Text
from crossview.engine.values.evaluation import ITEMS, MIXED, OWN_ITEM, TRAINED, UNSEEN, EvaluationRequest
from crossview.engine.values.labels import LABELLING
from crossview.engine.values.recipe import Grouping

Ids = NDArray[np.int64]
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


@dataclass(frozen=True)
class Division:
    """Ascending ids of held-out and trained items."""

    queries: Ids
    """The query set: all held-out items, or a random sample."""
    held_out: Ids
    """Items that no space was trained on."""
    trained: Ids
    """Items that all spaces were trained on."""
    partly: int = 0
    """Number of items that only some spaces were trained on; the evaluation leaves them out."""


@dataclass(frozen=True)
class Divisions:
    """One division, or several random ones over which the figures are means."""

    parts: tuple[Division, ...]
    protocol: str
    """A sentence about the query set."""
    drawn: str = ""
    """A sentence about the draw of the queries, if there are more held-out items."""

    def overlap(self) -> float:
        """Return the mean of the number of held-out items over that of trained ones."""
        return float(np.mean([len(division.held_out) / max(len(division.trained), 1) for division in self.parts]))


def grouping_of(spaces: Sequence[Space], request: EvaluationRequest) -> Grouping | None:
    """Return the groups of items: those of the request, otherwise those of the training of all trained spaces.

    Raises InvalidInputError if the spaces to refit were trained with different groups.
    """
    if request.group_by is not None:
        return request.group_by
    groupings = [space.group_by for space in spaces if space.group_by is not None]
    if all(grouping == groupings[0] for grouping in groupings):
        return groupings[0] if groupings else None
    if not request.fits:
        return None
    names = ", ".join(dict.fromkeys(grouping.name for grouping in groupings))
    raise InvalidInputError(
        f"the spaces were trained with different groups ({names}): choose them by ", Argument("group_by")
    )


def divide(
    spaces: Sequence[Space], items: Examples, what: str, request: EvaluationRequest, grouping: Grouping | None
) -> Divisions:
    """Divide items; ``what`` is their name in sentences, in the plural. A random division keeps groups whole.

    Queries are the items that no trained space was trained on. They are a random share if the spaces are refitted, or
    if only ``raw`` is measured.

    Raises NotReadyError if no item is left as a query, InvalidInputError for groups that cannot be divided.
    """
    trained = [space for space in spaces if space.name != RAW]
    if request.fits or not trained:
        return _random(spaces, items, what, request, grouping)
    masks = [np.fromiter((key in space.training_keys for key in items.keys), bool, len(items)) for space in trained]
    by_any, by_all = np.any(masks, axis=0), np.all(masks, axis=0)
    held_out = items.ids[~by_any]
    division = Division(held_out, held_out, items.ids[by_all], int((by_any & ~by_all).sum()))
    if not len(division.queries):
        raise NotReadyError(_nothing(spaces, f"there is no {what[:-1]} that none of them was trained on", "every item"))
    return Divisions((division,), _held_out_protocol(spaces, division, what))


def draw_queries(
    divisions: Divisions,
    items: Examples,
    targets: Sequence[str],
    request: EvaluationRequest,
    by: str,
    among: Ids | None,
) -> Divisions:
    """Return divisions with at most ``max_queries`` queries, drawn with the seed from the held-out items with the view.

    ``targets`` are the views of the items to find; by items, only items with one of these views are queries. ``among``
    are the items that the request's filter chooses, None without one. NotReadyError if it chooses no held-out item.
    """
    able = items.ids_in(request.view)
    if among is not None:
        able = np.intersect1d(able, among, assume_unique=True)
    if by == ITEMS:
        able = np.intersect1d(able, items.ids_in(*targets), assume_unique=True)
    parts, most = [], 0
    for number, division in enumerate(divisions.parts):
        queries = np.intersect1d(division.held_out, able, assume_unique=True)
        most = max(most, len(queries))
        if among is not None:
            if not len(queries):
                raise NotReadyError(f"no held-out item with view {request.view!r} fulfils: {request.where}")
            division = replace(division, queries=queries)
        if len(queries) > request.max_queries:
            # A permutation: a larger maximum draws the same queries and more.
            some = np.random.default_rng(request.seed + number).permutation(queries)[: request.max_queries]
            division = replace(division, queries=np.sort(some))
        parts.append(division)
    protocol = divisions.protocol if among is None else f"{divisions.protocol}; queries fulfil: {request.where}"
    drawn = f"{request.max_queries:,} of {most:,} held-out items, drawn at random, are the query set"
    return Divisions(tuple(parts), protocol, drawn if most > request.max_queries else "")


def check_trained(spaces: Sequence[Space], divisions: Divisions, what: str) -> None:
    """Raise NotReadyError if a division has no trained items to find."""
    if not all(len(division.trained) for division in divisions.parts):
        lacking = f"there is no {what[:-1]} that all of them were trained on"
        raise NotReadyError(_nothing(spaces, lacking, "none of these items"))


def _random(
    spaces: Sequence[Space], items: Examples, what: str, request: EvaluationRequest, grouping: Grouping | None
) -> Divisions:
    parts = []
    for seed in range(request.seed, request.seed + request.splits):
        held_out = split(len(items), request.test_size, seed, items.groups)
        parts.append(Division(items.ids[held_out], items.ids[held_out], items.ids[~held_out]))
        if not held_out.any():
            raise NotReadyError(
                f"{request.test_size:.0%} of {len(items)} {what} are none: raise ", Argument("test_size")
            )
    fitted = "the space was fitted again on the others only"
    if len(spaces) > 1:
        fitted = f"each of {_names(spaces)} was fitted again on the others only"
    elif spaces[0].name == RAW:
        fitted = "nothing was learned"
    share = f"{request.test_size:.0%} of the {what}"
    if grouping is not None:
        share = f"{request.test_size:.0%} of the groups of {what} by {grouping.name}"
    drawn = f"{share}, drawn with seed {request.seed}, are the queries; {fitted}"
    if request.splits > 1:
        drawn = (
            f"means over {request.splits} splits: {share}, drawn with the seeds {request.seed} to "
            f"{request.seed + request.splits - 1}, are the queries; {fitted}; standard errors are over the splits, "
            "corrected for the items that they share (Nadeau and Bengio, 2003)"
        )
    return Divisions(tuple(parts), drawn)


def _held_out_protocol(spaces: Sequence[Space], division: Division, what: str) -> str:
    groups = ", ".join(dict.fromkeys(space.group_by.name for space in spaces if space.group_by is not None))
    apart = f"; training did not part groups by {groups}" if groups else ""
    if len(spaces) == 1:
        return (
            f"the queries are the {what} that generation {spaces[0].generation} of space {spaces[0].name!r} was not "
            f"trained on{apart}"
        )
    left_out = f"; {division.partly} {what} that only some of them were trained on are left out"
    return (
        f"the queries are, for every space, the {what} that none of {_names(spaces)} was trained on"
        f"{left_out if division.partly else ''}{apart}"
    )


def _names(spaces: Sequence[Space]) -> str:
    trained = [space for space in spaces if space.name != RAW]
    return ", ".join(f"{s.name} (generation {s.generation})" if s.generation else s.name for s in trained)


def _nothing(spaces: Sequence[Space], lacking: str, trained: str) -> Text:
    """Return the reason for missing queries or trained items, and the remedy."""
    if len(spaces) == 1:
        return Text(
            f"space {spaces[0].name!r} was trained on {trained}: train with ",
            Argument("holdout", 0.2),
            ", or evaluate with ",
            Argument("refit", True),
        )
    return Text(
        f"{lacking}, of the spaces {_names(spaces)}: train them with the same ",
        Argument("holdout", 0.2),
        " and ",
        Argument("seed"),
        ", or evaluate with ",
        Argument("refit", True),
    )


def databases_sentence(databases: Sequence[str], by: str) -> str:
    """Return a sentence about the items that the queries search."""
    held = _BY_ITEMS if by == ITEMS else _BY_LABELS
    task = "each must find its own item in another view, " if by == ITEMS else ""
    return task + ", ".join(f"database {name}: {held[name]}" for name in databases)


def chosen_databases(
    items: Examples, divisions: Divisions, targets: Collection[str], by: str, request: EvaluationRequest
) -> tuple[tuple[str, ...], str]:
    """Return the databases to measure, and a note if held-out items are too few for one; "" otherwise.

    ``targets`` are the views of the items to find. The default is trained and unseen if two labels are on at least two
    held-out items each in every view and division, and trained alone otherwise; by items it is unseen. Without
    a query view it is unseen if any label is on two held-out items in each view and division, and trained otherwise.

    Raises InvalidInputError for trained items by items: a query must find its own item, which is not a trained one.
    """
    if by == ITEMS:
        if TRAINED in request.databases:
            raise InvalidInputError(OWN_ITEM)
        return request.databases or (UNSEEN,), ""
    if request.databases:
        return request.databases, ""
    enough = _ENOUGH if request.view else 1
    shared = min(_shared_labels(items, division, target) for division in divisions.parts for target in targets)
    if shared < enough:
        return (TRAINED,), FEW
    return ((TRAINED, UNSEEN) if request.view else (UNSEEN,)), ""


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
    held_out = np.isin(items.ids, np.intersect1d(division.held_out, items.ids_in(target), assume_unique=True))
    first: dict[str, int] = {}
    shared = set()
    for place, group in zip(np.flatnonzero(held_out).tolist(), items.apart[held_out].tolist(), strict=True):
        shared |= {label for label in items.labels[place] if first.setdefault(label, group) != group}
        if len(shared) >= _ENOUGH:
            break
    return min(len(shared), _ENOUGH)


def notion_of(spaces: Sequence[Space], request: EvaluationRequest) -> str:
    """Return the notion of similarity of the requested targets; "" if they have no notion.

    Raises InvalidInputError for targets of several notions, each of which has labels of its own.
    """
    notions = {name for space in spaces for name in space.pipeline.metric_names_}
    names = dict.fromkeys(target.partition(":")[2] or target for target in request.targets)
    if not notions.intersection(names):
        return ""
    if len(names) > 1:
        raise InvalidInputError(
            f"an evaluation measures one notion at a time, by its own labels, not {', '.join(names)}"
        )
    return next(iter(names))


def target_views(
    spaces: Sequence[Space], request: EvaluationRequest, by: str, notion: str
) -> dict[str, tuple[str, ...]]:
    """Return, by space, the views of the items to find: those that the space can match with the query view.

    Raises NotFoundError for unknown views and targets, InvalidInputError if no space can match them, NotReadyError
    without labels if nothing else can be measured.
    """
    matched = {space.name: _matched(space, request, notion) for space in spaces}
    views_of = {name: tuple(dict.fromkeys(target.view for target in targets)) for name, targets in matched.items()}
    if not any(views_of.values()):
        spaces[0].targets_for(request.view, request.targets)
    if by != ITEMS:
        return views_of
    views_of = {name: tuple(target for target in views if target != request.view) for name, views in views_of.items()}
    if any(views_of.values()):
        return views_of
    across = f"items find their own other view in a space across views, in other views than {request.view!r}"
    if request.by:
        raise InvalidInputError(f"{across}: measure such a space, as of multi-npp or cca, or by labels")
    raise NotReadyError(NO_LABEL, f"; without labels {across}")


def _matched(space: Space, request: EvaluationRequest, notion: str) -> Sequence[Target]:
    """Return the requested targets that a space has; for a notion that it lacks, the view itself."""
    if notion and notion not in space.pipeline.metric_names_:
        return space.targets_of(request.view)
    names = [target for target in request.targets if notion or space.cross_view or view_of(target) == request.view]
    return space.targets_for(request.view, names) if names or not request.targets else ()
