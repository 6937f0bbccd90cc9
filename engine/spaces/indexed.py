"""A space with its indexes at one state of the catalog; later states share what has not changed."""

import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from engine.catalog.catalog import Head, Transaction
from engine.catalog.items import Changes
from engine.catalog.joined import joined_view
from engine.catalog.leftovers import at_work
from engine.catalog.private import make_folder
from engine.errors import StorageError
from engine.learners.cancellation import checkpoint
from engine.spaces.space import Space
from engine.spaces.target import Target
from index.base import Index
from index.snapshot import SnapshotError

_log = logging.getLogger(__name__)
_WORTH_SAVING = 0.05
"""Share of an index that must have changed before its snapshot is written anew."""
_PLACED_AT_ONCE = 20_000
"""Items whose rows are in memory at a time while an index is built."""


@dataclass(frozen=True)
class Covered:
    """An index, and the catalog's sequence up to which it holds everything."""

    index: Index
    sequence: int
    unsaved: int = 0
    """Changes since its snapshot."""

    @property
    def worth_saving(self) -> bool:
        """Whether much has changed since its snapshot."""
        return self.unsaved > _WORTH_SAVING * len(self.index)


@dataclass(frozen=True)
class IndexedSpace:
    """A space and the indexes of those of its targets that have been searched.

    The indexes are derived: a snapshot per target and generation covers the catalog up to a sequence number, later
    changes are replayed, and a snapshot that is missing, damaged or of another identity is built again.
    """

    space: Space
    identity: tuple[int, ...]
    """What distinguishes it from other spaces of its name: another training, or other views after a deletion."""
    history: str
    """The catalog's history that the indexes' sequence numbers are of; a restored one may have the same identities."""
    indexes: Mapping[Target, Covered] = field(default_factory=dict)

    def following(self, tx: Transaction, head: Head, changes: Mapping[int, Changes]) -> "IndexedSpace":
        """Return the space with all indexes brought to the state that a transaction sees, which ``head`` is of.

        ``changes`` are those since the sequences that the indexes cover. Where a view was fitted again, or tombstones
        were removed that an index has not followed, no index is left.
        """
        sequence = head.sequence
        if all(covered.sequence == sequence for covered in self.indexes.values()):
            return self
        if self.space.outdated(tx.views.all()) or min(one.sequence for one in self.indexes.values()) < head.purged:
            return replace(self, indexes={})
        behind: dict[tuple[str, int], list[Target]] = defaultdict(list)
        for target, covered in self.indexes.items():
            if covered.sequence != sequence:
                behind[target.view, covered.sequence].append(target)
        indexes = dict(self.indexes)
        for (view, since), targets in behind.items():
            held = {target: self.indexes[target].index for target in targets}
            for target, index in replayed(tx, self.space, view, held, changes[since]).items():
                unsaved = self.indexes[target].unsaved + len(changes[since].live) + len(changes[since].deleted)
                indexes[target] = Covered(index, sequence, unsaved)
        return replace(self, indexes=indexes)

    def with_target(self, tx: Transaction, folder: Path, target: Target) -> "IndexedSpace":
        """Return the space with a target's index in the state that a transaction sees, from its snapshot if it can be
        used."""
        sequence = tx.sequence()
        covered = self._stored(tx, folder, target)
        if covered.sequence < sequence:
            self.space.check_revisions(tx.views.all())
            changes = tx.items.changed_since(covered.sequence)
            made = replayed(tx, self.space, target.view, {target: covered.index}, changes)
            covered = Covered(made[target], sequence, len(changes.live) + len(changes.deleted))
        return self.holding({target: covered})

    def built(self, tx: Transaction) -> "IndexedSpace":
        """Return the space with the indexes of all its targets, built in the state that a transaction sees."""
        sequence, changes = tx.sequence(), tx.items.changed_since(-1)
        indexes: dict[Target, Covered] = {}
        for view in self.space.views:
            empty = {target: self.space.empty_index(target) for target in self.space.targets_of(view)}
            made = replayed(tx, self.space, view, empty, changes)
            indexes |= {target: Covered(index, sequence, len(index)) for target, index in made.items()}
        return self.holding(indexes)

    def holding(self, indexes: Mapping[Target, Covered]) -> "IndexedSpace":
        """Return the space with some indexes in place of those of their targets."""
        return replace(self, indexes={**self.indexes, **indexes})

    def saved(self, changes: Mapping[Target, int]) -> "IndexedSpace":
        """Return the space with so many changes of targets' indexes in their snapshots."""
        held = [(target, self.indexes[target], count) for target, count in changes.items() if target in self.indexes]
        return self.holding({target: replace(one, unsaved=max(0, one.unsaved - count)) for target, one, count in held})

    def save(self, folder: Path, target: Target, token: str) -> None:
        """Write the snapshot of a target's index; StorageError if the disk refuses.

        It is worth nothing until the catalog knows its token.
        """
        covered = self.indexes[target]
        try:
            make_folder(folder)
            meta = {"sequence": covered.sequence, "identity": self.identity, "token": token}
            with at_work(folder):
                covered.index.save(self._path(folder, target), meta)
        except OSError as error:
            raise StorageError("the index snapshot was not written; it will be rebuilt", detail=error) from error

    def _path(self, folder: Path, target: Target) -> Path:
        return folder / snapshot_name(self.space.name, self.space.generation, str(target))

    def _stored(self, tx: Transaction, folder: Path, target: Target) -> Covered:
        """Return the index of a snapshot, or an empty one that covers nothing."""
        empty, path = self.space.empty_index(target), self._path(folder, target)
        try:
            index, meta = type(empty).load(path)
            token = tx.spaces.snapshot(self.space.name, self.space.generation, str(target))
            same = tuple(meta.get("identity", ())) == self.identity and meta.get("token") == token
            if not token or not same or index.dim != empty.dim:
                raise SnapshotError(f"{path} is not what this catalog has written last")
            if meta["sequence"] < tx.head().purged:
                raise SnapshotError(f"{path} covers too little")
            return Covered(index, int(meta["sequence"]))
        except FileNotFoundError:
            pass
        except (SnapshotError, OSError) as error:
            _log.warning("rebuilding an index: %s", error)
        return Covered(empty, -1)


def snapshot_name(space: str, generation: int, target: str) -> str:
    """Return the file name of a target's snapshot, whatever the names are made of: it leads out of no folder."""
    return f"{space}-{generation}-{target}.idx".replace("%", "%25").replace("/", "%2F")


def replayed(
    tx: Transaction, space: Space, view: str, indexes: Mapping[Target, Index], changes: Changes
) -> dict[Target, Index]:
    """Return indexes of one view after changes: its rows are read and placed once for all of them."""
    record, several_metrics = joined_view(tx, view), len(space.targets_of(view)) > 1
    removed = np.array(changes.live + changes.deleted, np.int64)
    found = dict(indexes)
    for start in range(0, max(1, len(changes.live)), _PLACED_AT_ONCE):
        checkpoint()
        ids = changes.live[start : start + _PLACED_AT_ONCE]
        labels = tx.items.labels(ids) if several_metrics else {}
        placed = space.place({view: record.rows(tx, ids)}, labels)
        for target, index in found.items():
            found[target] = index.changed(removed, *placed[target])
        removed = removed[:0]
    return found
