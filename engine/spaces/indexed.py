"""A space with its indexes at one state of the catalog; later states share the unchanged indexes."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Head, Transaction
from crossview.engine.catalog.description import RAW, raw_generation, raw_identity
from crossview.engine.catalog.items import Changes
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.moves import Renames
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.snapshots import Place, Snapshot
from crossview.engine.runtime.cancellation import checkpoint, report_progress
from crossview.engine.runtime.progress import Progress, reporting_as
from crossview.engine.runtime.threads import in_turn, one_blas_thread
from crossview.engine.spaces.scores import Scores
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.spaces.space import Placed, Space, Vectors, raw_space
from crossview.engine.spaces.target import Near, Target, view_of
from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.index_choice import IndexChoice
from crossview.engine.values.query import SearchRequest
from crossview.engine.values.strategy import Nearest
from crossview.features.stages import stage
from crossview.index.base import EXACT, Ids, Index, Neighbors, Searcher, Selection
from crossview.index.registry import IndexSpec
from crossview.index.snapshot import EarlierSnapshotError, SnapshotError

Selector = Callable[[Target], Selection] | None
"""A function that selects the items of a target that a search may find; None: every item."""
Search = Callable[[Target, Vectors, int, Selection | None], Neighbors]
"""A search of the index of a target for the k nearest of some vectors."""
StoredChoices = Mapping[tuple[str, int], Mapping[str, Mapping[str, Any]]]
"""The choices of indexes as JSON by target, by space and generation."""
_log = logging.getLogger(__name__)
_WORTH_SAVING = 0.05
"""Share of an index that must change before its next snapshot is written."""
_PLACED_AT_ONCE = 20_000
"""Items whose rows are in memory at a time during the building of an index."""


@dataclass(frozen=True)
class Covered:
    """An index, and the catalog's sequence up to which the index contains every change."""

    index: Index
    sequence: int
    unsaved: int = 0
    """Number of changes since its snapshot."""

    def is_due(self, everything: bool = False) -> bool:
        """Return whether enough has changed for a new snapshot; with ``everything`` one change is enough."""
        return self.unsaved > (0 if everything else _WORTH_SAVING * len(self.index))


