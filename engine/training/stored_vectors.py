"""Stored vectors: an evaluation reads the rows of few items, and takes the vectors of the others from indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.versions import Versions
from crossview.engine.training.division import Divisions
from crossview.engine.training.duplicates import compared_with
from crossview.engine.training.examples import Examples, with_rows
from crossview.index.base import Index


@dataclass(frozen=True, eq=False)
class IndexedTarget:
    """A target and its index."""

    target: Target
    index: Index

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of items, (n, D); those of codes have columns of 0 and 1."""
        found = self.index.get(ids)
        if self.target.codes:
            return np.unpackbits(found, axis=1, count=self.target.dim).astype(np.float32)
        return np.asarray(found)


class StoredVectors(NamedTuple):
    """Rows and vectors of the items of an evaluation."""

    rows: Examples
    """The items whose rows are read."""
    indexes: Mapping[tuple[str, str], IndexedTarget]
    """By space and view, of the spaces that are measured as they are."""

    @classmethod
    def of(
        cls,
        tx: Transaction,
        versions: Versions,
        targets: Sequence[tuple[Space, Sequence[str]]],
        items: Examples,
        divisions: Divisions,
    ) -> Self:
        """Read what is needed to find items in views of each space; no views for a space that learns again.

        Rows of all items are read only if a space learns again, or if a view has no index to use: several metrics index
        an item by its label, which an evaluation must not know, and codes to re-rank need float vectors.
        """
        indexes = {}
        for space, views in targets:
            for view in views:
                (target, *more) = space.targets_of(view)
                index = None if more or space.rerank else versions.index_at(tx, space, target)
                if index is not None:
                    indexes[space.name, view] = IndexedTarget(target, index)
        every = not all(views for _, views in targets) or len(indexes) < sum(len(views) for _, views in targets)
        needed = [part for one in divisions.parts for part in (one.queries, compared_with(one))]
        return cls(with_rows(tx, items if every else items.of_ids(np.concatenate(needed))), indexes)
