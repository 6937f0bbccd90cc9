"""Divisions of the items into queries and training items, the same for every measured space."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.description import RAW
from crossview.engine.spaces.space import Space
from crossview.engine.training.examples import Examples, split
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError, Text
from crossview.engine.values.evaluation import ITEMS, EvaluationRequest
from crossview.engine.values.recipe import Grouping

Ids = NDArray[np.int64]


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

    def overlap(self) -> float:
        """Return the mean of the number of held-out items over that of trained ones."""
        return float(np.mean([len(one.held_out) / max(len(one.trained), 1) for one in self.parts]))


def grouping_of(spaces: Sequence[Space], request: EvaluationRequest) -> Grouping | None:
    """Return the groups of items: those of the request, otherwise those of the training of all trained spaces.

    Raises InvalidInputError if the spaces to refit were trained with different groups.
    """
    if request.group_by is not None:
        return request.group_by
    found = [space.group_by for space in spaces if space.group_by is not None]
    if all(one == found[0] for one in found):
        return found[0] if found else None
    if not request.refit:
        return None
    names = ", ".join(dict.fromkeys(one.name for one in found))
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
    if request.refit or not trained:
        return _random(spaces, items, what, request, grouping)
    seen = [np.fromiter((key in space.training_keys for key in items.keys), bool, len(items)) for space in trained]
    by_any, by_all = np.any(seen, axis=0), np.all(seen, axis=0)
    held_out = items.ids[~by_any]
    found = Division(held_out, held_out, items.ids[by_all], int((by_any & ~by_all).sum()))
    if not len(found.queries):
        raise NotReadyError(_nothing(spaces, f"there is no {what[:-1]} that none of them was trained on", "every item"))
    return Divisions((found,), _held_out_protocol(spaces, found, what))


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
    for number, one in enumerate(divisions.parts):
        found = np.intersect1d(one.held_out, able, assume_unique=True)
        most = max(most, len(found))
        if among is not None:
            if not len(found):
                raise NotReadyError(f"no held-out item with view {request.view!r} fulfils: {request.where}")
            one = replace(one, queries=found)
        if len(found) > request.max_queries:
            # A permutation: a larger maximum draws the same queries and more.
            drawn = np.random.default_rng(request.seed + number).permutation(found)[: request.max_queries]
            one = replace(one, queries=np.sort(drawn))
        parts.append(one)
    notes = [] if among is None else [f"queries fulfil: {request.where}"]
    if most > request.max_queries:
        notes.append(f"{request.max_queries:,} of {most:,} held-out items, drawn at random, are the query set")
    return Divisions(tuple(parts), "; ".join([divisions.protocol, *notes]))


def check_trained(spaces: Sequence[Space], divisions: Divisions, what: str) -> None:
    """Raise NotReadyError if a division has no trained items to find."""
    if not all(len(one.trained) for one in divisions.parts):
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


def _held_out_protocol(spaces: Sequence[Space], found: Division, what: str) -> str:
    """Return a sentence about queries that training held out."""
    groups = ", ".join(dict.fromkeys(space.group_by.name for space in spaces if space.group_by is not None))
    apart = f"; training did not part groups by {groups}" if groups else ""
    if len(spaces) == 1:
        return (
            f"the queries are the {what} that generation {spaces[0].generation} of space {spaces[0].name!r} was not "
            f"trained on{apart}"
        )
    left_out = f"; {found.partly} {what} that only some of them were trained on are left out"
    return (
        f"the queries are, for every space, the {what} that none of {_names(spaces)} was trained on"
        f"{left_out if found.partly else ''}{apart}"
    )


def _names(spaces: Sequence[Space]) -> str:
    """Name the trained spaces."""
    return ", ".join(f"{space.name} (generation {space.generation})" for space in spaces if space.name != RAW)


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