@dataclass(frozen=True)
class IndexedSpace:
    """A space and the indexes of its targets that searches have used.

    Indexes are derived data. The snapshot of a target and generation covers the catalog up to a sequence number, and
    later changes are replayed. An index whose snapshot is missing, damaged or of another identity is built again.
    """

    space: Space
    identity: tuple[int, ...]
    """Differs between spaces of the same name: after another training, or with other views after a deletion."""
    history: str
    """The catalog's history to which the sequence numbers belong; a restored catalog can have the same identities."""
    indexes: Mapping[Target, Covered] = field(default_factory=dict)
    choices: Mapping[str, IndexChoice] = field(default_factory=dict)
    """The kinds of index by target, if not the one that suits the vectors."""

    def choosing(self, choices: Mapping[str, IndexChoice]) -> "IndexedSpace":
        """Return the space with other choices of indexes, without the indexes of another kind than before."""
        if choices == self.choices:
            return self
        other = replace(self, choices=choices, indexes={})
        return other.holding({target: old for target, old in self.indexes.items() if other.suits(target, old.index)})

    def empty(self, target: Target) -> Index:
        """Return an empty index of the kind that a target has."""
        choice = self.choices.get(str(target))
        return self.space.empty_index(target, None if choice is None else IndexSpec(choice.kind, choice.parameters))

    def suits(self, target: Target, index: Index) -> bool:
        """Return whether an index has the kind, the dimension and the type of vectors of a target."""
        empty = self.empty(target)
        return (type(empty), empty.dim, empty.parameters) == (type(index), index.dim, index.parameters)

    def effort(self, view: str, target: Target, k: int, only: Selection | None, recall: float = 0.0) -> int:
        """Return the effort of a search by queries of a view, with a recall [default: the promised one]."""
        choice, index = self.choices.get(str(target)), self.indexes[target].index
        share = 1.0 if only is None else len(only.ids) / max(1, len(index))
        if choice is None or not share or not (efforts := index.efforts(k, share)):
            return EXACT
        correlated = only is not None and share < 1 and index.is_correlated(only)
        effort = choice.effort(view, k, share, recall, correlated, len(index))
        return EXACT if effort > efforts[-1] else max(effort, efforts[0]) if effort else EXACT

    def read_bytes(self, request: SearchRequest, target: Target) -> int:
        """Return roughly the bytes that each query of a search without a filter reads in a target."""
        index = self.indexes[target].index
        if target.hidden:
            return index.read_bytes(max(index.efforts(request.k), default=EXACT))
        if not isinstance(request.strategy, Nearest):
            return index.nbytes
        views = {query.view for query in request.queries}
        return max(index.read_bytes(self.effort(view, target, request.k + 1, None, request.recall)) for view in views)

    def renamed(self, renames: Renames) -> "IndexedSpace":
        """Return the space after items got new keys, in one change after the other."""
        return replace(self, space=self.space.renamed(renames)) if renames else self

    def following(self, tx: Transaction, head: Head, changes: Mapping[int, Changes]) -> "IndexedSpace":
        """Return the space with all indexes brought to the state that a transaction sees, which ``head`` describes.

        ``changes`` are the changes since the sequences of the indexes. All indexes are dropped if a view was fitted
        again, or if tombstones were removed that an index has not seen, because it would keep deleted items.
        """
        sequence = head.sequence
        if all(covered.sequence == sequence for covered in self.indexes.values()):
            return self
        if self.space.outdated(tx.views.all()) or min(entry.sequence for entry in self.indexes.values()) < head.purged:
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

    def with_target(self, tx: Transaction, target: Target, stored: Covered | None) -> "IndexedSpace":
        """Return the space with a target's index in the state that a transaction sees: ``stored`` or newly built."""
        head = tx.head()
        if stored is not None and stored.sequence < head.purged:
            _log.warning("rebuilding an index: the snapshot of %s in %s covers too little", target, self.space.name)
            stored = None
        covered = stored or Covered(self.empty(target), -1)
        if covered.sequence < head.sequence:
            self.space.check_revisions(tx.views.all())
            changes = tx.items.changed_since(covered.sequence)
            (index,) = replayed(tx, self.space, target.view, {target: covered.index}, changes).values()
            if stored is None and str(target) in self.choices:
                index = index.compacted()
            covered = Covered(index, head.sequence, len(changes.live) + len(changes.deleted))
        return self.holding({target: covered})

    def built(self, tx: Transaction, progress: Progress | None = None) -> "IndexedSpace":
        """Return the space with newly built indexes of all its targets, in the state that a transaction sees."""
        sequence, changes = tx.sequence(), tx.items.changed_since(-1)
        indexes: dict[Target, Covered] = {}
        for view in self.space.views:
            targets = [target for target in self.space.indexed_targets if target.view == view]
            empty = {target: self.empty(target) for target in targets}
            with reporting_as(f"placing {view}", progress):
                placed = replayed(tx, self.space, view, empty, changes)
            indexes |= {target: Covered(index, sequence, len(index)) for target, index in placed.items()}
        return self.holding(indexes)

    def holding(self, indexes: Mapping[Target, Covered]) -> "IndexedSpace":
        """Return the space with some of its indexes replaced."""
        return replace(self, indexes={**self.indexes, **indexes})

    def saved(self, changes: Mapping[Target, int]) -> "IndexedSpace":
        """Return the space after new snapshots, which contain ``changes`` of the changes to each target's index."""
        held = [(target, self.indexes[target], count) for target, count in changes.items() if target in self.indexes]
        return self.holding({target: replace(old, unsaved=max(0, old.unsaved - count)) for target, old, count in held})

    def present(self, target: Target, vector: Vectors, ids: Ids, only: Selection | None) -> set[int]:
        """Return which of some ascending ids a target has among the selected ones.

        ``vector`` is any vector of the target, (1, width).
        """
        ids = ids if only is None else np.intersect1d(ids, only.ids)
        return set(self.searcher(target).search(vector, len(ids), ids).ids[0].tolist()) if len(ids) else set()

    def searcher(self, target: Target) -> Searcher:
        """Return the searcher of a target: its index, which has the vectors in memory."""
        return self.indexes[target].index

    def neighbours(
        self,
        probes: Mapping[Target, Vectors],
        own: Sequence[int | None],
        k: int,
        only: Selector,
        search: Search | None = None,
    ) -> dict[Target, list[Near]]:
        """Return the k nearest items of every query by target, among those that ``only`` selects, without the own item.

        ``own`` has the id of the item behind each query; ``search`` searches an index [default: exactly].
        """
        lists = {}
        for target, vectors in probes.items():
            searcher = self.searcher(target)
            most = min(k + any(item is not None for item in own), max(1, len(searcher)))
            selection = None if only is None else only(target)
            with stage("search an index", target=target):
                hits = search(target, vectors, most, selection) if search else searcher.search(vectors, most, selection)
            rows = zip(hits.ids, hits.distances.astype(np.float64), own, strict=True)
            lists[target] = [_others(ids, distances, item, k) for ids, distances, item in rows]
        return lists

    def scores(self, target: Target, ids: Ids) -> Scores | None:
        """Return the scores of items of a target, (n, axes), by the sorted names of the axes; None without axes."""
        if not self.space.axes:
            return None
        return self.space.axes_of(target).scores_of(self.indexes[target].index, ids)

    def place(self, target: Target) -> Place:
        """Return the place under which the catalog stores the snapshot of a target's index."""
        return self.space.name, self.space.generation, str(target)

    def save(self, files: SnapshotFiles, target: Target) -> Snapshot:
        """Write a snapshot of a target's index and return its record for the catalog; OSError if the write fails."""
        covered = self.indexes[target]
        snapshot, path = files.new(self.place(target), covered.sequence)
        covered.index.save(path, {"sequence": snapshot.sequence, "identity": self.identity, "token": snapshot.token})
        return snapshot

    def stored(self, files: SnapshotFiles, target: Target) -> Covered | None:
        """Return the index of a target's snapshot; None without a usable snapshot."""
        empty = self.empty(target)
        try:
            loaded = files.load(self.place(target), type(empty).load)
            if loaded is None:
                return None
            snapshot, (index, meta) = loaded
            written = (tuple(meta.get("identity", ())), meta.get("token"), meta.get("sequence"))
            if written != (self.identity, snapshot.token, snapshot.sequence) or not self.suits(target, index):
                raise SnapshotError(f"{snapshot.file_name} is not the file that this catalog recorded")
            return Covered(index, snapshot.sequence)
        except EarlierSnapshotError:
            return None  # the next save writes the layout of this version
        except (SnapshotError, OSError) as error:
            _log.warning("rebuilding an index: %s", error)
            return None


