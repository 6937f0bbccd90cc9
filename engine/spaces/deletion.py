"""Deletion of spaces, generations and views: the conditions for it, and the disk space that it frees."""

import logging
from collections import defaultdict

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.description import RAW, no_space, raw_generation
from crossview.engine.catalog.extractors import find_view
from crossview.engine.catalog.joined import part_names
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.spaces.target import sketch_name
from crossview.engine.values.errors import CrossviewError, InvalidInputError, NotFoundError, NotReadyError, call

_log = logging.getLogger(__name__)


def delete_space(tx: Transaction, space: str, generation: int | None = None) -> None:
    """Delete a trained space, or one of its generations that is not in use.

    After the deletion of the active space, ``raw`` answers searches that name no space.

    Raises InvalidInputError for ``raw``, NotFoundError for an unknown space or generation, NotReadyError for the
    generation in use.
    """
    if space == RAW:
        raise InvalidInputError(
            f"space {RAW!r} contains the views themselves and cannot be deleted; delete a view with: ",
            call("collection.views.delete", "VIEW"),
        )
    if space not in tx.spaces.in_use():
        raise no_space(tx, space)
    if generation is not None:
        _check_generation(tx, space, generation)
    tx.spaces.delete(space, generation)
    if generation is None and tx.active_space() == space:
        tx.activate("")
    tx.next_sequence()


def _check_generation(tx: Transaction, space: str, generation: int) -> None:
    stored = [record.generation for record in tx.spaces.generations(space)]
    if generation not in stored:
        raise NotFoundError(f"space {space!r} has no generation {generation}; there are: {', '.join(map(str, stored))}")
    if tx.spaces.in_use()[space] != generation:
        return
    rest = [number for number in stored if number != generation]
    if not rest:
        raise NotReadyError(
            f"generation {generation} is the only one of space {space!r}: delete the whole space with: ",
            call("collection.spaces.delete", space),
        )
    raise NotReadyError(
        f"generation {generation} of space {space!r} is in use: activate another one first with: ",
        call("collection.spaces.activate", space, generation=rest[-1]),
        "; or delete the whole space with: ",
        call("collection.spaces.delete", space),
    )


def delete_view(tx: Transaction, name: str) -> None:
    """Delete a view with its rows and fitted states; items stay, also items without another view.

    Raises NotFoundError, InvalidInputError for the last view, NotReadyError if a space uses the view.
    """
    view = find_view(tx, name)
    if len(tx.views.all()) == 1:
        raise InvalidInputError(
            f"{name!r} is the only view of collection {tx.name()!r}: add another one first, or delete the "
            "collection with: ",
            call("home.delete", tx.name()),
        )
    used: dict[str, list[int]] = defaultdict(list)
    for generation in tx.spaces.generations():
        if any(name in part_names(used_view) for used_view in generation.summary["views"]):
            used[generation.space].append(generation.generation)
    if used:
        spaces = ", ".join(f"{space} (generation {', '.join(map(str, numbers))})" for space, numbers in used.items())
        raise NotReadyError(
            f"these spaces use view {name!r}: {spaces}; delete them first, for example with: ",
            call("collection.spaces.delete", next(iter(used))),
        )
    tx.rows.remove_view(view)
    tx.spaces.forget_view(RAW, name)  # a later view of this name is a different view
    tx.maps.delete_of_view(RAW, name)
    tx.views.delete(view)
    tx.next_sequence()


def free_disk_space(catalog: Catalog, files: SnapshotFiles) -> None:
    """Return the disk space of deleted data to the file system; a failure costs only the space, so it is a warning."""
    try:
        forget_old_snapshots(files)
        files.remove_unnamed()
        catalog.shrink()
    except (CrossviewError, OSError) as error:
        _log.warning("deleted, but its disk space could not be given back: %s", error)


def forget_old_snapshots(files: SnapshotFiles) -> None:
    """Remove the snapshots of deleted generations and views."""
    with files.changing() as tx:
        views = tx.views.all()
        trained = {
            (generation.space, generation.generation, target)
            for generation in tx.spaces.generations()
            for target in (*generation.summary["targets"], *map(sketch_name, generation.summary["views"]))
        }
        tx.snapshots.keep(trained | {(RAW, raw_generation(views), view.name) for view in views})
