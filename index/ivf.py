"""Approximate search of float vectors by inverted lists: a query probes the lists of the nearest centroids."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Ids, Vectors
from crossview.index.based import Found
from crossview.index.faiss_base import ApproximateSearcher, FaissBase, complete, padded
from crossview.index.float_scan import FloatIndex
from crossview.index.positions import Positions
from crossview.index.rows import Rows
from crossview.index.searcher import Chosen

_SAMPLES = 64
"""Rows for each list from which k-means learns the centroids."""
_ROWS_FOR_EACH = 4
"""Least number of rows to compare for each neighbour: with fewer, some queries find too few and must scan."""
_REMEMBERED = 16
"""Number of filters whose members stay prepared."""
_KEPT = 2.0
"""Ratio of the suitable number of lists to that of the last base, or its inverse, from which centroids are learned
again."""


@dataclass(frozen=True)
class Members:
    """The rows of a base that a filter selects, and the lists that contain any of them, as FAISS reads them."""

    rows: NDArray[np.uint8]
    lists: NDArray[np.uint8]

    @cached_property
    def selectors(self) -> tuple[Any, Any]:
        """The selector of the rows, and the parameters of a search for the nearest of these lists."""
        lists = faiss.IDSelectorBitmap(len(self.lists), faiss.swig_ptr(self.lists))
        return faiss.IDSelectorBitmap(len(self.rows), faiss.swig_ptr(self.rows)), faiss.SearchParameters(sel=lists)


class Lists(FaissBase):
    """Inverted lists of FAISS. They contain the vectors themselves, so distances are true."""

    @cached_property
    def list_of_row(self) -> NDArray[np.int32]:
        """The number of the list of each row, (n,)."""
        list_of = np.empty(self.index.ntotal, np.int32)
        lists = self.index.invlists
        for number in range(self.index.nlist):
            size = lists.list_size(number)
            if size:
                list_of[faiss.rev_swig_ptr(lists.get_ids(number), size)] = number
        return list_of

    @cached_property
    def _members(self) -> OrderedDict[Chosen, Members]:
        return OrderedDict()

    def members(self, chosen: Chosen, rows: Rows) -> Members:
        """Return the members of a filter, given the chosen rows of each chunk; prepared ones at once."""
        members = self._members.get(chosen)
        if members is None:
            inside = _flags(chosen, rows, self.index.ntotal)
            lists = np.zeros(self.index.nlist, bool)
            lists[self.list_of_row[inside]] = True
            members = Members(np.packbits(inside, bitorder="little"), np.packbits(lists, bitorder="little"))
            self._members[chosen] = members
            if len(self._members) > _REMEMBERED:
                self._members.popitem(last=False)
        return members


class IvfSearcher(ApproximateSearcher[Lists]):
    """A searcher by inverted lists; its effort is the number of lists to probe."""

    base_type = Lists
    few = 10_000

    def _new_base(self, before: Self) -> Lists:
        old, wanted = before._base, list_count(self._built)
        if old is not None and 1 / _KEPT < old.index.nlist / wanted < _KEPT:
            lists, assigned = (
                self._empty(_copied(old.index.quantizer, self.base_width), old.index.nlist),
                before._known(old),
            )
        else:
            lists, assigned = self._trained(wanted), (np.empty(0, np.int64), np.empty(0, np.int32))
        for start, rows, numbers in self._assigned(lists, *assigned):
            vectors = padded(self.restored(rows), self.base_width)
            labels = np.arange(start, start + len(rows))
            arrays = (faiss.swig_ptr(array) for array in (vectors, labels, numbers))
            lists.add_core(len(rows), *arrays)  # unlike ``add``, it does not assign the rows to lists again
        return Lists(lists, lists.code_size + 8 + self.base_width * 4 * lists.nlist / self._built)

    def _trained(self, count: int) -> Any:
        """Return empty lists with centroids learned from a sample of the rows."""
        lists, rows = self._empty(faiss.IndexFlatL2(self.base_width), count), self.sample()
        lists.train(padded(rows[:: max(1, len(rows) // (_SAMPLES * count))], self.base_width))
        return lists

    def _empty(self, centroids: Any, count: int) -> Any:
        """Return lists of the vectors themselves, in the type of the rows; without centroids they need training."""
        if self.no_rows().dtype == np.float32:
            lists = faiss.IndexIVFFlat(centroids, self.dim, count)
        else:
            half, residual = faiss.ScalarQuantizer.QT_fp16, False
            lists = faiss.IndexIVFScalarQuantizer(centroids, self.base_width, count, half, faiss.METRIC_L2, residual)
        lists.is_trained = centroids.ntotal > 0
        return lists

    def _assigned(
        self, lists: Any, ids: Ids, list_of: NDArray[np.int32]
    ) -> Iterator[tuple[int, NDArray[Any], NDArray[np.int64]]]:
        """Yield the main rows in blocks: the number of the first, the rows, and the numbers of their lists.

        The rows of ``ids``, which ascend, keep the lists ``list_of``.
        """
        for start, rows in self.main_blocks():
            numbers = np.full(len(rows), -1, np.int64)
            if len(ids):
                wanted = self.rows.ids_of(np.arange(start, start + len(rows)))
                places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
                numbers = np.where(ids[places] == wanted, list_of[places], -1).astype(np.int64)
            new = numbers < 0
            if new.any():
                vectors = padded(self.restored(rows[new]), self.base_width)
                numbers[new] = lists.quantizer.assign(vectors, 1)[:, 0]
            yield start, rows, numbers

    def _known(self, base: Lists) -> tuple[Ids, NDArray[np.int32]]:
        """Return the ids, ascending, whose rows in the base are alive, and the numbers of their lists."""
        alive = self.rows.are_among(np.arange(self._built))
        return self._base_ids[alive], base.list_of_row[alive]

    def _read_share(self, base: Lists, effort: int) -> float:
        return effort / base.index.nlist if effort < base.index.nlist else 1.0

    def _range(self, base: Lists, k: int, share: float) -> tuple[int, int]:
        """Return as many lists as contain a few times k of the rows, and all lists."""
        least = np.ceil(_ROWS_FOR_EACH * k * base.index.nlist / (share * self._built))
        return int(min(least, base.index.nlist)), base.index.nlist

    def _ask(self, base: Lists, queries: Vectors, k: int, effort: int) -> Found:
        squares, numbers = base.nearest(queries, k, _probing(effort))
        return complete(squares, numbers, min(k, self._built))

    def _kept(self, base: Lists, queries: Vectors, k: int, chosen: Chosen | None, effort: int) -> Found:
        """Return the rows of the base that are chosen, or alive; FAISS itself probes for chosen ones."""
        if chosen is None:
            return super()._kept(base, queries, k, chosen, effort)
        members = base.members(chosen, self.rows)
        selector, nearest_lists = members.selectors
        parameters = faiss.SearchParametersIVF(nprobe=effort, sel=selector, quantizer_params=nearest_lists)
        squares, numbers = base.nearest(queries, k, parameters)
        return complete(squares, numbers, min(k, self._count(chosen)))


class IvfIndex(FloatIndex):
    """An ``Index`` of float vectors by inverted lists: approximate with an effort, exact without."""

    _kind, _searcher_type = "ivf-l2", IvfSearcher


def list_count(count: int) -> int:
    """Return the number of lists for a number of rows: the power of two nearest to twice the square root."""
    return int(2 ** round(np.log2(2 * np.sqrt(count))))


def _copied(centroids: Any, width: int) -> Any:
    """Return centroids of a width in memory of their own: FAISS's clone of a mapped index reads the mapping, which may
    end."""
    copied = faiss.IndexFlatL2(width)
    copied.add(padded(centroids.reconstruct_n(0, centroids.ntotal), width))
    return copied


@lru_cache(256)
def _probing(lists: int) -> Any:
    return faiss.SearchParametersIVF(nprobe=lists)


def _flags(chosen: Chosen, rows: Rows, count: int) -> NDArray[np.bool_]:
    """Return whether each of the first ``count`` rows is chosen."""
    inside = np.ones(count, bool)
    for some, start in zip(chosen, rows.offsets, strict=False):
        if some is not None and start < count:
            inside[start : start + some.length] = _unpacked(some)[: count - start]
    return inside


def _unpacked(some: Positions) -> NDArray[np.bool_]:
    return np.unpackbits(some.bits, count=some.length, bitorder="little").astype(bool)