def _others(ids: Ids, distances: NDArray[np.float64], own: int | None, k: int) -> Near:
    """Return the first k items of one row of an index, (n,), but the own one and the -1 that fill the row up."""
    if own is not None or (len(ids) and ids[-1] < 0):
        mask = (ids >= 0) & (ids != (-1 if own is None else own))
        ids, distances = ids[mask], distances[mask]
    return Near(ids[:k], distances[:k])


def stored_generation(tx: Transaction, name: str, generation: int) -> IndexedSpace:
    """Return a generation of a space, in use or not, without indexes.

    Raises NotFoundError if it does not exist, NotReadyError if this version of crossview cannot read its learner.
    """
    views, history = tx.views.all(), tx.head().history
    if name == RAW and generation == raw_generation(views):
        raw = raw_space(views)
        return IndexedSpace(raw, raw_identity(views), history, choices=choices_of(tx.spaces.index_choices(), raw))
    for record in tx.spaces.generations(name):
        if record.generation == generation:
            space = Space.from_state(name, generation, tx.spaces.state(name, generation))
            space = space.renamed(tx.moves.renames_since(record.sequence))
            choices = choices_of(tx.spaces.index_choices(), space)
            return IndexedSpace(space, (generation, record.sequence), history, choices=choices)
    raise NotFoundError(f"space {name!r} has no generation {generation}")


def choices_of(stored: StoredChoices, space: Space) -> dict[str, IndexChoice]:
    """Return the choices of indexes of a space by target, from those that the catalog stores."""
    if not stored:
        return {}
    generations = {space.own_generation(view) for view in space.views}
    return {
        target: IndexChoice.from_json(choice)
        for generation in sorted(generations)
        for target, choice in stored.get((space.name, generation), {}).items()
        if space.own_generation(view_of(target)) == generation
    }


def replayed(
    tx: Transaction, space: Space, view: str, indexes: Mapping[Target, Index], changes: Changes
) -> dict[Target, Index]:
    """Return the indexes of one view after changes; the rows are read and placed once for all of them.

    Several threads place the blocks of many items while this one reads the next block and reports the progress.
    """
    record, several_metrics = joined_view(tx, view), len(space.targets_of(view)) > 1
    results, total = dict(indexes), len(changes.live)
    removed = np.array(changes.live + changes.deleted if any(map(len, results.values())) else (), np.int64)

    def read() -> Iterator[tuple[ViewRows, Mapping[int, Sequence[str]]]]:
        for start in range(0, max(1, total), _PLACED_AT_ONCE):
            checkpoint()
            ids = changes.live[start : start + _PLACED_AT_ONCE]
            yield record.rows(tx, ids), tx.items.labels(ids) if several_metrics else {}

    def placed(block: tuple[ViewRows, Mapping[int, Sequence[str]]]) -> dict[Target, Placed]:
        rows, labels = block
        vectors = space.place({view: rows}, labels) if any(not target.hidden for target in results) else {}
        return vectors | space.sketched({view: rows}) if any(target.hidden for target in results) else vectors

    done = 0
    with one_blas_thread() if total > _PLACED_AT_ONCE else nullcontext():
        for block in in_turn(read(), placed):
            for target, index in results.items():
                results[target] = index.changed(removed, *block[target])
            removed = removed[:0]
            done = min(total, done + _PLACED_AT_ONCE)
            report_progress(done, total)
    return results
