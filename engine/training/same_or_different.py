"""Same or different: the methods of a collection that calibrate a threshold and decide by it."""

from typing import TYPE_CHECKING

from crossview.engine.catalog.contents import Contents
from crossview.engine.info import Threshold
from crossview.engine.item import Failure
from crossview.engine.query import CalibrationRequest, SameRequest, Verdict
from crossview.engine.runtime.progress import Progress

if TYPE_CHECKING:
    from crossview.engine.spaces.loaded import LoadedSpaces
    from crossview.engine.spaces.versions import Versions


class SameOrDifferent(Contents):
    """A collection that decides whether two items are the same."""

    _loaded: "LoadedSpaces"

    def _versions(self) -> "Versions":
        raise NotImplementedError

    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Threshold:
        """Learn the distance up to which two items are the same, and store it with the generation in use.

        With ``refit``, the distances come from spaces that learned without the items, fold by fold.

        Raises InvalidInputError (pairs of only one kind), NotFoundError (an item, a space), NotReadyError (no pairs and
        no labels), BusyError, StorageError.
        """
        from crossview.engine.spaces.threshold_calibration import put_threshold, training_of
        from crossview.engine.training.refit_calibration import calibrated

        with self._read() as tx:
            space = self._loaded.get(tx, request.space)
            calibrate, training = calibrated(tx, space, request, progress), training_of(tx, space)
        threshold, pairs = calibrate()
        with self._writable.write() as tx:
            put_threshold(tx, space, threshold, pairs, training)
        return threshold

    def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Return whether the two queries of each pair are the same, by the threshold of the generation in use.

        A pair with the key of an unknown item, or of an item without the view, gets a Failure with key and reason.

        Raises InvalidInputError, NotFoundError, NotReadyError (not calibrated), ImageError, StorageError.
        """
        from crossview.engine.spaces.same import same
        from crossview.engine.spaces.search import check_queries, no_targets

        queries = [query for pair in request.pairs for query in pair]
        check_queries(queries)
        return self._versions().answered(
            request.space, no_targets(queries), lambda version, one: same(version, one.space, self._loaded, request)
        )
