"""The cost of a training, estimated from counts of the catalog before it reads any row."""

from dataclasses import replace
from functools import reduce

import numpy as np

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.cost import FitSize
from crossview.engine.runtime.memory import available_memory
from crossview.engine.spaces.pipeline import ITEMS_AT_ONCE
from crossview.engine.training.holdout import NOTHING, Holdout
from crossview.engine.values.errors import Argument, NotEnoughMemoryError
from crossview.engine.values.info import TrainingCost, memory_size
from crossview.engine.values.recipe import Recipe

_ITEM = 1_000
"""Bytes of an item besides its rows: its key, its labels, and its id in indexes."""
_ROW_SECONDS = 5e-5
"""Time to read a row, to place it and to index it, on two processors."""
_RATE = 2.5e10
"""Floating-point operations per second of one processor, with its share of other work."""
_LEAST_ITEMS = 100


def estimated(tx: Transaction, recipe: Recipe, pipeline: Chain, holdout: Holdout = NOTHING) -> TrainingCost:
    """Return the estimated cost of a training, for a checked recipe and its unfitted pipeline.

    ``holdout`` are the items that are held out.
    """
    views = [joined_view(tx, name) for name in recipe.views]
    ids = [view.ids(tx) for view in views]
    together = np.union1d if pipeline.capabilities.adds_views else np.intersect1d
    every = reduce(together, ids)
    items = holdout.left(every, recipe.holdout)
    sample = min(items, pipeline.most_items or items)
    classes = sum(count > 1 for count in tx.items.label_counts().values())
    size = FitSize(sample, tuple(view.dim for view in views), classes)
    rows = [4 * len(of_view) * view.dim for of_view, view in zip(ids, views, strict=True)]
    columns = [width / 32 if pipeline.capabilities.binary else width for width in pipeline.embedded_widths(size)]
    vectors = sum(4 * len(of_view) * width for of_view, width in zip(ids, columns, strict=True))
    fit = pipeline.fit_cost(size)
    learning = sum(rows) * sample / max(items, 1) + fit.bytes
    placing = 2 * vectors + pipeline.fit_cost(replace(size, items=min(sample, ITEMS_AT_ONCE))).bytes
    return TrainingCost(
        items=items,
        sample=sample,
        memory=round(max(learning, placing) + _ITEM * items),
        seconds=fit.operations / _RATE + _ROW_SECONDS * sum(map(len, ids)),
    )


def check_memory(
    tx: Transaction, recipe: Recipe, pipeline: Chain, cost: TrainingCost, holdout: Holdout = NOTHING
) -> None:
    """Raise NotEnoughMemoryError if the memory that this process can still take is less than the cost."""
    available = available_memory()
    if available is None or cost.memory <= available:
        return
    message = (
        f"this training needs about {memory_size(cost.memory)} of memory, to learn from {cost.sample:,} items, and "
        f"{memory_size(max(available, 0))} are available: "
    )
    fewer = cost.sample
    while fewer > _LEAST_ITEMS:
        fewer = max(_LEAST_ITEMS, fewer * 3 // 4 // 100 * 100)
        if estimated(tx, recipe, pipeline.set_params(max_items=fewer), holdout).memory <= available:
            raise NotEnoughMemoryError(f"{message}learn from fewer, with ", Argument("sample", fewer))
    raise NotEnoughMemoryError(f"{message}name fewer views, choose another learner, or free memory")
