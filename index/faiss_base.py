"""Bases of FAISS: an index of FAISS over the first rows of a version, kept in its snapshot, and mapped from there."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeVar, cast

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import EXACT
from crossview.index.based import BasedSearcher, Found
from crossview.index.float_scan import FlatSearcher
from crossview.index.rows import RowNumbers, Rows
from crossview.index.scan import CORES
from crossview.index.searcher import Chosen
from crossview.index.snapshot import Column, Snapshot, SnapshotError

_COLUMN = "base"
"""Name of the array of a snapshot that contains the base as FAISS writes it."""
_ADDED_AT_ONCE = 1 << 18
"""Rows to convert to float32 and to add at a time."""
_COMPARED = 4_000
"""Maximum number of chosen rows, and of all rows, whose means show whether a filter depends on the rows."""
_FAR = 1.5
"""Squared distance of the means, in those that chance makes, from which on a filter depends on the rows."""
_REMEMBERED = 64
"""Maximum number of filters whose dependence is remembered."""
_BLOCK = 16
"""FAISS computes distances of components of 1 or 2 bytes in steps of 8 or 16, which depends on the processor. At other
widths it decodes them one by one, which takes longer than to scan floats."""
_MOST_SAMPLES = 1 << 18
"""Maximum number of rows from which a base learns centroids or codebooks."""


class FaissBase:
    """An index of FAISS whose labels are numbers of rows."""

    def __init__(self, index: Any, row_bytes: float, memory: NDArray[np.uint8] | None = None) -> None:
        """Take an index and its approximate bytes for each row; ``memory`` is mapped, and contains the whole index."""
        self.index = index
        self._row_bytes, self._memory = row_bytes, memory

    @classmethod
    def of(cls, data: NDArray[np.uint8], widths: Collection[int], count: int) -> Self:
        """Return the base of a snapshot, without a copy; SnapshotError unless it has ``count`` vectors of one of the
        widths."""
        try:
            index = cls._read(faiss.ZeroCopyIOReader(faiss.swig_ptr(data), len(data)))
        except RuntimeError as error:
            raise SnapshotError(f"its base is damaged: {error}") from error
        if index.d not in widths or index.ntotal != count:
            raise SnapshotError("its base has other vectors than the index")
        return cls(index, len(data) / max(1, count), data)

    @staticmethod
    def _read(reader: Any) -> Any:
        return faiss.read_index(reader)

    def stored(self) -> NDArray[np.uint8]:
        """Return the bytes from which ``of`` restores the base."""
        return cast(NDArray[np.uint8], faiss.serialize_index(self.index))

    @property
    def filling(self) -> float:
        """The value of the components that fill vectors up to the width of the index."""
        return 0.0

    def padded(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return vectors, filled up to the width of the index."""
        return padded(vectors, self.index.d, self.filling)

    @property
    def nbytes(self) -> int:
        """Bytes in use, roughly if it was not read."""
        return int(self._row_bytes * self.index.ntotal) if self._memory is None else len(self._memory)

    def nearest(
        self, queries: NDArray[Any], k: int, parameters: Any = None, dtype: type[Any] = np.float32
    ) -> tuple[NDArray[Any], RowNumbers]:
        """Return the distances of FAISS, of a type, and the numbers of rows, both (queries, k); -1 if there are
        fewer."""
        # FAISS divides a search by queries, so one query needs no team of threads.
        faiss.omp_set_num_threads(1 if len(queries) == 1 else CORES)
        queries = self.padded(queries)
        distances, numbers = np.empty((len(queries), k), dtype), np.empty((len(queries), k), np.int64)
        arrays = faiss.swig_ptr(queries), k, faiss.swig_ptr(distances), faiss.swig_ptr(numbers)
        self.index.search_c(len(queries), *arrays, parameters)
        return distances, numbers


F = TypeVar("F", bound=FaissBase)


