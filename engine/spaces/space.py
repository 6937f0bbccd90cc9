"""Spaces: training fits a space once, at a revision; the space then places items and probes with queries."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog import state
from crossview.engine.catalog.description import RAW, raw_generation, raw_views
from crossview.engine.catalog.joined import JOINT, JoinedView
from crossview.engine.catalog.moves import Renames
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.values import out_of_reach
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.registry import from_state
from crossview.engine.spaces.match import Match, Novelty
from crossview.engine.spaces.pipeline import (
    build,
    class_of,
    codes_and_vectors,
    fit,
    metrics_of_items,
    parts_of,
    targets_of_view,
    vectors,
)
from crossview.engine.spaces.scores import Axes, ScoreScale
from crossview.engine.spaces.sketches import Sketch
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.training_keys import NO_KEYS, PackedKeys, packed_keys, renamed_keys, unpacked_keys
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import Argument, InvalidInputError, NotFoundError, NotReadyError, Text, call
from crossview.engine.values.info import ConstraintCounts, SpaceDescription
from crossview.engine.values.recipe import Grouping
from crossview.index.base import Index
from crossview.index.registry import IndexSpec
from crossview.index.reranked import with_floats

Vectors = NDArray[np.float32] | NDArray[np.uint8]
"""The vectors of an index: floats, (n, D), or codes packed by ``np.packbits``, (n, ceil(bits / 8)). If searches
re-rank, the bytes of the float vector follow each code."""
_NO_LABELS: Mapping[int, Sequence[str]] = {}


class Placed(NamedTuple):
    """Vectors of items in one target."""

    ids: NDArray[np.int64]
    vectors: Vectors


@dataclass(frozen=True, kw_only=True)
class Space(SpaceDescription):
    """A fitted pipeline over declared input views, with one target per view, or one for each metric of a view."""

    revisions: Mapping[str, int]
    """The revision of each view, or part of a view, in the training; rows of another revision are not comparable."""
    pipeline: Chain
    trained: PackedKeys = field(default_factory=lambda: NO_KEYS, compare=False)
    """The keys of the training items, packed."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Keys of the similar items that it learned from; empty if it learned from labels or neighbours."""
    constraints: ItemComparisons | None = None
    """Comparisons that it learned from."""
    constraint_counts: ConstraintCounts | None = None
    taxonomy: Taxonomy | None = None
    """The tree of labels that it learned from, if any."""
    group_by: Grouping | None = None
    """Groups of items that its training kept together; a refit for an evaluation keeps them together, too."""
    index: IndexSpec | None = None
    """The kind of index of its targets; None: the kind that suits the vectors."""
    matches: tuple[Match, ...] = ()
    """The calibrated probabilities of hits, by query view and target; empty if nothing could be calibrated."""
    novelties: tuple[Novelty, ...] = ()
    """The rows with which the matches compare a query's row, by query view; empty without matches."""
    scales: tuple[ScoreScale, ...] = ()
    """Scale of the scores in each view; empty if the learner has no named attributes."""
    sketches: tuple[Sketch, ...] = ()
    """The sketches by which searches find near copies, one for each view except those of texts; empty in ``raw``, and
    in spaces that an earlier version trained."""

    @cached_property
    def training_keys(self) -> frozenset[str]:
        """The keys of the training items."""
        return unpacked_keys(self.trained)

    def renamed(self, renames: Renames) -> "Space":
        """Return the space after items got new keys, in one change after the other."""
        return replace(self, trained=renamed_keys(self.trained, renames)) if renames else self

    @cached_property
    def binary(self) -> bool:
        """Whether the vectors are codes."""
        return self.pipeline.capabilities.binary

    @cached_property
    def cross_view(self) -> bool:
        """Whether the distance between vectors of two views has a meaning."""
        return self.pipeline.capabilities.cross_view

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The names of the attributes whose scores are the vectors; empty in other spaces."""
        return tuple(self.pipeline.names_) if self.scales else ()

    @cached_property
    def match_of(self) -> Mapping[tuple[str, str], Match]:
        """The calibrated matches by query view and name of the target."""
        return {(match.view, match.target): match for match in self.matches}

    @cached_property
    def novelty_of(self) -> Mapping[str, Novelty]:
        """The novelty of queries, by their view."""
        return {novelty.view: novelty for novelty in self.novelties}

    def axes_of(self, target: Target) -> Axes:
        """Return the axes of a target of an attribute space."""
        return Axes(self.axes, self.scales[self.views.index(target.view)])

    def probe_classes(self, view: str, classes: Sequence[str], names: Sequence[str] = ()) -> dict[Target, Vectors]:
        """Return the positions of classes among the vectors of each target, (n, D), also of classes known by orderings.

        Raises the errors of ``targets_for``, and InvalidInputError for a class that the learner does not know.
        """
        try:
            return {
                target: np.stack(
                    [self.pipeline.place_of_class(name, self.views.index(target.view)) for name in classes]
                ).astype(np.float32)
                for target in self.targets_for(view, names)
            }
        except ValueError as error:
            raise InvalidInputError(f"space {self.name!r} cannot search by a class: {error}") from error

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The targets of all views, in the order of the views."""
        return tuple(
            target
            for position, view in enumerate(self.views)
            for target in targets_of_view(self.pipeline, view, position, bool(self.rerank))
        )

    @cached_property
    def sketch_of(self) -> Mapping[str, Sketch]:
        """The sketches by view."""
        return {sketch.view: sketch for sketch in self.sketches}

    @cached_property
    def robust_view(self) -> str:
        """The first view whose rows hardly differ between a picture and a changed copy; "" without one."""
        return next((sketch.view for sketch in self.sketches if sketch.robust), "")

    @cached_property
    def indexed_targets(self) -> tuple[Target, ...]:
        """All targets that have an index: those of ``targets``, and the hidden ones."""
        return (*self.targets, *(sketch.target for sketch in self.sketches))

    def targets_of(self, view: str) -> tuple[Target, ...]:
        """Return the targets of a view's rows."""
        return self._of_view.get(view, ())

    @cached_property
    def _of_view(self) -> dict[str, tuple[Target, ...]]:
        return {view: tuple(target for target in self.targets if target.view == view) for view in self.views}

    def targets_for(self, view: str, names: Sequence[str] = ()) -> tuple[Target, ...]:
        """Return the named targets for queries of a view; without names, all targets that the view can query.

        Raises NotFoundError for an unknown view or target, InvalidInputError if the view cannot query a target.
        """
        targets = self._chosen.get((view, tuple(names)))
        if targets is None:
            targets = self._chosen[view, tuple(names)] = self._choice(view, names)
        return targets

    @cached_property
    def _chosen(self) -> dict[tuple[str, tuple[str, ...]], tuple[Target, ...]]:
        """Cache of ``targets_for``."""
        return {}

    def _choice(self, view: str, names: Sequence[str]) -> tuple[Target, ...]:
        if view not in self.views:
            raise NotFoundError(self._no_view(view))
        targets = [self.target(view, name) for name in names]
        if not self.cross_view and (crossing := [target for target in targets if target.view != view]):
            raise InvalidInputError(
                f"space {self.name!r} only searches within a view, not from {view} to {crossing[0]}: "
                "train a cross-view learner such as hybrid, multi-npp or cca"
            )
        return tuple(targets) or (self.targets if self.cross_view else self.targets_of(view))

    def target(self, view: str, name: str) -> Target:
        """Return the target of a full name, or of a notion that only one target has, for queries of a view."""
        by_name = {str(target): target for target in self.targets}
        if name in by_name:
            return by_name[name]
        targets = [target for target in self.targets if name and name == target.name]
        targets = [target for target in targets if self.cross_view or target.view == view] or targets
        if not targets:
            raise NotFoundError(f"space {self.name!r} has no target {name!r}; there are: {', '.join(by_name)}")
        if len(targets) > 1:
            names = " or ".join(map(str, targets))
            raise InvalidInputError(
                f"space {self.name!r} has {name!r} in several views: use one of the full names {names}"
            )
        return targets[0]

    def _no_view(self, view: str) -> str:
        message = f"space {self.name!r} has no view {view!r}; there are: {', '.join(self.views)}"
        if self.name != RAW:
            return Text(f"{message}; or name another space, such as ", Argument("space", RAW))
        if JOINT not in view:
            return message
        return Text(
            f"{message}. A joined view needs learned scales of its parts, and {RAW!r} learns nothing: train "
            "a space, for example with: ",
            Argument("spec", "scale"),
            " ",
            Argument("views", [view]),
        )

    def place(
        self, rows: Mapping[str, ViewRows], labels: Mapping[int, Sequence[str]] = _NO_LABELS
    ) -> dict[Target, Placed]:
        """Return the vectors of items by target, from their raw rows by view.

        If a view has several metrics, ``labels``, by id, choose the metric under which an item is indexed: that of its
        class or, if the class has none, of the class that the learner predicts; every metric if it predicts none.
        """
        placed = {}
        for view, (ids, values) in rows.items():
            position = self.views.index(view)
            classes = [class_of(labels.get(item, ())) for item in ids.tolist()]
            embedded, by_target = self._embedded(view, values)
            indexed = metrics_of_items(self.pipeline, classes, position, embedded)
            for target, embeddings in by_target.items():
                under_target = indexed[:, target.metric]
                placed[target] = Placed(ids[under_target], embeddings[under_target])
        return placed

    def sketched(self, rows: Mapping[str, ViewRows]) -> dict[Target, Placed]:
        """Return the codes of items by hidden target, from their raw rows by view."""
        sketches = [self.sketch_of[view] for view in rows if view in self.sketch_of]
        return {s.target: Placed(rows[s.view].ids, s.codes(s.points(rows[s.view].rows))) for s in sketches}

    def probe(
        self, view: str, rows: NDArray[np.float32], names: Sequence[str] = (), *, items: bool = False
    ) -> dict[Target, Vectors]:
        """Return the vectors of queries, or of ``items``, by target, from raw rows of the query view, shape (n, d).

        Raises the errors of ``targets_for``, and InvalidInputError for a row too far from the training rows.
        """
        targets = self.targets_for(view, names)
        by_metric = {target.metric: values for target, values in self._vectors(view, rows, queries=not items).items()}
        if not self.binary and any(map(out_of_reach, by_metric.values())):
            raise InvalidInputError(
                f"the vector of a row of view {view!r} in space {self.name!r} is too large for distances in float32: "
                "the row is far outside the training rows; check its scale"
            )
        return {target: by_metric[target.metric] for target in targets}

    def _vectors(self, view: str, rows: NDArray[np.float32], queries: bool = False) -> dict[Target, Vectors]:
        """Return the vectors of a view's rows, as items or as queries, by target of the view."""
        return self._embedded(view, rows, queries)[1]

    def _embedded(
        self, view: str, rows: NDArray[np.float32], queries: bool = False
    ) -> tuple[NDArray[np.float32], dict[Target, Vectors]]:
        """Return the embeddings of a view's rows, as items or as queries, and their vectors for indexes."""
        position, targets = self.views.index(view), self.targets_of(view)
        if self.rerank:
            codes, floats = codes_and_vectors(self.pipeline, rows, position, queries)
            return codes, {targets[0]: with_floats(np.packbits(codes > 0, axis=1), floats)}
        embedded = vectors(self.pipeline, rows, position, queries)
        parts = [embedded]
        if len(targets) > 1:
            parts = np.split(embedded, np.cumsum([target.dim for target in targets])[:-1], axis=1)
        return embedded, {
            target: np.packbits(columns > 0, axis=1) if target.codes else np.ascontiguousarray(columns)
            for target, columns in zip(targets, parts, strict=True)
        }

    def check(self, dims: Mapping[str, int]) -> None:
        """Raise an error, of any class, if the learners do not fit the dimension of each view, or each other."""
        for view, dim in dims.items():
            self.sketched({view: ViewRows(np.zeros(1, np.int64), np.ones((1, dim), np.float32))})
            with np.errstate(all="ignore"):
                by_target = self._vectors(view, np.ones((1, dim), np.float32), queries=True)
            for target, rows in by_target.items():
                if len(self.empty_index(target).changed((), (1,), rows)) != 1:
                    raise ValueError(f"target {target} does not fit its vectors")

    def empty_index(self, target: Target, spec: IndexSpec | None = None) -> Index:
        """Return an empty index for the vectors of a target [default: of the kind that suits the vectors]."""
        if spec is None and target.hidden:
            spec = IndexSpec("binary-flat")
        spec = spec or self.index or suitable_index(self.binary, self.rerank)
        return spec.empty(target.dim, target.floats) if target.floats else spec.empty(target.dim)

    def index_of(self, target: Target, rows: ViewRows, labels: Mapping[int, Sequence[str]] = _NO_LABELS) -> Index:
        """Return a new index of a target over the rows of some items; ``labels`` as in ``place``."""
        placed = self.place({target.view: rows}, labels)[target]
        return self.empty_index(target).changed((), placed.ids, placed.vectors)

    def outdated(self, views: Sequence[ViewRecord]) -> ViewRecord | None:
        """Return a view that has been fitted again since the training; None if there is none."""
        return next((view for view in views if self.revisions.get(view.name, view.revision) != view.revision), None)

    def check_revisions(self, views: Sequence[ViewRecord]) -> None:
        """Raise NotReadyError if a view has been fitted again since the training."""
        if (view := self.outdated(views)) is not None:
            raise NotReadyError(
                f"space {self.name!r} was trained on revision {self.revisions[view.name]} of view {view.name!r}, "
                f"which is now at revision {view.revision}: train the space again"
            )

    def own_generation(self, view: str) -> int:
        """Return the number under which the catalog stores data of this generation; each raw view has its own."""
        return self.revisions[view] if self.name == RAW else self.generation

    def summary(self) -> dict[str, Any]:
        """Return the description for the catalog, as JSON values, so that ``show`` need not read the state."""
        return self.to_json() | {
            "targets": [str(target) for target in self.targets],
            "cross_view": self.cross_view,
            "dim": {str(target): target.dim for target in self.targets},
            "trained_items": len(self.training_keys),
            "pairs": len(self.pairs),
            "constraints": self.constraint_counts and asdict(self.constraint_counts),
            "binary": self.binary,
            "axes": self.axes,
            "described": self.pipeline.described_classes(),
            "taxonomy": {} if self.taxonomy is None else dict(self.taxonomy.parents),
        }

    def to_state(self) -> bytes:
        """Return the bytes from which ``from_state`` restores the space."""
        index = self.index or suitable_index(self.binary, self.rerank)
        return state.pack(self.to_json() | self._fitted_parts() | {"index": asdict(index)})

    def _fitted_parts(self) -> dict[str, Any]:
        """Return what the state has besides the description and the kind of index, as ``restored_values`` reads it."""
        return {
            "revisions": dict(self.revisions),
            "pipeline": self.pipeline.to_state(),
            "training_keys": self.trained,
            "pairs": self.pairs,
            "constraints": None if self.constraints is None else self.constraints.to_state(),
            "constraint_counts": self.constraint_counts and asdict(self.constraint_counts),
            "taxonomy": self.taxonomy and list(self.taxonomy.parents.items()),
            "group_by": self.group_by and [self.group_by.name, list(self.group_by.groups.items())],
            "scales": [vars(scale) for scale in self.scales],
            "sketches": [{f.name: getattr(sketch, f.name) for f in fields(sketch)} for sketch in self.sketches],
            "matches": [vars(match) for match in self.matches],
            "novelties": [{f.name: getattr(novelty, f.name) for f in fields(novelty)} for novelty in self.novelties],
        }

    @classmethod
    def from_state(cls, name: str, generation: int, data: bytes) -> Self:
        """Return the space of a state; values that an earlier version did not store get their defaults.

        Raises NotReadyError if this version of crossview cannot read a learner.
        """
        tree = state.unpack(data)
        return cls.from_json(tree, name=name, generation=generation, **restored_values(name, tree))


