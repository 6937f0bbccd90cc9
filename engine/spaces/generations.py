"""Generations of spaces: a new generation is built beside the one in use, and replaces it in one step."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.description import RAW, find_space_info, no_space
from crossview.engine.catalog.joined import part_names
from crossview.engine.catalog.spaces import Generation
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.cancellation import uncancellable
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.label_recognition import reported
from crossview.engine.spaces.reindexing import choices_in_use, chosen_by_size, put_choices, with_choices
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.versions import Versions
from crossview.engine.values.errors import NotFoundError, NotReadyError
from crossview.engine.values.info import SpaceInfo

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
    chosen = chosen_by_size(catalog, built, earlier)
    with versions.files.changing() as tx:
        _check_views(tx, fitted, views)
        made = _store(tx, replace(fitted, request_id=request_id))
        # Only after the commit are the number and identity known under which snapshots are stored.
        space = with_choices(replace(built, space=made, identity=(made.generation, tx.sequence())), chosen)
        put_choices(tx, made, chosen)
        used = activate is not False
        if used:
            tx.spaces.use(name, made.generation)
        if activate or (used and not tx.active_space()):
            tx.activate(name)
        info = find_space_info(tx, name)
    with uncancellable():
        versions.take(space, in_use=used)
    return info


def _check_views(tx: Transaction, space: Space, seen: Sequence[ViewRecord]) -> None:
    """Raise NotReadyError if a view of a space has changed since the start of its training."""
    names, history = {part for view in space.views for part in part_names(view)}, tx.head().history
    if any(view.history != history for view in seen):
        raise NotReadyError(f"the collection was restored during the training of space {space.name!r}: train it again")
    now = {view.name: view for view in tx.views.all()}
    for view in seen:
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
    number = max([one.generation for one in earlier], default=0) + 1
    answering = tx.spaces.in_use().get(name)
    gone = [one for one in earlier[: max(0, len(earlier) + 1 - KEPT)] if one.generation != answering]
    for one in gone:
        tx.spaces.delete(name, one.generation)
    # an extended space inherits the notes of the original
    notes = [note for note in fitted.notes if not note.endswith(_REASON)]
    made = replace(fitted, generation=number, notes=(*notes, *_note(gone)))
    # The change number identifies this training, also among trainings that have been deleted.
    new = Generation(space=name, generation=number, created=now(), sequence=tx.next_sequence(), summary=made.summary())
    tx.spaces.add(new, made.to_state())
    return made


def _note(gone: Sequence[Generation]) -> tuple[str, ...]:
    numbers = [str(one.generation) for one in gone]
    if not numbers:
        return ()
    what = f"generation {numbers[0]} was" if len(numbers) == 1 else f"generations {', '.join(numbers)} were"
    return (f"{what} deleted: {_REASON}",)


def activate_space(tx: Transaction, space: str, generation: int | None) -> SpaceInfo:
    """Make a space the active one, with one of its generations; None keeps the generation in use.

    Raises NotFoundError, which lists the existing spaces or generations.
    """
    known = [one.generation for one in tx.spaces.generations(space)]
    if not known and space != RAW:
        raise no_space(tx, space)
    if generation is not None and generation not in known:
        choices = ", ".join(map(str, known)) or "none to choose from"
        raise NotFoundError(f"space {space!r} has no generation {generation}; there are: {choices}")
    if generation is not None:
        tx.spaces.use(space, generation)
    tx.activate(space)
    tx.next_sequence()
    return find_space_info(tx, space)
