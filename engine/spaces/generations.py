"""Generations of spaces and their indexes: new ones are built beside those in use, and replace them in one step."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.description import RAW, find_space_info, no_space
from crossview.engine.catalog.joined import part_names
from crossview.engine.catalog.snapshots import Snapshot
from crossview.engine.catalog.spaces import Generation
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.cancellation import checkpoint, uncancellable
from crossview.engine.runtime.memory import available_memory
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.index_recall import with_recall
from crossview.engine.spaces.indexed import Covered, IndexedSpace
from crossview.engine.spaces.loaded import space_identity
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.suggestion import reported
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import Version
from crossview.engine.spaces.versions import Versions
from crossview.engine.values.errors import BusyError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.index_choice import AUTO, FLAT, SKETCHES, VECTORS, IndexChoice
from crossview.engine.values.info import SpaceInfo
from crossview.engine.values.plan import suitable_kind
from crossview.index.base import Index
from crossview.index.registry import IndexSpec

_log = logging.getLogger(__name__)
_SKETCHES = IndexChoice(kind=SKETCHES)
"""The index of the sketches beside approximate indexes: a scan of sketches would take most of the time of a search."""

Choices = Mapping[Target, tuple[IndexChoice, Covered]]


def reindex(
    catalog: Catalog,
    versions: Versions,
    space: str,
    targets: Sequence[str],
    choice: IndexChoice,
    progress: Progress | None = None,
) -> SpaceInfo:
    """Build the indexes of some targets [default: all] again, in another kind, measure their recall, and use them.

    Other threads and processes search and write meanwhile. Raises InvalidInputError (codes), NotFoundError, BusyError,
    StorageError, and NotReadyError if the space is trained again meanwhile.
    """

    def with_sketches(_: Version, space: Space) -> list[Target]:
        main = _targets(space, targets)
        return [*main, *(sketch.target for sketch in space.sketches if sketch.view in {target.view for target in main})]

    indexed = versions.answered(space, with_sketches, lambda state: state.indexed)
    reindexed = _targets(indexed.space, targets)
    choices: dict[Target, tuple[IndexChoice, Covered]] = {}
    for number, target in enumerate(reindexed):
        if progress is not None:
            progress("building indexes", number, len(reindexed), f"target {target}")
        choices |= rebuilt(catalog, indexed, target, choice)
    if progress is not None:
        progress("building indexes", len(reindexed), len(reindexed))
    info, chosen_space = _stored(versions.files, with_choices(indexed, choices), choices)
    with uncancellable():
        versions.take(chosen_space, in_use=True)
    return info


def _stored(files: SnapshotFiles, space: IndexedSpace, choices: "Choices") -> tuple[SpaceInfo, IndexedSpace]:
    """Store choices together with snapshots of their indexes, so that other processes need not build the indexes.

    If the snapshots cannot be written, only the choices are stored.
    """
    try:
        with files.writing():
            written = [space.save(files, target) for target in choices]
            info = _committed(files, space, choices, written)
        return info, space.saved({target: covered.unsaved for target, (_, covered) in choices.items()})
    except (OSError, BusyError) as error:
        _log.warning("an index snapshot was not written, so the index may have to be built again: %s", error)
        return _committed(files, space, choices, ()), space


def _committed(files: SnapshotFiles, space: IndexedSpace, choices: "Choices", written: Sequence[Snapshot]) -> SpaceInfo:
    """Store choices and snapshots in one transaction; NotReadyError if the space is another one now."""
    name = space.space.name
    with files.changing(*written) as tx:
        if space_identity(tx, name) != space.identity:
            raise NotReadyError(f"space {name!r} has been trained again meanwhile: index it again")
        put_choices(tx, space.space, choices)
        for snapshot in written:
            tx.snapshots.put(snapshot)
        return find_space_info(tx, name)


def rebuilt(catalog: Catalog, indexed: IndexedSpace, target: Target, choice: IndexChoice) -> Choices:
    """Return the index of a target, and of its sketches if it is approximate, of the kind that was asked for."""
    covered = _precise(catalog, indexed, target, choice.vectors)
    kind = suitable_kind(len(covered.index), target.dim, available_memory()) if choice.asked == AUTO else choice.asked
    choice = replace(choice, kind=kind, measured=())
    index = converted(covered.index, indexed.space.empty_index(target, IndexSpec(kind, choice.parameters)))
    with catalog.read() as tx:
        choice = with_recall(tx, indexed.space, target, index, choice)
    choices = {target: (choice, Covered(index, covered.sequence, len(index)))}
    sketch = next((sketch.target for sketch in indexed.space.sketches if sketch.view == target.view), None)
    if kind != FLAT and sketch is not None and sketch in indexed.indexes:
        codes = indexed.indexes[sketch]
        lists = converted(codes.index, indexed.space.empty_index(sketch, IndexSpec(_SKETCHES.kind)))
        choices[sketch] = _SKETCHES, Covered(lists, codes.sequence, len(lists))
    return choices


def _precise(catalog: Catalog, indexed: IndexedSpace, target: Target, vectors: str) -> Covered:
    """Return the index of a target, built from the catalog if it stores coarser components than a wanted type."""
    covered = indexed.indexes[target]
    if covered.index.parameters.get("vectors", vectors) in (vectors, VECTORS[0]):
        return covered
    with catalog.read() as tx:
        return replace(indexed, choices={}, indexes={}).with_target(tx, target, None).indexes[target]


def chosen_by_size(catalog: Catalog, indexed: IndexedSpace, earlier: Mapping[str, IndexChoice]) -> Choices:
    """Return approximate indexes for the targets of a new generation that have many items.

    ``earlier`` are the choices of the generation before, by target: their kinds and recalls stay. If nothing was asked
    for, ``auto`` decides.
    """
    choices: dict[Target, tuple[IndexChoice, Covered]] = {}
    for target in indexed.space.targets:
        before = earlier.get(str(target), IndexChoice())
        explicit = before.asked not in (AUTO, FLAT) or before.vectors != VECTORS[0]
        suitable = suitable_kind(len(indexed.indexes[target].index), target.dim, available_memory())
        if not target.codes and (explicit or suitable != FLAT):
            checkpoint()
            choices |= rebuilt(catalog, indexed, target, before)
    return choices


def choices_in_use(tx: Transaction, space: str) -> dict[str, IndexChoice]:
    """Return the choices of the generation in use of a trained space, by target; empty for an unknown space."""
    stored = tx.spaces.index_choices().get((space, tx.spaces.in_use().get(space, 0)), {})
    return {target: IndexChoice.from_json(choice) for target, choice in stored.items()}


def put_choices(tx: Transaction, space: Space, choices: Choices) -> None:
    """Store choices of indexes."""
    for target, (choice, _) in choices.items():
        tx.spaces.put_index_choice(space.name, space.own_generation(target.view), str(target), choice.to_json())


def with_choices(indexed: IndexedSpace, choices: Choices) -> IndexedSpace:
    """Return a space with the indexes that were made, and their choices."""
    by_name = {**indexed.choices, **{str(target): choice for target, (choice, _) in choices.items()}}
    return replace(indexed, choices=by_name).holding({target: covered for target, (_, covered) in choices.items()})


def converted(index: Index, empty: Index) -> Index:
    """Return an index of another kind with the vectors of an index, ready for fast searches."""
    for ids, vectors in index.blocks():
        checkpoint()
        order = np.argsort(ids, kind="stable")
        empty = empty.changed((), ids[order], vectors[order])
    return empty.compacted()


def _targets(space: Space, names: Sequence[str]) -> list[Target]:
    """Return the targets of some names [default: all].

    Raises NotFoundError for an unknown name, and InvalidInputError for targets of codes.
    """
    by_name = {str(target): target for target in space.targets}
    if unknown := [name for name in names if name not in by_name]:
        raise InvalidInputError(f"space {space.name!r} has no target {unknown[0]!r}; there are: {', '.join(by_name)}")
    targets = [by_name[name] for name in names or by_name]
    if codes := [target for target in targets if target.codes]:
        raise InvalidInputError(
            f"target {codes[0]} of space {space.name!r} contains codes, whose index suits every size by itself: "
            "reindex targets of float vectors"
        )
    return targets


KEPT = 3
"""Number of newest generations that stay, besides the one in use: each has megabytes of state."""
_REASON = f"the newest {KEPT} are kept, and the one that answered"


def add_generation(
    catalog: Catalog,
    versions: Versions,
    name: str,
    prepare: Callable[[Transaction], Callable[[], Space]],
    activate: bool | None,
    request_id: str = "",
    progress: Progress | None = None,
) -> SpaceInfo:
    """Fit the next generation of a space, place every item, store the generation, and return the space's description.

    ``prepare`` reads the training data and returns the function that fits. Other threads and processes search and
    write during the fit, so the generation gets its number only in the commit. A cancelled training stores nothing.
    The generation keeps ``request_id``. With ``activate`` the generation becomes the one in use, and its space the
    active one. With None the generation is in use, and its space becomes active only if no space was activated. With
    False neither changes.

    Raises NotReadyError if a view is fitted again or deleted during the training.
    """
    with catalog.read() as tx:
        views = tx.views.all()
        fit = prepare(tx)
    fitted = fit()
    with catalog.read() as tx:
        _check_views(tx, fitted, views)
        built = IndexedSpace(fitted, (), tx.head().history).built(tx, progress)
        labels, test = reported(tx, built)
        fitted = replace(fitted, labels=labels, label_test=test)
        earlier = choices_in_use(tx, name)
    choices = chosen_by_size(catalog, built, earlier)
    with versions.files.changing() as tx:
        _check_views(tx, fitted, views)
        stored = _store(tx, replace(fitted, request_id=request_id))
        # Only after the commit are the number and identity known under which snapshots are stored.
        space = with_choices(replace(built, space=stored, identity=(stored.generation, tx.sequence())), choices)
        put_choices(tx, stored, choices)
        used = activate is not False
        if used:
            tx.spaces.use(name, stored.generation)
        if activate or (used and not tx.active_space()):
            tx.activate(name)
        info = find_space_info(tx, name)
    with uncancellable():
        versions.take(space, in_use=used)
    return info


def _check_views(tx: Transaction, space: Space, views: Sequence[ViewRecord]) -> None:
    """Raise NotReadyError if a view of a space has changed since the start of its training."""
    names, history = {part for view in space.views for part in part_names(view)}, tx.head().history
    if any(view.history != history for view in views):
        raise NotReadyError(f"the collection was restored during the training of space {space.name!r}: train it again")
    now = {view.name: view for view in tx.views.all()}
    for view in views:
        if view.name not in names:
            continue
        if view.name not in now or now[view.name].id != view.id:
            raise NotReadyError(
                f"view {view.name!r} was deleted during the training of space {space.name!r}: train the space again"
            )
        if now[view.name].revision != view.revision:
            raise NotReadyError(
                f"space {space.name!r} was trained on revision {view.revision} of view {view.name!r}, which has been "
                f"fitted again since and is at revision {now[view.name].revision}: train the space again"
            )


def _store(tx: Transaction, fitted: Space) -> Space:
    """Store a space as the next generation of its name, delete old generations, and return it with its number."""
    name, earlier = fitted.name, tx.spaces.generations(fitted.name)
    number = max([generation.generation for generation in earlier], default=0) + 1
    answering = tx.spaces.in_use().get(name)
    gone = [old for old in earlier[: max(0, len(earlier) + 1 - KEPT)] if old.generation != answering]
    for generation in gone:
        tx.spaces.delete(name, generation.generation)
    # an extended space inherits the notes of the original
    notes = [note for note in fitted.notes if not note.endswith(_REASON)]
    space = replace(fitted, generation=number, notes=(*notes, *_note(gone)))
    # The change number identifies this training, also among trainings that have been deleted.
    new = Generation(space=name, generation=number, created=now(), sequence=tx.next_sequence(), summary=space.summary())
    tx.spaces.add(new, space.to_state())
    return space


def _note(gone: Sequence[Generation]) -> tuple[str, ...]:
    numbers = [str(generation.generation) for generation in gone]
    if not numbers:
        return ()
    what = f"generation {numbers[0]} was" if len(numbers) == 1 else f"generations {', '.join(numbers)} were"
    return (f"{what} deleted: {_REASON}",)


def activate_space(tx: Transaction, space: str, generation: int | None) -> SpaceInfo:
    """Make a space the active one, with one of its generations; None keeps the generation in use.

    Raises NotFoundError, which lists the existing spaces or generations.
    """
    numbers = [record.generation for record in tx.spaces.generations(space)]
    if not numbers and space != RAW:
        raise no_space(tx, space)
    if generation is not None and generation not in numbers:
        choices = ", ".join(map(str, numbers)) or "none to choose from"
        raise NotFoundError(f"space {space!r} has no generation {generation}; there are: {choices}")
    if generation is not None:
        tx.spaces.use(space, generation)
    tx.activate(space)
    tx.next_sequence()
    return find_space_info(tx, space)
