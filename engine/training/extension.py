"""Extension of a fitted space: further views, and a metric for a new label."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.pipeline import parts_of
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.training_keys import packed_keys
from crossview.engine.training.calibration import with_matches
from crossview.engine.training.examples import check_rows, listed, with_rows
from crossview.engine.training.learning import fit_added_views, refitting, score_scales, sketches_of, some_rows
from crossview.engine.training.supervision import count_constraints, with_supervision
from crossview.engine.training.training_sample import sampled
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError


def added_views(
    tx: Transaction, space: Space, name: str, views: Sequence[str], progress: Progress | None = None
) -> Callable[[], Space]:
    """Read the training data of further views, and return the function that fits them one after another.

    The other views do not change. The fit learns from the training items of the space and, if that training held out
    none, from all other items. It does not read the catalog, and its generation has no number yet.

    Raises InvalidInputError for views that the space has, or a learner that cannot add views; NotFoundError;
    NotReadyError.
    """
    if not views or len(set(views)) < len(views):
        raise InvalidInputError("name the views to add, each once, such as ", Argument("views", ["text"]))
    if repeated := [view for view in views if view in space.views]:
        raise InvalidInputError(f"space {space.name!r} already has view {repeated[0]!r}: leave it out")
    space.check_revisions(tx.views.all())
    names = (*space.views, *views)
    items = listed(tx, names, space.ignored_labels)
    held_out = np.array([space.held_out > 0 and key not in space.training_keys for key in items.keys])
    training = items.take(~held_out)
    for column in range(len(space.views), len(names)):
        if not training.mask[:, column].any():
            raise NotReadyError(f"no item that space {space.name!r} was trained on has view {names[column]!r}")
    training = with_supervision(training, space.pairs, space.constraints, space.taxonomy)
    if len(training) > (space.pipeline.most_items or len(training)):
        with_new = np.flatnonzero(training.mask[:, len(space.views) :].any(axis=1))
        training = sampled(space.pipeline, training.take(with_new), space.seed)
    training = with_rows(tx, training)
    rounded = check_rows(training)
    counts = count_constraints(space.constraints, training, items.take(held_out))
    if counts is not None and space.constraint_counts is not None:
        used = {**counts.used, **space.constraint_counts.used}  # the other views keep their counts
        counts = replace(counts, used=used)
    extended = replace(
        space,
        name=name,
        generation=0,
        views=names,
        revisions={name: revision for view in names for name, revision in joined_view(tx, view).revisions.items()},
        trained=packed_keys(space.training_keys.union(training.keys)),
        held_out=int(held_out.sum()),
        added=(*space.added, *views),
        notes=tuple(dict.fromkeys((*space.notes, *rounded))),
        constraint_counts=counts,
    )
    parts = [parts_of(joined_view(tx, view)) for view in views]
    refit, every = refitting(tx, extended), some_rows(tx, items, space.seed)

    def fitted() -> Space:
        pipeline = fit_added_views(space.pipeline, training, parts, progress)
        with_views = replace(
            extended,
            pipeline=pipeline,
            scales=(*space.scales, *score_scales(pipeline, training)[len(space.views) :]),
            sketches=(*space.sketches, *sketches_of(every, parts, space.seed)),
        )
        return with_matches(with_views, refit, training)

    return fitted


def assign(tx: Transaction, space: Space, label: str) -> Callable[[], Space]:
    """Return a function that gives a new label one of the metrics of a space with several metrics.

    The items of the label decide which metric. No learning takes place, and these items count as training items.

    Raises InvalidInputError for a space with one metric or for a learned label, NotReadyError for too few items.
    """
    space.check_revisions(tx.views.all())
    if space.pipeline.n_metrics_ == 1:
        raise InvalidInputError(
            f"space {space.name!r} has one metric for all labels, so items of a new label need no metric; "
            "the learner musl makes spaces with several metrics"
        )
    ids = [item for item, of_item in tx.items.labels().items() if of_item == (label,)]
    by_view = {view: joined_view(tx, view).rows(tx, ids) for view in space.views}
    if not any(len(rows.ids) for rows in by_view.values()):
        raise NotReadyError(
            f"no item with view {' or '.join(space.views)} has only the label {label!r}: label items with it"
        )
    items = {item for rows in by_view.values() for item in rows.ids.tolist()}
    keys = {item.key for item in tx.items.by_id(sorted(items)).values()}
    return partial(_assigned, space, label, [rows.rows for rows in by_view.values()], keys)


def _assigned(space: Space, label: str, rows: Sequence[NDArray[np.float32]], keys: set[str]) -> Space:
    pipeline = copy.deepcopy(space.pipeline)
    try:
        for view, view_rows in enumerate(rows):
            if len(view_rows):
                pipeline.assign(view_rows, label, view)
    except ValueError as error:
        raise InvalidInputError(f"label {label!r} cannot get a metric: {error}") from error
    return replace(space, generation=0, pipeline=pipeline, trained=packed_keys(space.training_keys | keys))
