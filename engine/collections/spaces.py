"""The spaces of a collection."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.description import check_space_name, find_space_info, space_infos
from crossview.engine.collections.opened import Opened
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.loaded import stored_space
from crossview.engine.values.errors import CrossviewError, InvalidInputError, NotReadyError, warn_of
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS, checked_choice
from crossview.engine.values.info import SpaceInfo, Threshold
from crossview.engine.values.item import one_or_several
from crossview.engine.values.query import CalibrationRequest

if TYPE_CHECKING:
    from crossview.engine.spaces.space import Space


class Spaces:
    """The spaces of a collection: call it to list them."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def __call__(self) -> tuple[SpaceInfo, ...]:
        """Return the trained spaces, then ``raw``, the views themselves."""
        with self._opened.read() as tx:
            return tuple(map(self._opened.described, space_infos(tx)))

    def get(self, name: str) -> SpaceInfo:
        """Return one space; NotFoundError lists the existing spaces."""
        with self._opened.read() as tx:
            return self._opened.described(find_space_info(tx, name))

    def made_by(self, request_id: str) -> SpaceInfo | None:
        """Return the space with a generation made by a request; None if no such generation exists any more."""
        with self._opened.read() as tx:
            names = [row.space for row in tx.spaces.generations() if row.summary.get("request_id") == request_id]
            return find_space_info(tx, names[0]) if names and request_id else None

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Add views to a trained space: a new generation, or the first of a space ``name``.

        The training learns only the new views, with the settings of the space and from its training items and, if none
        were held out, all later items. Distances among the earlier views stay exactly the same.

        Raises InvalidInputError (a view that it has, a learner that cannot), NotFoundError, NotReadyError, BusyError,
        StorageError.
        """
        from crossview.engine.training.extension import added_views

        new_name = space if name is None else check_space_name(name)

        def extended(tx: Transaction) -> "Callable[[], Space]":
            return added_views(tx, stored_space(tx, space), new_name, one_or_several(views), progress)

        return self._opened.add_generation(new_name, activate, extended, request_id, progress)

    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> SpaceInfo:
        """Choose the metric for a label that the space was not trained on: a new generation of the space.

        The items with the label determine the metric, without training. Before that, each of them is indexed under the
        metric of its likeliest class.

        Raises InvalidInputError (a space of one metric, a label that it learned), NotFoundError, NotReadyError (no
        items), BusyError, StorageError.
        """
        from crossview.engine.training.extension import assign

        return self._opened.add_generation(
            space, activate, lambda tx: assign(tx, stored_space(tx, space), label), request_id
        )

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Make a space the active one, with one of its generations [default: the generation in use].

        Raises NotFoundError, BusyError, StorageError.
        """
        from crossview.engine.spaces.generations import activate_space

        with self._opened.writable.write() as tx:
            return activate_space(tx, space, generation)

    def reindex(
        self,
        space: str = "",
        *,
        index: str = AUTO,
        recall: float = RECALL,
        vectors: str = VECTORS[0],
        targets: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Build the indexes of a space [default: the active one] in a kind, without another training.

        Args:
            space: the space; ``raw`` has an index of each view.
            index: ``flat`` is exact. ``ivf`` probes lists of near vectors, ``scan`` compares codes of all vectors and
                re-ranks the nearest, ``hnsw`` walks along a graph; these three can miss items. ``auto`` is ``flat`` for
                fewer than 200,000 items, then ``ivf``, or ``scan`` if the vectors do not fit into the memory.
            recall: the share of the nearest items that searches find, above 0 and at most 1. Stored items measure it
                for queries of each view.
            vectors: the type of stored components: ``float32``, or ``float16`` for half the memory.
            targets: the targets to index [default: all].
            progress: called after every target.

        Raises InvalidInputError, NotFoundError, NotReadyError, BusyError, StorageError.
        """
        from crossview.engine.spaces.generations import reindex

        choice = checked_choice(index, recall, vectors)
        with self._opened.folder.working():
            versions = self._opened.versions()
            return reindex(self._opened.writable, versions, space, one_or_several(targets), choice, progress)

    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Threshold:
        """Learn the distance up to which two items are the same, and store it with the generation in use.

        With ``refit``, the distances come from spaces that learned without the items, fold by fold. Without a view,
        each view of the space gets a threshold, and the returned one makes the fewest errors; a warning names the
        views that get none.

        Raises InvalidInputError (pairs of only one kind), NotFoundError (an item, a space), NotReadyError (no pairs and
        no labels), BusyError, StorageError.
        """
        if not request.view:
            return self._calibrated_best(request, progress)
        from crossview.engine.spaces.thresholds import put_threshold, training_of
        from crossview.engine.training.calibration import threshold_by_refits

        with self._opened.folder.working():
            with self._opened.read() as tx:
                space = self._opened.loaded.get(tx, request.space)
                calibrate, training = threshold_by_refits(tx, space, request, progress), training_of(tx, space)
            threshold, pairs = calibrate()
            with self._opened.writable.write() as tx:
                put_threshold(tx, space, threshold, pairs, training)
        return threshold

    def _calibrated_best(self, request: CalibrationRequest, progress: Progress | None) -> Threshold:
        """Calibrate each view of the space; raise the error of the first one if none can be."""
        from crossview.engine.spaces.thresholds import errors_of

        thresholds, errors = list[Threshold](), list[CrossviewError]()
        with self._opened.read() as tx:
            views = self._opened.loaded.get(tx, request.space).views
        for view in views:
            try:
                thresholds.append(self.calibrate(replace(request, view=view), progress=progress))
            except (InvalidInputError, NotReadyError) as error:
                errors.append(error)
        if not thresholds:
            raise errors[0]
        if lacking := sorted({*views} - {threshold.view for threshold in thresholds}):
            warn_of(f"no threshold for view {', '.join(lacking)}: calibrate it alone to see why")
        return min(thresholds, key=errors_of)

    def delete(self, space: str, generation: int | None = None) -> None:
        """Delete a trained space, or one of its generations that does not answer, and give its disk space back.

        If it was the active space, ``raw`` becomes the active space.

        Raises InvalidInputError (``raw``), NotFoundError, NotReadyError (the generation that answers), BusyError,
        StorageError.
        """
        from crossview.engine.spaces.deletion import delete_space, free_disk_space

        self._opened.check_open()
        with self._opened.files.changing() as tx:
            delete_space(tx, space, generation)
        if generation is None:
            self._opened.loaded.forget(space)
        free_disk_space(self._opened.writable, self._opened.files)
