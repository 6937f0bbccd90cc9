"""The protocol of an index or a store that the benchmark measures, and the description of its kinds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.scale.data import Condition, Data, Ids, Vectors

LISTS, LINKS, CONSTRUCTION = 2_048, 32, 100
"""Lists of inverted files, links of a node of a graph, and nodes that its construction visits, in all engines."""
_ITEMS_PER_LIST = 40  # at least, so that small data have fewer lists
TRAINED_ON = 64  # vectors for each list, which k-means learns from


@dataclass(frozen=True)
class Kind:
    """A kind of index: how its effort is named, the efforts of the curve, and those of all other parts."""

    effort: str
    efforts: Sequence[int]
    usual: Sequence[int]


ONE = Kind("", (0,), (0,))
"""A kind whose searches have a fixed effort."""
PROBES = Kind("nprobe", (1, 2, 4, 8, 16, 32, 64), (4, 16))
VISITS = Kind("ef", (10, 16, 32, 64, 128, 256), (32, 128))


class UnsupportedError(RuntimeError):
    """A library cannot do this; the message says what."""


class Engine(Protocol):
    """An index or a store of one kind, in a folder of its own; made from the kind, the folder and the data."""

    concurrent: bool
    """Whether the library lets threads search while another one writes."""

    def __init__(self, kind: str, folder: Path, data: Data) -> None: ...

    def build(self) -> None:
        """Store all items of the data in the folder, and index them."""

    def open(self) -> None:
        """Open what ``build`` has stored."""

    def search(self, queries: Vectors, effort: int, only: Condition | None) -> Ids:
        """Return the ids of the 10 nearest of each query, (m, 10) or fewer columns, with -1 where there are fewer."""

    def use_threads(self, count: int) -> None:
        """Let a call use so many threads, if the library has this choice."""

    def replace(self, ids: Ids, rows: Vectors) -> None:
        """Give items other vectors."""

    def delete(self, ids: Ids) -> None:
        """Remove items."""

    def maintain(self) -> bool:
        """Do the work that the library recommends after many changes; return whether there is any."""

    def close(self) -> None:
        """Close it."""


def lists(count: int) -> int:
    """Return the number of lists of an inverted file of so many items."""
    return max(1, min(LISTS, count // _ITEMS_PER_LIST))
