"""Spaces: fitted once, at a revision, from training keys they remember; then they only place and probe."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog import state
from crossview.engine.catalog.description import RAW, raw_generation, raw_views
from crossview.engine.catalog.joined import JOINT, JoinedView
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.values import out_of_reach
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.comparisons import ItemComparisons
from crossview.engine.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.info import ConstraintCounts, SpaceDescription
from crossview.engine.learners.chain import Chain
from crossview.engine.learners.comparisons import Taxonomy
from crossview.engine.learners.registry import from_state
from crossview.engine.recipe import Grouping
from crossview.engine.spaces.parts import parts_of
from crossview.engine.spaces.pipeline import (
    build,
    class_of,
    codes_and_vectors,
    fit,
    metrics_of_items,
    targets_of_view,
    vectors,
)
from crossview.engine.spaces.scores import Axes, ScoreScale
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.training_keys import NO_KEYS, PackedKeys, packed_keys, unpacked_keys
from crossview.index.base import Index
from crossview.index.registry import IndexSpec
from crossview.index.reranked import with_floats

Vectors = NDArray[np.float32] | NDArray[np.uint8]
"""What an index holds: float vectors, (n, D), or codes packed by ``np.packbits``, (n, ceil(bits / 8)); behind these the
bytes of their float vectors where searches are re-ranked."""
_NO_LABELS: Mapping[int, Sequence[str]] = {}


class Placed(NamedTuple):
    """Vectors of one target."""

    ids: NDArray[np.int64]
    vectors: Vectors


@dataclass(frozen=True, kw_only=True)
class Space(SpaceDescription):
    """A fitted pipeline over declared input views, with one target per view, or one for each metric of a view."""

    revisions: Mapping[str, int]
    """The revision of each view, or part of one, that it was fitted on; rows of another mean something else."""
    pipeline: Chain
    trained: PackedKeys = field(default_factory=lambda: NO_KEYS, compare=False)
    """The keys of the items that it was trained on, packed."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Keys of similar items that it learned from; none where it went by labels or neighbours."""
    constraints: ItemComparisons | None = None
    """Comparisons that it was given to learn from."""
    constraint_counts: ConstraintCounts | None = None
    taxonomy: Taxonomy | None = None
    """The tree of its labels, where it learned from one."""
    group_by: Grouping | None = None
    """Items that its training did not part, which an evaluation that fits it again does not part either."""
    index: IndexSpec | None = None
    """What holds the vectors of its targets; None: what suits them."""
    scales: tuple[ScoreScale, ...] = ()
    """Of the scores in each view; none where the learner names no attributes."""

    @cached_property
    def training_keys(self) -> frozenset[str]:
        """The keys of the items that it was trained on."""
        return unpacked_keys(self.trained)

    @cached_property
    def binary(self) -> bool:
        """Whether its vectors are codes."""
        return self.pipeline.capabilities.binary

    @cached_property
    def cross_view(self) -> bool:
        """Whether a query of one view may be matched against the vectors of another."""
        return self.pipeline.capabilities.cross_view

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The attributes that its vectors are scores of, by name; none where it has none."""
        return tuple(self.pipeline.names_) if self.scales else ()

    def axes_of(self, target: Target) -> Axes:
        """Return the axes of a target, where it has some."""
        return Axes(self.axes, self.scales[self.views.index(target.view)])

    def probe_classes(self, view: str, classes: Sequence[str], names: Sequence[str] = ()) -> dict[Target, Vectors]:
        """Return, by target, where classes lie among its vectors, (n, D), also those that orderings alone describe.

        Raises what ``targets_for`` does, and InvalidInputError for a class that the learner does not know.
        """
        try:
            return {
                target: np.stack(
                    [self.pipeline.place_of_class(one, self.views.index(target.view)) for one in classes]
                ).astype(np.float32)
                for target in self.targets_for(view, names)
            }
        except ValueError as error:
            raise InvalidInputError(f"space {self.name!r} cannot be searched by a class: {error}") from error

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """What queries can be matched against, in the order of the views."""
        return tuple(
            target
            for position, view in enumerate(self.views)
            for target in targets_of_view(self.pipeline, view, position, bool(self.rerank))
        )

    def targets_of(self, view: str) -> tuple[Target, ...]:
        """Return the targets of a view's rows."""
        return self._of_view.get(view, ())

    @cached_property
    def _of_view(self) -> dict[str, tuple[Target, ...]]:
        return {view: tuple(target for target in self.targets if target.view == view) for view in self.views}

    def targets_for(self, view: str, names: Sequence[str] = ()) -> tuple[Target, ...]:
        """Return the targets of these names that queries of a view are matched against; of none, all that they can be.

        Raises NotFoundError for an unknown view or target, InvalidInputError where one cannot query the other.
        """
        chosen = self._chosen.get((view, tuple(names)))
        if chosen is None:
            chosen = self._chosen[view, tuple(names)] = self._choice(view, names)
        return chosen

    @cached_property
    def _chosen(self) -> dict[tuple[str, tuple[str, ...]], tuple[Target, ...]]:
        """What ``targets_for`` has returned."""
        return {}

    def _choice(self, view: str, names: Sequence[str]) -> tuple[Target, ...]:
        if view not in self.views:
            raise NotFoundError(self._no_view(view))
        chosen = [self._target(view, name) for name in names]
        if not self.cross_view and (crossing := [target for target in chosen if target.view != view]):
            raise InvalidInputError(
                f"space {self.name!r} answers within a view only, not {view} to {crossing[0]}: "
                "train a cross-view learner such as hybrid, multi-npp or cca"
            )
        return tuple(chosen) or (self.targets if self.cross_view else self.targets_of(view))

    def _target(self, view: str, name: str) -> Target:
        """Return the target that a string names for queries of a view: in full, or by a notion that only one has."""
        known = {str(target): target for target in self.targets}
        if name in known:
            return known[name]
        found = [target for target in self.targets if name and name == target.name]
        found = [target for target in found if self.cross_view or target.view == view] or found
        if not found:
            raise NotFoundError(f"space {self.name!r} has no target {name!r}; there are: {', '.join(known)}")
        if len(found) > 1:
            names = " or ".join(map(str, found))
            raise InvalidInputError(f"space {self.name!r} has {name!r} in several views: name one in full, {names}")
        return found[0]

    def _no_view(self, view: str) -> str:
        known = f"space {self.name!r} has no view {view!r}; there are: {', '.join(self.views)}"
        if self.name != RAW or JOINT not in view:
            return known
        return (
            f"{known}. How the parts of a joined view are scaled is learned, and {RAW!r} learns nothing: "
            f"train a space, such as with: `spec='scale'` `views=[{view!r}]`"
        )

    def place(
        self, rows: Mapping[str, ViewRows], labels: Mapping[int, Sequence[str]] = _NO_LABELS
    ) -> dict[Target, Placed]:
        """Return, by target, the vectors of items from their raw rows by view.

        Where a view has several metrics, ``labels``, by id, decide under which an item is indexed: the metric of their
        class, or where their class has none that of the class that its row seems to be of; every one where the learner
        cannot tell.
        """
        placed = {}
        for view, (ids, values) in rows.items():
            position = self.views.index(view)
            classes = [class_of(labels.get(item, ())) for item in ids.tolist()]
            embedded, by_target = self._embedded(view, values)
            indexed = metrics_of_items(self.pipeline, classes, position, embedded)
            for target, found in by_target.items():
                under_target = indexed[:, target.metric]
                placed[target] = Placed(ids[under_target], found[under_target])
        return placed

    def probe(
        self, view: str, rows: NDArray[np.float32], names: Sequence[str] = (), *, items: bool = False
    ) -> dict[Target, Vectors]:
        """Return, by target, the vectors of queries, or of ``items``, from raw rows of the query view, shape (n, d).

        Raises what ``targets_for`` does, and InvalidInputError where a row is too far from those of the training.
        """
        chosen = self.targets_for(view, names)
        by_metric = {target.metric: found for target, found in self._vectors(view, rows, queries=not items).items()}
        if not self.binary and any(map(out_of_reach, by_metric.values())):
            raise InvalidInputError(
                f"space {self.name!r} makes numbers too large for distances in float32 of a row of view {view!r}: "
                "the row is far outside those that the space was trained on"
            )
        return {target: by_metric[target.metric] for target in chosen}

    def _vectors(self, view: str, rows: NDArray[np.float32], queries: bool = False) -> dict[Target, Vectors]:
        """Return the vectors of a view's rows, as items or as queries, by each of its targets."""
        return self._embedded(view, rows, queries)[1]

    def _embedded(
        self, view: str, rows: NDArray[np.float32], queries: bool = False
    ) -> tuple[NDArray[np.float32], dict[Target, Vectors]]:
        """Return the embeddings of a view's rows, as items or as queries, and what indexes of its targets hold."""
        position, targets = self.views.index(view), self.targets_of(view)
        if self.rerank:
            codes, floats = codes_and_vectors(self.pipeline, rows, position, queries)
            return codes, {targets[0]: with_floats(np.packbits(codes > 0, axis=1), floats)}
        embedded = vectors(self.pipeline, rows, position, queries)
        found = [embedded]
        if len(targets) > 1:
            found = np.split(embedded, np.cumsum([target.dim for target in targets])[:-1], axis=1)
        return embedded, {
            target: np.packbits(columns > 0, axis=1) if target.codes else np.ascontiguousarray(columns)
            for target, columns in zip(targets, found, strict=True)
        }

    def check(self, dims: Mapping[str, int]) -> None:
        """Raise whatever is raised where the learners do not fit the dimension of each view, or each other."""
        for view, dim in dims.items():
            with np.errstate(all="ignore"):
                found = self._vectors(view, np.ones((1, dim), np.float32), queries=True)
            for target, made in found.items():
                if len(self.empty_index(target).changed((), (1,), made)) != 1:
                    raise ValueError(f"target {target} does not hold its vectors")

    def empty_index(self, target: Target) -> Index:
        """Return an index for the vectors of a target."""
        spec = self.index or suitable_index(self.binary, self.rerank)
        return spec.empty(target.dim, target.floats) if target.floats else spec.empty(target.dim)

    def outdated(self, views: Sequence[ViewRecord]) -> ViewRecord | None:
        """Return a view that was fitted again since, if there is one."""
        return next((view for view in views if self.revisions.get(view.name, view.revision) != view.revision), None)

    def check_revisions(self, views: Sequence[ViewRecord]) -> None:
        """Raise NotReadyError if a view was fitted again since."""
        if (view := self.outdated(views)) is not None:
            raise NotReadyError(
                f"space {self.name!r} was trained on revision {self.revisions[view.name]} of view {view.name!r}, "
                f"which is now at {view.revision}: train it again"
            )

    def own_generation(self, view: str) -> int:
        """Return the number under which is kept what belongs to this generation: of the raw views each has its own."""
        return self.revisions[view] if self.name == RAW else self.generation

    def summary(self) -> dict[str, Any]:
        """Return what the catalog states of a generation without reading its state, as JSON values."""
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
        """Return everything that is needed to place and probe again."""
        return state.pack(
            self.to_json()
            | {
                "revisions": dict(self.revisions),
                "pipeline": self.pipeline.to_state(),
                "training_keys": self.trained,
                "pairs": self.pairs,
                "constraints": None if self.constraints is None else self.constraints.to_state(),
                "constraint_counts": self.constraint_counts and asdict(self.constraint_counts),
                "taxonomy": self.taxonomy and list(self.taxonomy.parents.items()),
                "group_by": self.group_by and [self.group_by.name, list(self.group_by.groups.items())],
                "index": asdict(self.index or suitable_index(self.binary, self.rerank)),
                "scales": [vars(scale) for scale in self.scales],
            }
        )

    @classmethod
    def from_state(cls, name: str, generation: int, data: bytes) -> Self:
        """Return the space that ``to_state`` described; what an earlier version did not store has its default.

        Raises NotReadyError where a learner has changed so that it cannot be read.
        """
        tree = state.unpack(data)
        constraints, counts = tree.get("constraints"), tree.get("constraint_counts")
        return cls.from_json(
            tree,
            name=name,
            generation=generation,
            pipeline=_pipeline(name, tree["pipeline"]),
            trained=_packed(tree["training_keys"]),
            pairs=tuple((first, second) for first, second in tree.get("pairs", ())),
            constraints=constraints and ItemComparisons.from_state(constraints),
            constraint_counts=counts and ConstraintCounts(**counts),
            taxonomy=(found := tree.get("taxonomy")) and Taxonomy(dict(found)),
            group_by=_grouping(tree.get("group_by")),
            index=IndexSpec(**tree["index"]) if "index" in tree else None,
            scales=tuple(ScoreScale(**scale) for scale in tree.get("scales", ())),
        )


