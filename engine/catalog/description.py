"""Descriptions of a collection and its spaces, from the catalog alone, so that ``list`` and ``show`` start fast."""

import re
from collections.abc import Sequence
from dataclasses import replace

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import view_info
from crossview.engine.catalog.spaces import Generation
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.index_choice import KINDS, IndexChoice, TargetIndex
from crossview.engine.values.info import CollectionInfo, ConstraintCounts, SpaceInfo, Threshold

RAW = "raw"
"""Name of the space that every collection has: the views themselves, after their normalisation steps."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")


def check_space_name(name: str) -> str:
    """Return the name of a trained space; InvalidInputError for an invalid name."""
    if name == RAW or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a space: use 1 to 63 of a-z, 0-9, '.', '-' and '_', and not {RAW!r}"
        )
    return name


def raw_views(views: Sequence[ViewRecord]) -> list[ViewRecord]:
    """Return the views of the raw space: the fitted ones."""
    return [view for view in views if view.revision > 0]


def raw_generation(views: Sequence[ViewRecord]) -> int:
    """Return the generation of the raw space; it grows with every fit of a view."""
    return sum(view.revision for view in views)


def raw_identity(views: Sequence[ViewRecord]) -> tuple[int, ...]:
    """Return the identity of the raw space: it differs for other views, and for other revisions of the same views."""
    return tuple(number for view in views for number in (view.id, view.revision))


def raw_info(tx: Transaction) -> SpaceInfo:
    """Return the description of the raw space; the steps of views keep widths, so vectors are as wide as the views."""
    views = tx.views.all()
    dims = {view.name: view.dim for view in raw_views(views)}
    number, active = raw_generation(views), tx.active_space() or RAW
    return SpaceInfo(
        name=RAW,
        generation=number,
        active=active == RAW,
        active_space=active,
        spec="",
        views=tuple(dims),
        targets=tuple(dims),
        cross_view=False,
        dim=dims,
        trained_items=0,
        created=tx.created(),
        generations=(number,),
        thresholds=tuple(
            threshold
            for view in raw_views(views)
            for threshold in tx.spaces.thresholds(RAW, view.revision)
            if threshold.view == view.name
        ),
        indexes=tuple(index for view in raw_views(views) for index in _indexes(tx, RAW, view.revision, view.name)),
    )


def space_info(
    used: Generation, generations: Sequence[Generation], active: str, thresholds: tuple[Threshold, ...] = ()
) -> SpaceInfo:
    """Return the description of a space by its generation in use.

    ``generations`` are all its generations, and ``active`` is the name of the active space.
    """
    counts = used.summary.get("constraints")
    return SpaceInfo.from_json(
        used.summary,
        name=used.space,
        generation=used.generation,
        active=used.space == active,
        active_space=active,
        created=used.created,
        generations=tuple(record.generation for record in generations),
        constraints=counts and ConstraintCounts(**counts),
        thresholds=thresholds,
    )


def collection_info(tx: Transaction, bytes_on_disk: int) -> CollectionInfo:
    """Return the description of the collection."""
    return CollectionInfo(
        name=tx.name(),
        items=tx.items.count(),
        views=tuple(map(view_info, tx.views.all())),
        spaces=space_infos(tx),
        active_space=tx.active_space() or RAW,
        labels=tx.items.label_counts(),
        notion_labels=tx.items.notion_label_counts(),
        sequence=tx.sequence(),
        bytes_on_disk=bytes_on_disk,
        created=tx.created(),
        description=tx.description(),
    )


def space_infos(tx: Transaction) -> tuple[SpaceInfo, ...]:
    """Return the descriptions of the trained spaces, then the description of ``raw``."""
    active, infos = tx.active_space() or RAW, []
    for name, number in tx.spaces.in_use().items():
        generations = tx.spaces.generations(name)
        used = next(record for record in generations if record.generation == number)
        info = space_info(used, generations, active, tx.spaces.thresholds(name, number))
        infos.append(replace(info, indexes=_indexes(tx, name, number)))
    return (*infos, raw_info(tx))


def _indexes(tx: Transaction, space: str, generation: int, only: str = "") -> tuple[TargetIndex, ...]:
    """Return the indexes that were chosen for a generation of a space [default: for all its targets]."""
    stored = tx.spaces.index_choices().get((space, generation), {})
    choices = {target: IndexChoice.from_json(choice) for target, choice in stored.items() if only in ("", target)}
    return tuple(choice.info(target) for target, choice in choices.items() if choice.kind in KINDS)


def find_space_info(tx: Transaction, name: str) -> SpaceInfo:
    """Return the description of a space; NotFoundError lists those that exist."""
    for space in space_infos(tx):
        if space.name == name:
            return space
    raise no_space(tx, name)


def no_space(tx: Transaction, name: str) -> NotFoundError:
    """Return the error for an unknown space; it lists the existing ones."""
    names = ", ".join([*tx.spaces.in_use(), RAW])
    return NotFoundError(f"no space {name!r} in collection {tx.name()!r}; there are: {names}")