def suitable_index(binary: bool, rerank: int) -> IndexSpec:
    """Return the default kind of index for the vectors of a space."""
    if rerank:
        return IndexSpec("reranked", {"factor": rerank})
    return IndexSpec("binary" if binary else "flat")


def raw_space(views: Sequence[ViewRecord]) -> Space:
    """Return the space ``raw`` of the fitted views."""
    fitted = raw_views(views)
    pipeline = build((), [view.name for view in fitted], [parts_of(JoinedView((view,))) for view in fitted])
    if fitted:
        fit(pipeline, [np.zeros((2, view.dim), np.float32) for view in fitted])
    revisions = {view.name: view.revision for view in fitted}
    return Space(
        name=RAW,
        generation=raw_generation(views),
        spec="",
        views=tuple(revisions),
        revisions=revisions,
        pipeline=pipeline,
    )


def restored_values(name: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a named space from its state; values that an earlier version did not store get defaults.

    Raises NotReadyError if this version of crossview cannot read a learner.
    """
    constraints, counts = tree.get("constraints"), tree.get("constraint_counts")
    return {
        "pipeline": _pipeline(name, tree["pipeline"]),
        "trained": _packed(tree["training_keys"]),
        "pairs": tuple((first, second) for first, second in tree.get("pairs", ())),
        "constraints": constraints and ItemComparisons.from_state(constraints),
        "constraint_counts": counts and ConstraintCounts(**counts),
        "taxonomy": (parents := tree.get("taxonomy")) and Taxonomy(dict(parents)),
        "group_by": (grouping := tree.get("group_by")) and Grouping(grouping[0], dict(grouping[1])),
        "index": IndexSpec(**tree["index"]) if "index" in tree else None,
        "scales": tuple(ScoreScale(**scale) for scale in tree.get("scales", ())),
        "sketches": tuple(Sketch(**sketch) for sketch in tree.get("sketches", ())),
        "matches": tuple(Match(**match) for match in tree.get("matches", ())),
        "novelties": tuple(Novelty(**novelty) for novelty in tree.get("novelties", ())),
    }


def _pipeline(name: str, stored: Mapping[str, Any]) -> Chain:
    """Return the learners of a named space; NotReadyError if this version cannot read them."""
    try:
        return cast(Chain, from_state(stored))
    except ValueError as error:
        raise NotReadyError(
            f"space {name!r} was trained by an earlier version, whose learner does not exist any more ({error}): "
            "train it again as ",
            Argument("space", name),
            ", or delete it with: ",
            call("collection.spaces.delete", name),
        ) from error


def _packed(stored: PackedKeys | list[str]) -> PackedKeys:
    """Return the packed keys of a state; earlier versions stored a list."""
    return packed_keys(stored) if isinstance(stored, list) else stored
