"""Learning: fitting a pipeline on examples, with their views and supervision."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from crossview.engine.errors import NotReadyError
from crossview.engine.learners.chain import Chain
from crossview.engine.runtime.cancellation import reporting
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.parts import Part
from crossview.engine.spaces.pipeline import extend, fit, vectors
from crossview.engine.spaces.scores import ScoreScale
from crossview.engine.training.examples import Examples
from crossview.engine.training.supervision import supervision_of


def learn(pipeline: Chain, training: Examples, progress: Progress | None = None) -> Chain:
    """Fit a pipeline on the views of the examples, in their order.

    Raises InvalidInputError if a learner refuses the examples, NotReadyError for fewer than two examples of a view.
    """
    for view, count in zip(training.rows, training.mask.sum(axis=0).tolist(), strict=True):
        if count < 2:
            raise NotReadyError(f"{count} training items have view {view!r}, and learning needs at least 2: index more")
    with _reporting(progress):
        return fit(pipeline, list(training.rows.values()), supervision_of(pipeline, training))


def fit_added_views(
    pipeline: Chain, training: Examples, parts: Sequence[Sequence[Part]], progress: Progress | None = None
) -> Chain:
    """Return a fitted pipeline with the last views of the examples added, one after another.

    ``parts`` are the parts of each added view. Raises InvalidInputError if the learner cannot add views.
    """
    views = list(training.rows)
    with _reporting(progress):
        for number, of_view in enumerate(parts, len(views) - len(parts)):
            seen = training.seen_in(*views[: number + 1])
            pipeline = extend(pipeline, list(seen.rows.values()), of_view, supervision_of(pipeline, seen))
    return pipeline


def score_scales(pipeline: Chain, training: Examples) -> tuple[ScoreScale, ...]:
    """Return the scale of the examples' scores in each view; empty for a pipeline without axes."""
    if not pipeline.names_:
        return ()
    return tuple(
        ScoreScale.of(vectors(pipeline, rows[present], view))
        for view, (rows, present) in enumerate(zip(training.rows.values(), training.mask.T, strict=True))
    )


def _reporting(progress: Progress | None) -> AbstractContextManager[None]:
    if progress is None:
        return nullcontext()
    return reporting(lambda done, total: progress("learning", done, total))