class FaissSearcher(BasedSearcher[F]):
    """A searcher with a base of FAISS, which its snapshots contain, so that opening them prepares nothing."""

    base_type: type[F]
    # Lower than for exact kinds, because a scan of changed rows soon takes longer than the base.
    changed_share: ClassVar[float] = 1 / 16

    def columns(self) -> Mapping[str, Column]:
        """Return the arrays to write into a snapshot, with the base."""
        whole = self.whole()
        if whole._base is None:
            return whole.rows.columns()
        data = whole._base.stored()
        return {**whole.rows.columns(), _COLUMN: Column(np.uint8, data.shape, [data])}

    def sample(self, most: int = _MOST_SAMPLES) -> NDArray[np.float32]:
        """Return at most ``most`` rows spread evenly over the main rows [default: as many as a base learns from]."""
        numbers = np.linspace(0, self._built - 1, min(self._built, most)).astype(np.int64)
        return self.restored(self.rows.take(numbers))

    def main_blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the main rows in blocks of a bounded size, each with the number of its first row."""
        for chunk, start in zip(self.rows.main, self.rows.offsets, strict=False):
            for at in range(0, len(chunk), _ADDED_AT_ONCE):
                yield start + at, chunk.rows[at : at + _ADDED_AT_ONCE]

    def read(self, snapshot: Snapshot, count: int, prefix: str = "") -> Self:
        """Return this searcher over the ``count`` rows of a snapshot, with its base if it has one."""
        rows, data = Rows.read(snapshot, count, self.no_rows(), prefix), snapshot.bytes_of(prefix + _COLUMN)
        if data is None:
            return self.prepared(rows)
        other = self.over(rows)
        # Earlier versions did not fill vectors up.
        other._base, other._built = self.base_type.of(data, (self.base_width, self.dim), count), count
        other._base_ids = rows.main_ids()
        return other

    def read_bytes(self, effort: int) -> int:
        """Return roughly the bytes that a search without a filter reads: of the base and of the rows outside it."""
        total = self.rows.offsets[-1]
        if self._base is None or not self._suits(1, 1, None, effort):
            return super().read_bytes(effort)
        outside = self.rows.nbytes * (total - self._built) // max(1, total)
        return int(self._base.nbytes * self._read_share(self._base, effort)) + outside

    def _read_share(self, base: F, effort: int) -> float:
        """Return the share of the base that a search reads, from 0 to 1."""
        return 1.0

    @property
    def base_width(self) -> int:
        """Components of the vectors in the base."""
        return self.dim


class ApproximateSearcher(FaissSearcher[F]):
    """A searcher that misses some neighbours in searches with an effort, and scans in searches without."""

    least_rows: ClassVar[int] = 10_000
    """Number of rows below which no base is worth its memory."""
    few: ClassVar[int]
    """Number of chosen rows up to which a scan of these is faster than the base."""
    _scan: FlatSearcher

    def __init__(self, dim: int, vectors: str = "float32") -> None:
        super().__init__(FlatSearcher(dim, vectors))
        self._correlated: dict[Chosen, bool] = {}
        """The known facts about filters; versions share them, since a filter belongs to one version."""

    def _is_large(self, rows: int) -> bool:
        return rows >= self.least_rows

    def _suits(self, queries: int, k: int, chosen: Chosen | None, effort: int) -> bool:
        return effort != EXACT and (chosen is None or self._count(chosen) > self.few)

    def is_correlated(self, chosen: Chosen) -> bool:
        """Return whether the mean of the chosen rows is farther from that of all rows than chance explains."""
        if self._base is None:
            return False
        correlated = self._correlated.get(chosen)
        if correlated is None:
            if len(self._correlated) >= _REMEMBERED:
                self._correlated.clear()
            correlated = self._correlated[chosen] = self._is_far(chosen)
        return correlated

    def _is_far(self, chosen: Chosen) -> bool:
        """Compare the means of samples of the chosen rows and of all rows with the distance that chance explains."""
        numbers = _spread(chosen, self.rows, _COMPARED)
        if len(numbers) < 2:
            return False
        sample, every = self.restored(self.rows.take(numbers)), self.sample(_COMPARED)
        expected = every.var(axis=0, dtype=np.float64).sum() * (1 / len(sample) + 1 / len(every))
        distance = ((sample.mean(axis=0, dtype=np.float64) - every.mean(axis=0, dtype=np.float64)) ** 2).sum()
        return bool(distance > _FAR * expected)

    @property
    def base_width(self) -> int:
        """Components of the vectors in the base: those of the rows, filled up to whole blocks unless they are
        floats."""
        return self.dim if self.no_rows().dtype == np.float32 else whole_blocks(self.dim)

    def efforts(self, k: int, share: float = 1.0) -> Sequence[int]:
        """Return the efforts of searches for k neighbours among a share of the rows; empty without a base."""
        return () if self._base is None else ladder(*self._range(self._base, k, share))

    @abstractmethod
    def _range(self, base: F, k: int, share: float) -> tuple[int, int]:
        """Return the least and the greatest effort of a search for k neighbours among a share of the rows."""


def _spread(chosen: Chosen, rows: Rows, most: int) -> RowNumbers:
    """Return the numbers of at most about ``most`` chosen rows, spread evenly over all of them."""
    counts = [len(chunk) if some is None else some.count for chunk, some in zip(rows.chunks, chosen, strict=True)]
    numbers = [np.empty(0, np.int64)]
    for some, count, start in zip(chosen, counts, rows.offsets, strict=False):
        places = np.linspace(0, count - 1, min(count, -(-most * count // max(1, sum(counts))))).astype(np.int64)
        numbers.append(start + (places if some is None else some.numbers[places].astype(np.int64)))
    return np.concatenate(numbers)


def complete(squares: NDArray[np.float32], numbers: RowNumbers, wanted: int) -> Found:
    """Return what FAISS found; short are the queries with fewer than ``wanted`` rows."""
    distances = np.sqrt(np.maximum(squares, 0))
    last = numbers[:, -1]  # FAISS puts what is missing last
    if (last[0] if len(last) == 1 else last.min(initial=0)) >= 0:
        return Found(numbers, distances, np.zeros(len(numbers), bool), full=True)
    missing = numbers < 0
    distances[missing] = np.inf
    return Found(numbers, distances, missing[:, wanted - 1] if wanted else np.zeros(len(numbers), bool))


def whole_blocks(width: int, block: int = _BLOCK) -> int:
    """Return the least multiple of a block that is not below a width."""
    return -(-width // block) * block


def padded(vectors: NDArray[Any], width: int, filling: float = 0.0) -> NDArray[Any]:
    """Return contiguous vectors, filled up to a width."""
    count, dim = vectors.shape
    if dim == width:
        return np.ascontiguousarray(vectors)
    wider = np.full((count, width), filling, vectors.dtype)
    wider[:, :dim] = vectors
    return wider


@lru_cache(1024)
def ladder(least: int, greatest: int) -> tuple[int, ...]:
    """Return efforts from the least to the greatest, each about 1.4 times the one before."""
    count = max(1, round(np.log(max(1, greatest / least)) / np.log(1.4)) + 1)
    return tuple(sorted({int(effort) for effort in np.geomspace(least, max(least, greatest), count).round()}))
