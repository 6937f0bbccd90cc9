"""Same or different: the methods of a collection by which a space learns and says whether two items are the same."""

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
    """A collection that tells whether two items are the same."""

    _loaded: "LoadedSpaces"

    def _versions(self) -> "Versions":
        raise NotImplementedError

    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Threshold:
        """Learn up to which distance two items are the same, and keep it with the generation that answers.

        With ``refit`` distances are those of spaces that learned without the items, fold by fold.

        Raises InvalidInputError (pairs of one kind only), NotFoundError (an item, a space), NotReadyError (no labels
        to go by), BusyError, StorageError.
        """
        from crossview.engine.spaces.calibrating import put_threshold, training_of
        from crossview.engine.training.calibration import calibrated

        with self._read() as tx:
            space = self._loaded.get(tx, request.space)
            calibrate, training = calibrated(tx, space, request, progress), training_of(tx, space)
        threshold, pairs = calibrate()
        with self._writable.write() as tx:
            put_threshold(tx, space, threshold, pairs, training)
        return threshold

    def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Return whether the two of each pair are the same, by the threshold of the generation that answers.

        In the place of a pair that names no item, or one without the view, is a Failure with its key and the reason.

        Raises InvalidInputError, NotFoundError, NotReadyError (not calibrated), ImageError, StorageError.
        """
        from crossview.engine.spaces.same import same
        from crossview.engine.spaces.search import check_queries, no_targets

        queries = [query for pair in request.pairs for query in pair]
        check_queries(queries)
        return self._versions().answered(
            request.space, no_targets(queries), lambda version, one: same(version, one.space, self._loaded, request)
        )