def _pipeline(name: str, stored: Mapping[str, Any]) -> Chain:
    """Return the learners of a space of some name; NotReadyError where they are of an earlier kind."""
    try:
        found: Chain = from_state(stored)
    except ValueError as error:
        raise NotReadyError(
            f"space {name!r} was trained by an earlier version, whose learner is no more ({error}): "
            f"train it again as `space={name!r}`, or delete it with: `collection.spaces.delete({name!r})`"
        ) from error
    return found


def _packed(stored: PackedKeys | list[str]) -> PackedKeys:
    """Return the packed keys of a state; earlier versions stored a list."""
    return packed_keys(stored) if isinstance(stored, list) else stored


def _grouping(stored: tuple[str, Sequence[tuple[str, str]]] | None) -> Grouping | None:
    return stored and Grouping(stored[0], dict(stored[1]))


def suitable_index(binary: bool, rerank: int) -> IndexSpec:
    """Return which index holds the vectors of a space that names none."""
    if rerank:
        return IndexSpec("reranked", {"factor": rerank})
    return IndexSpec("binary" if binary else "flat")


def raw_space(views: Sequence[ViewRecord]) -> Space:
    """Return the space of the fitted views themselves."""
    fitted = raw_views(views)
    pipeline = build("", [view.name for view in fitted], [parts_of(JoinedView((view,))) for view in fitted])
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
