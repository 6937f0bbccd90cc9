"""Refitting: learning a space again from other items, with the same settings."""

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
"""A function that learns the space's pipeline again from other items, without reading the catalog."""


def refitting(tx: Transaction, space: Space) -> Refit:
    """Read the views of a space, and return the function that refits it on other items."""
    return partial(_refitted, space, [parts_of(joined_view(tx, name)) for name in space.views])


def _refitted(space: Space, parts: Sequence[Sequence[Part]], training: Examples) -> Chain:
    """Learn the original views of a space together, then the views added later, one by one."""
    first = len(space.views) - len(space.added)
    pipeline = build(space.spec, space.views[:first], parts[:first], space.settings, None, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return fit_added_views(pipeline, training, parts[first:])
