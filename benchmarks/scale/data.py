"""The items, drawn by a seed into files of a folder: vectors, what replaces them, two numbers to choose by, queries.

A view has items around class centres. Queries of this view are near an item each. Queries of the other view lie off the
distribution of the items, as those of a joined space do: they share the latent place of an item, contracted, with
another noise and a shift.

Any interpreter with NumPy reads the folder, and reads the vectors of the items in blocks that it does not map, so that
the memory of a process is that of its index.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

DIM, CLUSTERS, K = 64, 1_000, 10
QUERIES = 1_000
WITHIN, ACROSS = "within", "across"
VIEWS = (WITHIN, ACROSS)
"""Which view the queries are of: that of the items, or the other one."""
CHANGED = 0.2
"""Share of the items that has a replacement; as many others are there to be deleted."""
BLOCK = 100_000
_SPREAD, _NOISE, _NEAR = np.float32(0.6), np.float32(0.25), np.float32(0.05)
_CONTRACTED, _OTHER_NOISE, _SHIFT = np.float32(0.8), np.float32(0.5), np.float32(0.4)

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]


class Condition(NamedTuple):
    """Items whose number in a column, "number" or "cluster", is below a bound."""

    column: str
    below: int


class Batch(NamedTuple):
    """Items that follow each other: ids, vectors of shape (n, 64), and the columns, each (n,)."""

    ids: Ids
    rows: Vectors
    number: Ids
    cluster: Ids


class Data:
    """The files of a folder.

    Attributes:
        count: number of items, whose ids are 0 to count - 1.
        order: (count,) the ids in the order in which they change: the first fifth is replaced, the next deleted.
        queries: by view, (1000, 64).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.order: Ids = np.load(folder / "order.npy")
        self.queries: dict[str, Vectors] = {view: np.load(folder / f"{view}.npy") for view in VIEWS}
        self.count, self.changed = len(self.order), changed(len(self.order))
        self._columns: dict[str, Ids] = {}

    def column(self, name: str) -> Ids:
        """Return a number of every item: "number", a permutation of the ids, or "cluster", (count,)."""
        if name not in self._columns:
            self._columns[name] = np.load(self.folder / f"{name}.npy")
        return self._columns[name]

    def kept(self, only: Condition | None) -> NDArray[np.bool_]:
        """Return which items a condition keeps, (count,); all for None."""
        return np.ones(self.count, bool) if only is None else self.column(only.column) < only.below

    def rows(self, first: int, last: int) -> Vectors:
        """Return vectors by position, (n, 64), read and not mapped."""
        return _read(self.folder / "vectors.npy", first, last)

    def replacements(self, first: int, last: int) -> Vectors:
        """Return what replaces the vectors of the ids ``order[first:last]``."""
        return _read(self.folder / "replacements.npy", first, last)

    def batches(self, size: int = BLOCK) -> Iterator[Batch]:
        """Yield all items, so many at a time."""
        numbers, clusters = self.column("number"), self.column("cluster")
        for first in range(0, self.count, size):
            last = min(first + size, self.count)
            yield Batch(np.arange(first, last), self.rows(first, last), numbers[first:last], clusters[first:last])


def changed(count: int) -> int:
    """Return how many of so many items have a replacement."""
    return round(CHANGED * count)


def conditions(count: int) -> dict[str, Condition]:
    """Return conditions on so many items, by the share that they keep; the last goes with the clusters."""
    shares = {"0.01 %": 1e-4, "0.1 %": 1e-3, "1 %": 1e-2, "10 %": 1e-1, "50 %": 0.5, "99 %": 0.99}
    by_name = {name: Condition("number", max(1, round(share * count))) for name, share in shares.items()}
    return {**by_name, "clusters, 10 %": Condition("cluster", CLUSTERS // 10)}


def drawn(folder: Path, count: int, seed: int) -> Data:
    """Return the data of so many items in a folder of a folder; draws what is not there, in blocks of little memory."""
    path = folder / f"{count}-{seed}"
    if not path.exists():
        begun = path.with_name(f"{path.name}.begun")
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(parents=True)
        _draw(begun, count, seed)
        begun.rename(path)
    return Data(path)


def _draw(folder: Path, count: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    centers = generator.standard_normal((CLUSTERS, DIM), np.float32)
    shift = _SHIFT * generator.standard_normal(DIM, np.float32)
    order, number = generator.permutation(count), generator.permutation(count)
    queried = np.sort(generator.choice(count, QUERIES, replace=count < QUERIES))
    cluster, latent = np.empty(count, np.int64), np.empty((QUERIES, DIM), np.float32)
    vectors = open_memmap(folder / "vectors.npy", "w+", np.float32, (count, DIM))
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        cluster[first:last] = generator.integers(CLUSTERS, size=last - first)
        places = centers[cluster[first:last]] + _SPREAD * generator.standard_normal((last - first, DIM), np.float32)
        here = (queried >= first) & (queried < last)
        latent[here] = places[queried[here] - first]
        vectors[first:last] = places + _NOISE * generator.standard_normal((last - first, DIM), np.float32)
    noise = generator.standard_normal((2, QUERIES, DIM), np.float32)
    within, across = vectors[queried] + _NEAR * noise[0], _CONTRACTED * latent + _OTHER_NOISE * noise[1] + shift
    replacements = open_memmap(folder / "replacements.npy", "w+", np.float32, (changed(count), DIM))
    spread = np.hypot(_SPREAD, _NOISE)
    for first in range(0, len(replacements), BLOCK):
        size = min(BLOCK, len(replacements) - first)
        places = centers[generator.integers(CLUSTERS, size=size)]
        replacements[first : first + size] = places + spread * generator.standard_normal((size, DIM), np.float32)
    mixed = generator.permutation(QUERIES)  # so that the first of them come from all blocks
    arrays = {"order": order, "number": number, "cluster": cluster, WITHIN: within[mixed], ACROSS: across[mixed]}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def _read(path: Path, first: int, last: int) -> Vectors:
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        file.seek(4 * DIM * first, 1)
        return np.fromfile(file, np.float32, DIM * (last - first)).reshape(-1, DIM)
