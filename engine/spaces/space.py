"""Spaces: fitted once, at a revision, from training keys they remember; then they only place and probe."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from engine.catalog import state
from engine.catalog.rows import ViewRows
from engine.catalog.space_info import RAW, raw_generation, raw_views
from engine.catalog.values import out_of_reach
from engine.catalog.views import ViewRecord
from engine.comparisons import ItemComparisons
from engine.errors import InvalidInputError, NotFoundError, NotReadyError
from engine.info import ConstraintCounts, Tuning
from engine.learners.chain import Chain
from engine.learners.registry import from_state
from engine.spaces.pipeline import build, class_of, codes_and_vectors, fit, metrics_of_items, vectors
from features import EXTRACTORS
from index import AutoBinaryIndex, FlatIndex, Index, RerankedIndex, with_floats

Vectors = NDArray[np.float32] | NDArray[np.uint8]
"""What an index holds: float vectors, (n, D), or codes packed by ``np.packbits``, (n, ceil(bits / 8)); behind these the
bytes of their float vectors where searches are re-ranked."""


_NONE: Mapping[int, Sequence[str]] = {}


class Placed(NamedTuple):
    """Vectors of one target."""

    ids: NDArray[np.int64]
    vectors: Vectors


@dataclass(frozen=True)
class Space:
    """A pipeline over declared input views, with one target per view."""

    name: str
    generation: int
    spec: str
    """The learners, such as ``sqrt,cca``; "" for the raw views."""
    views: tuple[str, ...]
    revisions: Mapping[str, int]
    """The revision of each view that it was fitted on; rows of another mean something else."""
    pipeline: Chain
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    training_keys: frozenset[str] = frozenset()
    held_out: int = 0
    """Items kept out of training for evaluation."""
    added: tuple[str, ...] = ()
    """Of the views, those that were added later."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Keys of similar items that it learned from; none where it went by labels or neighbours."""
    tuning: Tuning | None = None
    constraints: ItemComparisons | None = None
    """Comparisons that it was given to learn from."""
    constraint_counts: ConstraintCounts | None = None
    rerank: int = 0
    """Codes found for each hit wanted, which are put in the order of their float vectors; 0: none are."""
    notes: tuple[str, ...] = ()
    """Sentences on what is worth knowing of its training."""

    @property
    def binary(self) -> bool:
        """Whether its vectors are codes."""
        return self.pipeline.capabilities.binary

    @property
    def targets(self) -> tuple[str, ...]:
        """The named indexes that a query can be matched against."""
        return tuple(target for view in self.views for target in self.targets_of(view))

    def targets_of(self, view: str) -> tuple[str, ...]:
        """Return the targets of a view's rows: the view, or where it has several metrics, one each, as in forest:2."""
        parts = self.pipeline.n_metrics_
        return (view,) if parts == 1 else tuple(f"{view}:{part}" for part in range(1, parts + 1))

    @property
    def comparable(self) -> bool:
        """Whether distances in all targets of a query mean the same, so that hits are merged by them."""
        return self.pipeline.n_metrics_ > 1

    @property
    def cross_view(self) -> bool:
        """Whether a query of one view may be matched against the vectors of another."""
        return self.pipeline.capabilities.cross_view

    def reachable(self, view: str) -> tuple[str, ...]:
        """Return the targets that a query of a view can be matched against."""
        return self.targets if self.cross_view else self.targets_of(view)

    def check_reachable(self, view: str, targets: Sequence[str]) -> None:
        """Raise NotFoundError for an unknown view or target, InvalidInputError where one cannot query the other."""
        for kind, name in [("view", view), *(("target", target) for target in targets)]:
            known = self.views if kind == "view" else self.targets
            if name not in known:
                raise NotFoundError(f"space {self.name!r} has no {kind} {name!r}; there are: {', '.join(known)}")
        if not self.cross_view and (crossing := [target for target in targets if source(target) != view]):
            raise InvalidInputError(
                f"space {self.name!r} answers within a view only, not {view} to {crossing[0]}: "
                "train a cross-view learner such as hybrid, multi-npp or cca"
            )

    def place(self, rows: Mapping[str, ViewRows], labels: Mapping[int, Sequence[str]] = _NONE) -> dict[str, Placed]:
        """Return, by target, the vectors of items from their raw rows by view; an item without a view is not filed.

        ``labels``, by id, say under which of several metrics an item is filed; under all where none is its labels'.
        """
        placed = {}
        for view, (ids, values) in rows.items():
            classes = [class_of(labels.get(item, ())) for item in ids.tolist()]
            there = metrics_of_items(self.pipeline, classes, self.views.index(view))
            for target, found, mine in zip(self.targets_of(view), self._vectors(view, values), there.T, strict=True):
                placed[target] = Placed(ids[mine], found[mine])
        return placed

    def probe(self, view: str, rows: NDArray[np.float32], targets: Sequence[str] = ()) -> dict[str, Vectors]:
        """Return, by target, the vectors of queries from raw rows of the query view, shape (n, d).

        Raises NotFoundError for an unknown view or target, InvalidInputError where the space cannot match the two, or a
        row is too far from those that it was trained on.
        """
        self.check_reachable(view, targets)
        found = self._vectors(view, rows)
        if not self.binary and any(map(out_of_reach, found)):
            raise InvalidInputError(
                f"space {self.name!r} makes numbers too large for distances in float32 of a row of view {view!r}: "
                "the row is far outside those that the space was trained on"
            )
        return {target: found[_part(target)] for target in targets or self.reachable(view)}

    def _vectors(self, view: str, rows: NDArray[np.float32]) -> list[Vectors]:
        """Return the vectors of a view's rows by each of its metrics."""
        position = self.views.index(view)
        if self.rerank:
            codes, floats = codes_and_vectors(self.pipeline, rows, position)
            return [with_floats(np.packbits(codes > 0, axis=1), floats)]
        found = np.split(vectors(self.pipeline, rows, position), self.pipeline.n_metrics_, axis=1)
        return [np.packbits(part > 0, axis=1) if self.binary else np.ascontiguousarray(part) for part in found]

    def empty_index(self, target: str, views: Sequence[ViewRecord]) -> Index:
        """Return an index for the vectors of a target."""
        dim = self.dims(views)[target]
        if not self.binary:
            return FlatIndex(dim)
        if not self.rerank:
            return AutoBinaryIndex(dim)
        view = source(target)
        _, floats = codes_and_vectors(self.pipeline, _no_rows(view, views), self.views.index(view))
        return RerankedIndex(dim, floats.shape[1], self.rerank)

    def check_revisions(self, views: Sequence[ViewRecord]) -> None:
        """Raise NotReadyError if a view was fitted again since."""
        for view in views:
            if view.name in self.views and view.revision != self.revisions[view.name]:
                raise NotReadyError(
                    f"space {self.name!r} was trained on revision {self.revisions[view.name]} of view {view.name!r}, "
                    f"which is now at {view.revision}: train it again"
                )

    def dims(self, views: Sequence[ViewRecord]) -> dict[str, int]:
        """Return the dimension of each target's vectors, or the bits of its codes."""
        return {
            target: vectors(self.pipeline, _no_rows(view, views), position).shape[1] // self.pipeline.n_metrics_
            for position, view in enumerate(self.views)
            for target in self.targets_of(view)
        }

    def to_state(self) -> bytes:
        """Return everything that is needed to place and probe again."""
        return state.pack(
            {
                "spec": self.spec,
                "views": self.views,
                "revisions": dict(self.revisions),
                "pipeline": self.pipeline.to_state(),
                "settings": dict(self.settings),
                "seed": self.seed,
                "training_keys": sorted(self.training_keys),
                "held_out": self.held_out,
                "added": self.added,
                "pairs": self.pairs,
                "tuning": self.tuning and asdict(self.tuning),
                "constraints": None if self.constraints is None else self.constraints.to_state(),
                "constraint_counts": self.constraint_counts and asdict(self.constraint_counts),
                "rerank": self.rerank,
                "notes": self.notes,
            }
        )

    @classmethod
    def from_state(cls, name: str, generation: int, data: bytes) -> Self:
        """Return the space that ``to_state`` described."""
        tree = state.unpack(data)
        return cls(
            name,
            generation,
            tree["spec"],
            tuple(tree["views"]),
            tree["revisions"],
            from_state(tree["pipeline"]),
            tree["settings"],
            tree["seed"],
            frozenset(tree["training_keys"]),
            tree["held_out"],
            tuple(tree.get("added", ())),  # older states lack these
            tuple((first, second) for first, second in tree.get("pairs", ())),
            Tuning.from_json(tree["tuning"]) if tree.get("tuning") else None,
            ItemComparisons.from_state(tree["constraints"]) if tree.get("constraints") else None,
            ConstraintCounts(**tree["constraint_counts"]) if tree.get("constraint_counts") else None,
            tree.get("rerank", 0),
            tuple(tree.get("notes", ())),
        )


