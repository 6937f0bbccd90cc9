"""Divisions: which labelled items are queries and which the database, the same for every space that is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.catalog.catalog import Transaction
from engine.catalog.description import RAW
from engine.catalog.joined import joined_view
from engine.errors import NotReadyError
from engine.spaces.space import Space
from engine.training.examples import split


@dataclass(frozen=True)
class Division:
    """Queries and database, by the ids of items, ascending."""

    queries: NDArray[np.int64]
    database: NDArray[np.int64]
    protocol: str
    """What they are, in a sentence."""


def divide(
    tx: Transaction, spaces: Sequence[Space], views: Sequence[str], refit: bool, test_size: float, seed: int
) -> Division:
    """Divide the labelled items that have one of the views.

    Queries are what none of the trained spaces was trained on, the database what all of them were; at random where the
    spaces are fitted anew, or where only ``raw`` is measured.

    Raises NotReadyError where there are no labels, or where queries or database would be empty.
    """
    ids = _labelled(tx, views)
    trained = [space for space in spaces if space.name != RAW]
    if refit or not trained:
        held_out = split(len(ids), test_size, seed)
        found = Division(ids[held_out], ids[~held_out], _random_protocol(spaces, test_size, seed))
    else:
        keys = tx.items.keys()
        seen = np.array([[keys[item] in space.training_keys for space in trained] for item in ids.tolist()], bool)
        found = Division(ids[~seen.any(axis=1)], ids[seen.all(axis=1)], _held_out_protocol(spaces, seen))
    _check(spaces, found)
    return found


def _labelled(tx: Transaction, views: Sequence[str]) -> NDArray[np.int64]:
    labels = tx.items.labels()
    ids = np.unique(np.concatenate([joined_view(tx, view).ids(tx) for view in views]))
    found: NDArray[np.int64] = ids[np.array([item in labels for item in ids.tolist()], bool)]
    if not len(ids):
        raise NotReadyError(f"collection {tx.name()!r} has no items with view {views[0]!r}: index some first")
    if not len(found):
        raise NotReadyError("no item with these views has a label: index with --labels folder or a CSV file")
    return found


def _random_protocol(spaces: Sequence[Space], test_size: float, seed: int) -> str:
    fitted = "the space was fitted anew on the database only"
    if len(spaces) > 1:
        fitted = f"each of {_names(spaces)} was fitted anew on the database only"
    elif spaces[0].name == RAW:
        fitted = "nothing was learned"
    return f"{test_size:.0%} of the labelled items, drawn with seed {seed}, are the queries; {fitted}"


def _held_out_protocol(spaces: Sequence[Space], seen: NDArray[np.bool_]) -> str:
    """Return what the queries are where training held them out; ``seen`` is (items, trained spaces)."""
    if len(spaces) == 1:
        return (
            f"the queries are the labelled items that generation {spaces[0].generation} of space {spaces[0].name!r} "
            "was not trained on; the database holds those that it was trained on"
        )
    between = int((seen.any(axis=1) & ~seen.all(axis=1)).sum())
    left_out = f"; {between} labelled items that only some of them were trained on are left out" if between else ""
    return (
        f"the queries are, for every space, the labelled items that none of {_names(spaces)} was trained on; "
        f"the database holds those that all of them were trained on{left_out}"
    )


def _names(spaces: Sequence[Space]) -> str:
    """Name the trained spaces."""
    return ", ".join(f"{space.name} (generation {space.generation})" for space in spaces if space.name != RAW)


def _check(spaces: Sequence[Space], found: Division) -> None:
    if len(found.queries) and len(found.database):
        return
    if len(spaces) == 1:
        trained = "none of these items" if len(found.queries) else "every item"
        raise NotReadyError(
            f"space {spaces[0].name!r} was trained on {trained}: train with --holdout 0.2, or evaluate with --refit"
        )
    lacking = "all of them were" if len(found.queries) else "none of them was"
    raise NotReadyError(
        f"there is no labelled item that {lacking} trained on, of the spaces {_names(spaces)}: "
        "train them with the same --holdout 0.2 and --seed, or evaluate with --refit"
    )
