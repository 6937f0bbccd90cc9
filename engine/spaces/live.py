"""A space in use: its indexes, loaded from snapshots, kept up with the catalog, rebuilt when damaged."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.catalog.catalog import Transaction
from engine.catalog.joined import joined_view
from engine.errors import StorageError
from engine.learners.cancellation import checkpoint
from engine.spaces.locks import ReadWriteLock
from engine.spaces.space import Space, Vectors
from engine.spaces.target import Target
from index.base import Index, Neighbors
from index.snapshot import SnapshotError

_log = logging.getLogger(__name__)
_PLACED_AT_ONCE = 20_000
"""Items whose rows are in memory at a time while an index is built."""
_WORTH_SAVING = 0.05
"""Share of an index that must have changed before its snapshot is written anew."""

_WORTH_COMPACTING = 0.25
"""Share of an index that must be waste before it is compacted."""


class _Loaded:
    """One index, and the catalog's sequence up to which it holds everything."""

    def __init__(self, index: Index, covered: int) -> None:
        self.index = index
        self.covered = covered
        self.unsaved = 0


def snapshot_name(space: str, generation: int, target: str) -> str:
    """Return the file name of a target's snapshot."""
    return f"{space}-{generation}-{target}.idx"


class LiveSpace:
    """A space with one index per target, each loaded when first needed, which follows the catalog's sequence.

    The indexes are derived: a snapshot per target and generation covers the catalog up to a sequence number, later
    changes are replayed, and a snapshot that is missing, damaged or of another identity is built again.

    ``identity`` is that of the space in its catalog: another training or other views under the same name, after a
    deletion, have another one.
    """

    def __init__(self, space: Space, folder: Path, identity: tuple[int, ...]) -> None:
        self.space = space
        self.identity = identity
        self._folder = folder
        self._lock = ReadWriteLock()
        self._loaded: dict[Target, _Loaded] = {}

    def follow(self, tx: Transaction, targets: Iterable[Target]) -> None:
        """Take over every change of the catalog that is not in the targets' indexes yet."""
        sequence = tx.sequence()
        behind: dict[str, list[Target]] = defaultdict(list)
        for target in targets:
            if target not in self._loaded or self._loaded[target].covered < sequence:
                behind[target.view].append(target)
        for view, late in behind.items():
            with self._lock.write():
                for target in late:
                    if target not in self._loaded:
                        self._loaded[target] = self._load(tx, target, sequence)
                reached = {self._loaded[target].covered for target in late}
                for covered in sorted(one for one in reached if one < sequence):  # a later reader may have been here
                    self.space.check_revisions(tx.views.all())
                    self._replay(tx, view, covered, [t for t in late if self._loaded[t].covered == covered], sequence)

    def search(self, target: Target, vectors: Vectors, k: int, only: NDArray[np.int64] | None) -> Neighbors | None:
        """Return the k nearest items of a target among the ids in ``only``, by its index as it is now.

        None where the index is gone since it was followed: another thread was stopped in the middle of changing it.
        """
        with self._lock.read():
            if target not in self._loaded:
                return None
            index = self._loaded[target].index
            return index.search(vectors, min(k, max(1, len(index))), only)

    def save(self) -> None:
        """Write a snapshot of every target that changed much since its last one; StorageError if the disk refuses."""
        with self._lock.read():
            for target, loaded in self._loaded.items():
                if loaded.unsaved <= _WORTH_SAVING * len(loaded.index):
                    continue
                try:
                    self._folder.mkdir(exist_ok=True)
                    loaded.index.save(self._path(target), {"sequence": loaded.covered, "identity": self.identity})
                except OSError as error:
                    raise StorageError(f"the index snapshot was not written ({error}); it will be rebuilt") from error
                loaded.unsaved = 0

    def _path(self, target: Target) -> Path:
        return self._folder / snapshot_name(self.space.name, self.space.generation, str(target))

    def _load(self, tx: Transaction, target: Target, sequence: int) -> _Loaded:
        empty, path = self.space.empty_index(target), self._path(target)
        try:
            index, meta = type(empty).load(path)
            other = tuple(meta.get("identity", ())) != self.identity
            if other or index.dim != empty.dim or meta["sequence"] > sequence:
                raise SnapshotError(f"{path} is of another space, or of an older program")
            return _Loaded(index, int(meta["sequence"]))
        except FileNotFoundError:
            pass
        except (SnapshotError, OSError) as error:
            _log.warning("rebuilding an index: %s", error)
        return _Loaded(empty, -1)

    def _replay(self, tx: Transaction, view: str, covered: int, targets: Sequence[Target], sequence: int) -> None:
        """Bring targets of one view from one sequence number to another: its rows are read and placed once for all."""
        loaded = {target: self._loaded[target] for target in targets}
        changes = tx.items.changed_since(covered)
        record = joined_view(tx, view)
        several_metrics = len(self.space.targets_of(view)) > 1
        with self._dropped_on_error(targets):
            for one in loaded.values():
                gone, nothing = np.array(changes.live + changes.deleted, np.int64), one.index.get([])
                one.index = one.index.changed(gone, [], nothing)
            for start in range(0, len(changes.live), _PLACED_AT_ONCE):
                checkpoint()
                ids = changes.live[start : start + _PLACED_AT_ONCE]
                labels = tx.items.labels(ids) if several_metrics else {}
                placed = self.space.place({view: record.rows(tx, ids)}, labels)
                for target, one in loaded.items():
                    one.index = one.index.changed([], *placed[target])
            for one in loaded.values():
                if one.index.waste > _WORTH_COMPACTING:
                    one.index = one.index.compacted()
        for one in loaded.values():
            one.unsaved += len(changes.live) + len(changes.deleted)
            one.covered = sequence

    @contextmanager
    def _dropped_on_error(self, targets: Sequence[Target]) -> Iterator[None]:
        """Drop the targets' indexes where the block fails: they hold half of a change. The next reader loads them."""
        try:
            yield
        except BaseException:
            for target in targets:
                del self._loaded[target]
            raise
