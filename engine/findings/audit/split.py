"""The items of a collection by their part in the training of a space."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.spaces.space import Space

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """The items with a view of a space: ids, each array ascending."""

    trained: Ids
    held_out: Ids
    """Items that the training did not learn from, and that were there."""
    newer: Ids
    """Items that came after all training items."""
    keys: dict[int, str]
    """The key of every item by id."""

    @classmethod
    def of(cls, tx: Transaction, space: Space) -> Self:
        """Return the split of a space; ids grow with time, so that an item above all training items is newer.

        Among the last items a training may have held some out: as many as the space counts stay held out.
        """
        keys, known = tx.items.keys(), space.training_keys
        having = sorted({item for view in space.views for item in joined_view(tx, view).ids(tx).tolist()})
        trained = [item for item in having if keys[item] in known]
        others = [item for item in having if keys[item] not in known]
        held_out = sum(item < trained[-1] for item in others) if trained else 0
        held_out = max(held_out, min(space.held_out, len(others)))
        return cls(_ids(trained), _ids(others[:held_out]), _ids(others[held_out:]), keys)

    def names(self, ids: list[int]) -> tuple[str, ...]:
        """Return the keys of items."""
        return tuple(self.keys[item] for item in ids)


def _ids(items: list[int]) -> Ids:
    return np.array(items, np.int64)
