"""Learning: a pipeline fitted on examples, with whatever they tell of views and similarity."""

from collections.abc import Sequence
from typing import Any

from engine.errors import NotReadyError
from engine.learners.chain import Chain
from engine.progress import Progress
from engine.spaces.pipeline import extend, fit
from engine.training.examples import Examples
from engine.training.neighborhoods import similarity


def learn(pipeline: Chain, training: Examples, progress: Progress | None = None) -> Chain:
    """Fit a pipeline on the views of the examples, in their order.

    Raises InvalidInputError if it cannot be, NotReadyError for fewer than two examples of a view.
    """
    for view, count in zip(training.rows, training.mask.sum(axis=0).tolist(), strict=True):
        if count < 2:
            raise NotReadyError(f"{count} training items have view {view!r}, and at least 2 are needed: index more")
    how = _how(pipeline, training, progress)
    if not training.mask.all():
        how["mask"] = training.mask
    return fit(pipeline, list(training.rows.values()), **how)


def learn_later(
    pipeline: Chain, training: Examples, steps: Sequence[Sequence[str]], progress: Progress | None = None
) -> Chain:
    """Return a fitted pipeline with the last views of the examples added, one after another.

    ``steps`` are the own steps of each view that is added. Raises InvalidInputError if the learner cannot.
    """
    views = list(training.rows)
    for number, mine in enumerate(steps, len(views) - len(steps)):
        seen = training.seen_in(*views[: number + 1])
        pipeline = extend(pipeline, list(seen.rows.values()), seen.mask, mine, **_how(pipeline, seen, progress))
    return pipeline


def _how(pipeline: Chain, training: Examples, progress: Progress | None) -> dict[str, Any]:
    how = similarity(pipeline, training)
    if progress is not None:
        how["progress"] = lambda done, total: progress("learning", done, total)
    return how
