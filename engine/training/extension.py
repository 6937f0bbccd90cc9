"""Extension: what a fitted space is given later: further views, and a metric for a new label."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.catalog.catalog import Transaction
from engine.catalog.joined import joined_view
from engine.errors import InvalidInputError, NotReadyError
from engine.progress import Progress
from engine.query import Filter
from engine.spaces.parts import parts_of
from engine.spaces.space import Space
from engine.training.examples import examples
from engine.training.learning import fit_added_views
from engine.training.supervision import count_constraints, with_supervision


def add_views(
    tx: Transaction, space: Space, name: str, generation: int, views: Sequence[str], progress: Progress | None = None
) -> Space:
    """Return a fitted space with further views, learned one after another while the others stay as they are.

    It learns from the items that the space was trained on and, unless some were held out then, from all others.

    Raises InvalidInputError for views that it has or a learner that cannot, NotFoundError, NotReadyError.
    """
    if not views or len(set(views)) < len(views):
        raise InvalidInputError("name the views to add, each once, such as --views text")
    if known := [view for view in views if view in space.views]:
        raise InvalidInputError(f"space {space.name!r} has view {known[0]!r} already")
    space.check_revisions(tx.views.all())
    names = (*space.views, *views)
    found = examples(tx, names)
    held_out = np.array([space.held_out > 0 and key not in space.training_keys for key in found.keys])
    training = found.take(~held_out)
    for column in range(len(space.views), len(names)):
        if not training.mask[:, column].any():
            raise NotReadyError(f"no item that space {space.name!r} was trained on has view {names[column]!r}")
    training = with_supervision(training, space.pairs, space.constraints)
    counts = count_constraints(space.constraints, training, found.take(held_out))
    if counts is not None and space.constraint_counts is not None:
        used = {**counts.used, **space.constraint_counts.used}  # the other views keep what they were learned from
        counts = replace(counts, used=used)
    added = [joined_view(tx, view) for view in views]
    return replace(
        space,
        name=name,
        generation=generation,
        views=names,
        revisions={name: revision for view in names for name, revision in joined_view(tx, view).revisions.items()},
        pipeline=fit_added_views(space.pipeline, training, list(map(parts_of, added)), progress),
        training_keys=space.training_keys | frozenset(training.keys),
        held_out=int(held_out.sum()),
        added=(*space.added, *views),
        constraint_counts=counts,
    )


def assign(tx: Transaction, space: Space, generation: int, label: str) -> Space:
    """Return a space of several metrics with one for the items of a label that it was not trained on.

    These items decide which of its metrics it is. Nothing is learned anew, and they count as trained on.

    Raises InvalidInputError for a space of one metric or a label that it learned, NotReadyError for too few items.
    """
    space.check_revisions(tx.views.all())
    if space.pipeline.n_metrics_ == 1:
        raise InvalidInputError(
            f"space {space.name!r} has one metric for all labels, so items of a new label are found as they are; "
            "learner musl makes spaces of several metrics"
        )
    labels = tx.items.labels(tx.items.matching(Filter(labels=(label,))).tolist())
    ids = [item for item, of_item in labels.items() if of_item == (label,)]
    found = {view: joined_view(tx, view).rows(tx, ids) for view in space.views}
    if not any(len(rows.ids) for rows in found.values()):
        raise NotReadyError(f"no item with view {' or '.join(space.views)} has the label {label!r} and no other")
    pipeline = copy.deepcopy(space.pipeline)
    try:
        for view, rows in enumerate(found.values()):
            if len(rows.ids):
                pipeline.assign(rows.rows, label, view)
    except ValueError as error:
        raise InvalidInputError(f"label {label!r} cannot be assigned a metric: {error}") from error
    seen = {item for rows in found.values() for item in rows.ids.tolist()}
    keys = (item.key for item in tx.items.by_id(sorted(seen)).values())
    return replace(space, generation=generation, pipeline=pipeline, training_keys=space.training_keys | frozenset(keys))
