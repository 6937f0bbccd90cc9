"""Targets: the named indexes of a space that a query can be matched against."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Target:
    """One index of a space: what one metric makes of the rows of one view.

    Users, messages and snapshots name it by its ``str``: the view, or where that has several metrics ``forest:2``.
    """

    view: str
    name: str = ""
    """What distinguishes it from the view's other targets; "" where there are none."""
    metric: int = 0
    """The metric of the view, from 0. Items whose class uses another metric are not indexed under this target."""
    dim: int
    """Components of its vectors, or bits of its codes."""
    codes: bool = False
    """Whether its vectors are codes, packed as by ``np.packbits``."""
    floats: int = 0
    """Components of the float vector that stands behind each code, to re-rank by; 0 where none does."""
    scale: str = ""
    """Distances in targets of the same scale can be compared; "" where they can be compared with no others."""

    def __str__(self) -> str:
        return f"{self.view}:{self.name}" if self.name else self.view

    @property
    def code_bytes(self) -> int | None:
        """Bytes of a code, before the bytes of its float vector; None where vectors are no codes."""
        return -(-self.dim // 8) if self.codes else None


def view_of(target: str) -> str:
    """Return the view of the target that a string names."""
    return target.partition(":")[0]


def on_common_scale(targets: Collection[Target]) -> bool:
    """Return whether distances in all the targets can be compared, so that their hits can be merged by distance."""
    scales = {target.scale for target in targets}
    return len(scales) == 1 and "" not in scales
