"""Refitting: what a space learned, learned again from other items."""

from collections.abc import Callable, Sequence
from functools import partial

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.learners.chain import Chain
from crossview.engine.spaces.parts import Part, parts_of
from crossview.engine.spaces.pipeline import build
from crossview.engine.spaces.space import Space
from crossview.engine.training.examples import Examples
from crossview.engine.training.learning import fit_added_views, learn

Refit = Callable[[Examples], Chain]
"""Learns again, from other items, what a space learned; it reads nothing."""


def refitting(tx: Transaction, space: Space) -> Refit:
    """Read what the views of a space are, and return what learns again from other items what it learned."""
    return partial(_refitted, space, [parts_of(joined_view(tx, name)) for name in space.views])


def _refitted(space: Space, parts: Sequence[Sequence[Part]], training: Examples) -> Chain:
    """Learn the first views of a space together, then those added later."""
    first = len(space.views) - len(space.added)
    pipeline = build(space.spec, space.views[:first], parts[:first], space.settings, None, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return fit_added_views(pipeline, training, parts[first:])
