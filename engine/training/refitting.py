"""Refitting: what a space learned, learned again from other items."""

from engine.catalog.catalog import Transaction
from engine.catalog.joined import joined_view
from engine.learners.chain import Chain
from engine.spaces.parts import parts_of
from engine.spaces.pipeline import build
from engine.spaces.space import Space
from engine.training.examples import Examples
from engine.training.learning import fit_added_views, learn


def refitted(tx: Transaction, space: Space, training: Examples) -> Chain:
    """Learn again what the space learned, from other items: first its first views together, then those added later."""
    parts = [parts_of(joined_view(tx, name)) for name in space.views]
    first = len(space.views) - len(space.added)
    pipeline = build(space.spec, space.views[:first], parts[:first], space.settings, None, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return fit_added_views(pipeline, training, parts[first:])