def source(target: str) -> str:
    """Return the view whose rows are filed under a target."""
    return target.partition(":")[0]


def _part(target: str) -> int:
    """Return which of its view's metrics a target is of, counted from 0."""
    return int(target.partition(":")[2] or 1) - 1


def _no_rows(view: str, views: Sequence[ViewRecord]) -> NDArray[np.float32]:
    """Return no rows of a view, (0, d)."""
    width = next(one.dim for one in views if one.name == view)
    return np.zeros((0, width), np.float32)


def raw_space(views: Sequence[ViewRecord]) -> Space:
    """Return the space of the fitted views themselves."""
    fitted = raw_views(views)
    pipeline = build("", [view.name for view in fitted], [EXTRACTORS[view.extractor].steps for view in fitted])
    if fitted:
        fit(pipeline, [np.zeros((2, view.dim), np.float32) for view in fitted])
    revisions = {view.name: view.revision for view in fitted}
    return Space(RAW, raw_generation(views), "", tuple(revisions), revisions, pipeline)


def summarize(space: Space, views: Sequence[ViewRecord]) -> dict[str, Any]:
    """Return what the catalog tells of a generation without reading its state, as JSON values."""
    return {
        "spec": space.spec,
        "views": list(space.views),
        "targets": list(space.targets),
        "cross_view": space.cross_view,
        "dim": space.dims(views),
        "settings": dict(space.settings),
        "seed": space.seed,
        "trained_items": len(space.training_keys),
        "held_out": space.held_out,
        "added": list(space.added),
        "pairs": len(space.pairs),
        "tuning": space.tuning and asdict(space.tuning),
        "constraints": space.constraint_counts and asdict(space.constraint_counts),
        "binary": space.binary,
        "rerank": space.rerank,
        "notes": list(space.notes),
    }
