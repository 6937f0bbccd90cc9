"""The data of a collection in memory, for a server that answers at once if it can."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from crossview.engine.collections.opened import Opened
from crossview.engine.values.index_choice import LiveFigure
from crossview.engine.values.query import HitList, SearchRequest

if TYPE_CHECKING:
    from crossview.engine.spaces.index_recall import Place


class Memory:
    """The spaces and indexes of a collection that are in memory."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def load(self, space: str = "") -> None:
        """Load a space [default: the active one] with all its indexes, so that no search waits for them.

        Raises NotFoundError, NotReadyError, StorageError.
        """
        self._opened.versions().answered(space, lambda _, loaded: loaded.indexed_targets, lambda _: None)

    def search(self, request: SearchRequest, most_bytes: int, most_hits: int) -> list[HitList] | None:
        """Return the answer of ``Collection.search`` if all its data is in memory; otherwise None. It never waits.

        Return None also if the search would scan more than ``most_bytes``, or might find more than ``most_hits``.
        """
        from crossview.engine.spaces.search import answer_at_hand

        self._opened.check_open()
        if self._opened.reader is None:
            return None
        return answer_at_hand(self._opened.reader, request, most_bytes, most_hits)

    def least_bytes(self, space: str = "") -> int:
        """Return roughly the least bytes that a search in a space reads, in any state; 0 without an index in memory."""
        self._opened.check_open()
        return 0 if self._opened.reader is None else self._opened.reader.least_bytes(space)

    def runs_models_on_texts(self, views: Collection[str]) -> bool:
        """Return whether one of some views ("": any) may run a model on the texts of queries. It never waits."""
        self._opened.check_open()
        return self._opened.reader is None or self._opened.reader.runs_models_on_texts(views)

    def recalls(self) -> "Mapping[Place, tuple[LiveFigure, float]]":
        """Return the recall of checked searches and the recall that they promise, by space, target and query view."""
        self._opened.check_open()
        if self._opened.reader is None:
            return {}
        live = self._opened.reader.live
        figures, promised = live.figures(), live.promised()
        return {place: (figure, promised[place]) for place, figure in figures.items() if place in promised}

    def figures(self) -> tuple[int, int]:
        """Return the bytes of the indexes in memory, and the number of versions of the collection in memory."""
        self._opened.check_open()
        return (0, 0) if self._opened.reader is None else self._opened.reader.figures()
