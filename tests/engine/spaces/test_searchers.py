"""Searchers: the engine finds the neighbours of a target by the protocol alone, for vectors at any place."""

import numpy as np

from crossview.engine.collections.home import Home
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.index.base import EXACT, Index, Neighbors, SearchCapabilities, Searcher, Selection


class Elsewhere(Searcher):
    """A searcher of another engine: it has no vectors to give, no versions and no snapshots."""

    def __init__(self, engine: Index) -> None:
        self._engine, self.calls = engine, 0

    @property
    def capabilities(self) -> SearchCapabilities:
        return SearchCapabilities()

    @property
    def dim(self) -> int:
        return self._engine.dim

    def __len__(self) -> int:
        return len(self._engine)

    def search(self, vectors, k, only=None, effort=EXACT) -> Neighbors:
        self.calls += 1
        return self._engine.search(vectors, k, only.ids if isinstance(only, Selection) else only)

    def selection(self, ids) -> Selection:
        return Selection(np.asarray(ids), self)


def test_a_searcher_without_rows_answers_searches_and_filters(home: Home, monkeypatch):
    """It answers a search within a radius, too, which it need not have."""
    made: list[Elsewhere] = []
    indexes = IndexedSpace.searcher

    def searcher(space, target) -> Elsewhere:
        if not made:
            made.append(Elsewhere(indexes(space, target)))
        return made[0]

    with home.create("line", ["v=vectors:dim=2"]) as line:
        line.items.put(
            [NewItem(f"{n:02}", labels=("even" if n % 2 == 0 else "odd",), rows={"v": [n, 0]}) for n in range(30)]
        )
        for chosen in (Filter(), Filter(labels=("odd",))):
            request = SearchRequest([Query("v", vector=[10.2, 0]), Query("v", key="07")], k=4, filter=chosen)
            expected = line.search(request)
            with monkeypatch.context() as patch:
                patch.setattr(IndexedSpace, "searcher", searcher)
                assert line.search(request) == expected
    assert made[0].calls > 0
    assert made[0].within([[3, 0]], 1.5).distances.tolist() == [[0, 1, 1]]
