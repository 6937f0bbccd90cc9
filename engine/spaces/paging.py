"""Pages of all hits of a search, in the state of the collection in which it began."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.arranging import Ranking, read_hits
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.search import ranking_of, searched_targets
from crossview.engine.spaces.version import Version
from crossview.engine.spaces.versions import Versions
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.hits import Hit, HitList
from crossview.engine.values.query import SearchRequest
from crossview.index.base import Ids

MOST_HITS = 1 << 21
"""Maximum number of hits of the pages of a search."""
_OPTIONAL = ("match", "probability", "base_rate")


@dataclass(frozen=True, eq=False)
class _Hits:
    """The hits of a list, in a few bytes each."""

    ids: Ids
    """(n,)"""
    distances: NDArray[np.float64]
    optional: dict[str, NDArray[np.float64]]
    """Values of the fields that can be None, which is NaN here, by name, (n,)."""
    targets: NDArray[np.int32]
    """Places in ``names``, (n,)."""
    names: Sequence[str]
    axes: Sequence[str]
    scores: NDArray[np.float64]
    """(n, axes)"""

    @classmethod
    def of(cls, ids: Ids, hits: Sequence[Hit]) -> "_Hits":
        names, axes = list(dict.fromkeys(hit.target for hit in hits)), list(hits[0].scores) if hits else []
        return cls(
            ids,
            np.array([hit.distance for hit in hits]),
            {name: np.array([getattr(hit, name) for hit in hits], np.float64) for name in _OPTIONAL},
            np.array([names.index(hit.target) for hit in hits], np.int32),
            names,
            axes,
            np.array([[hit.scores[axis] for axis in axes] for hit in hits], np.float64).reshape(len(hits), len(axes)),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, version: Version, some: slice) -> tuple[Hit, ...]:
        """Return some hits with the content of their items."""
        made = [self._hit(at) for at in range(*some.indices(len(self)))]
        return read_hits(version, self.ids[some], made)

    def _hit(self, at: int) -> Hit:
        optional: dict[str, Any] = {
            name: None if np.isnan(values[at]) else float(values[at]) for name, values in self.optional.items()
        }
        scores = dict(zip(self.axes, self.scores[at].tolist(), strict=True))
        target = self.names[self.targets[at]]
        return Hit(key="", distance=float(self.distances[at]), target=target, scores=scores, **optional)


class Pages:
    """All hits of a search; threads may read pages in turn. ``close`` gives up the state of the collection."""

    def __init__(self, version: Version, ranking: Ranking, close: Callable[[], None]) -> None:
        self._version, self._close = version, close
        self._lists = [replace(one, hits=(), total=len(one.hits)) for one in ranking.lists]
        self._hits = [_Hits.of(ranking.items(one.hits), one.hits) for one in ranking.lists]
        self._lock = threading.Lock()
        self._closed = False

    def __len__(self) -> int:
        return sum(map(len, self._hits))

    def page(self, first: int, size: int) -> list[HitList]:
        """Return up to ``size`` hits from place ``first`` of all lists in a row, each list with its ``total``.

        The first page has every list. Raises NotReadyError after ``close``.
        """
        with self._lock:
            if self._closed:
                raise NotReadyError("the pages of this search are closed: search again")
            return list(self._page(first, size))

    def _page(self, first: int, size: int) -> Iterator[HitList]:
        for begin, one, hits in zip(accumulate(map(len, self._hits), initial=0), self._lists, self._hits, strict=False):
            some = slice(max(0, first - begin), max(0, first + size - begin))
            found = hits.read(self._version, some)
            if found or not first:
                yield replace(one, hits=found)

    def each(self, size: int) -> Iterator[list[HitList]]:
        """Yield all pages."""
        for first in range(0, max(1, len(self)), size):
            yield self.page(first, size)

    def close(self) -> None:
        """Give up the state of the collection."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._close()


def pages_of(versions: Versions, request: SearchRequest) -> Pages:
    """Return the pages of a request, whose k does not count; raises the errors of a search, and InvalidInputError for
    more than MOST_HITS hits."""
    state, close = versions.kept(request.space, searched_targets(request))
    try:
        most = _most(state.indexed, request)
        ranking = ranking_of(state, replace(request, k=most + 1))
        if any(len(one.hits) > most for one in ranking.lists):
            raise InvalidInputError(
                f"all pages of a search may have {MOST_HITS:,} hits, and these have more: give a filter, a target, or "
                "a maximum distance"
            )
        return Pages(state.version, ranking, close)
    except BaseException:
        close()
        raise


def _most(space: IndexedSpace, request: SearchRequest) -> int:
    """Return the maximum number of hits of a list."""
    lists = max(1, len(request.queries)) * max(1, len(space.indexes))
    return max(1, MOST_HITS // lists)
