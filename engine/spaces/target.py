"""Targets: the named indexes of a space that a query can be matched against."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Ids

SKETCH = "~sketch"
"""Name of the hidden targets that hold the sketches of raw rows."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One named index of a space: the rows of one view under one metric.

    Users, messages and snapshots use its ``str``: the view, or a name like ``forest:2`` for one of several metrics.
    """

    view: str
    name: str = ""
    """Name among the targets of the view; "" if the view has only one target."""
    metric: int = 0
    """Number of the metric, from 0. Items whose class uses another metric are not indexed under this target."""
    dim: int
    """Components of the vectors, or bits of the codes."""
    codes: bool = False
    """Whether the vectors are codes, packed as by ``np.packbits``."""
    floats: int = 0
    """Components of the float vector that follows each code for re-ranking; 0 without re-ranking."""
    scale: str = ""
    """Distances in targets of the same scale are comparable; "" if they are not comparable with other targets."""

    def __str__(self) -> str:
        return f"{self.view}:{self.name}" if self.name else self.view

    @property
    def hidden(self) -> bool:
        """Whether only the engine searches this target."""
        return self.name == SKETCH

    @property
    def code_bytes(self) -> int | None:
        """Bytes of a code, before the bytes of its float vector; None if the vectors are not codes."""
        return -(-self.dim // 8) if self.codes else None


def sketch_name(view: str) -> str:
    """Return the name of the hidden target of a view."""
    return f"{view}:{SKETCH}"


def view_of(target: str) -> str:
    """Return the view of a target's name."""
    return target.partition(":")[0]


def on_common_scale(targets: Collection[Target]) -> bool:
    """Return whether distances in all targets are comparable, so that their hits can be merged by distance."""
    scales = {target.scale for target in targets}
    return len(scales) == 1 and "" not in scales


class Near(NamedTuple):
    """The items that a search finds in a target for one query, the nearest first."""

    ids: Ids
    """(n,)."""
    distances: NDArray[np.float64]
    """(n,)."""
    copies: int = 0
    """Number of near copies of the query, which come first."""

    def up_to(self, most: float | None) -> "Near":
        """Return those within a distance [default: all]."""
        if most is None:
            return self
        within = self.distances <= most
        return Near(self.ids[within], self.distances[within], int(within[: self.copies].sum()))
