"""Learning: fitting a pipeline on examples, with their views and supervision, and refitting it on other examples."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import KINDS
from crossview.engine.learners.frame.stage import parse_stages
from crossview.engine.learners.papers.joint.joint_fit import JointSettings
from crossview.engine.learners.papers.joint.joint_objects import JointObjects, tuned
from crossview.engine.runtime.progress import Progress, reporting_as
from crossview.engine.spaces.pipeline import Part, build, extend, fit, parts_of, vectors
from crossview.engine.spaces.scores import ScoreScale
from crossview.engine.spaces.sketches import Sketch
from crossview.engine.spaces.space import Space
from crossview.engine.training.examples import FEWEST, Examples
from crossview.engine.training.supervision import supervision_of
from crossview.engine.training.training_sample import sampled
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError, NotReadyError

PLACED_DIM = 10
"""Default number of columns of rows by comparisons."""
Refit = Callable[[Examples], Chain]
"""A function that learns the space's pipeline again from other items, without reading the catalog."""


def learn(pipeline: Chain, training: Examples, progress: Progress | None = None) -> Chain:
    """Fit a pipeline on the views of the examples, in their order.

    Raises InvalidInputError if a learner refuses the examples, NotReadyError for fewer than two examples of a view.
    """
    for view, count in zip(training.rows, training.mask.sum(axis=0).tolist(), strict=True):
        if count < FEWEST:
            raise NotReadyError(
                f"{count} training items have view {view!r}, and learning needs at least {FEWEST}: index more"
            )
    with reporting_as("learning", progress):
        return fit(pipeline, list(training.rows.values()), supervision_of(pipeline, training))


def fit_added_views(
    pipeline: Chain, training: Examples, parts: Sequence[Sequence[Part]], progress: Progress | None = None
) -> Chain:
    """Return a fitted pipeline with the last views of the examples added, one after another.

    ``parts`` are the parts of each added view. Raises InvalidInputError if the learner cannot add views.
    """
    views = list(training.rows)
    with reporting_as("learning", progress):
        for number, of_view in enumerate(parts, len(views) - len(parts)):
            examples = training.seen_in(*views[: number + 1])
            pipeline = extend(pipeline, list(examples.rows.values()), of_view, supervision_of(pipeline, examples))
    return pipeline


def score_scales(pipeline: Chain, training: Examples) -> tuple[ScoreScale, ...]:
    """Return the scale of the examples' scores in each view; empty for a pipeline without axes."""
    if not pipeline.names_:
        return ()
    return tuple(
        ScoreScale.of(vectors(pipeline, rows[present], view))
        for view, (rows, present) in enumerate(zip(training.rows.values(), training.mask.T, strict=True))
    )


def refitting(tx: Transaction, space: Space) -> Refit:
    """Read the views of a space, and return the function that refits it on other items."""
    return partial(_refitted, space, [parts_of(joined_view(tx, name)) for name in space.views])


def _refitted(space: Space, parts: Sequence[Sequence[Part]], training: Examples) -> Chain:
    """Learn the original views of a space together, then the views added later, one by one."""
    first = len(space.views) - len(space.added)
    pipeline = build(parse_stages(space.spec), space.views[:first], parts[:first], space.settings, space.seed)
    training = sampled(pipeline, training, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return fit_added_views(pipeline, training, parts[first:])


class SomeRows(NamedTuple):
    """Rows of a view, drawn from those of all items, held out or not."""

    rows: NDArray[np.float32]
    """(n, d)."""
    total: int
    """The number of all rows."""


def some_rows(tx: Transaction, items: Examples, seed: int) -> dict[str, SomeRows]:
    """Return as many rows of each view of the items as its sketch learns from."""
    rows_of = {}
    for view in items.rows:
        ids = items.ids_in(view)
        rows = joined_view(tx, view).rows(tx, ids[Sketch.drawn(len(ids), seed)].tolist()).rows
        rows_of[view] = SomeRows(rows, len(ids))
    return rows_of


def sketches_of(every: Mapping[str, SomeRows], parts: Sequence[Sequence[Part]], seed: int) -> tuple[Sketch, ...]:
    """Return the sketches of the last views, whose ``parts`` these are, by rows of all items.

    Sketches learn from no labels. Views of texts have none, because items with the same text, such as one word, need
    not be copies.
    """
    return tuple(
        Sketch.fit(name, *every[name], of_view, seed)
        for name, of_view in zip(list(every)[-len(parts) :], parts, strict=True)
        if not all(part.texts for part in of_view)
    )


def places_of(comparisons: ItemComparisons, dim: int = PLACED_DIM, seed: int = 0) -> NDArray[np.float32]:
    """Return a row for each key of the comparisons, (n, dim): the embedding of their notion, or what several share.

    Cross-validation on the comparisons chooses the loss and the weight of the penalty. Items without comparisons cannot
    get such a row. Raises InvalidInputError for pairs, or for too many dimensions.
    """
    if comparisons.comparisons.similar is not None or comparisons.others:
        raise InvalidInputError(
            f"placing items needs {KINDS[3]} or {KINDS[4]}, not {comparisons.kind} in {len(comparisons.sets)} sets"
        )
    if not 1 <= dim < len(comparisons.keys):
        raise InvalidInputError(
            f"{len(comparisons.keys)} compared items can have 1 to {len(comparisons.keys) - 1} dimensions, not {dim}"
        )
    how = JointSettings(n_components=dim, random_state=seed, tol=1e-4, max_iter=300)  # a longer descent gains nothing
    how = tuned(how, comparisons.comparisons, len(comparisons.keys))
    learner = JointObjects(how).fit(comparisons.comparisons, len(comparisons.keys))
    rows = learner.common_ if len(learner.names_) > 1 else learner.embeddings_[learner.names_[0]]
    return np.pad(rows, ((0, 0), (0, dim - rows.shape[1]))).astype(np.float32)
