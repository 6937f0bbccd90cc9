"""The making of a map: reads the vectors of items batch by batch, places them, and describes the result."""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.random_projection import GaussianRandomProjection

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.maps import MapRecord, Places
from crossview.engine.findings.maps.kept_neighborhoods import kept_neighborhoods
from crossview.engine.findings.maps.plane import LEAST_ITEMS, check_installed, default_method, placed
from crossview.engine.runtime.cancellation import checkpoint, reporting
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.item_vectors import target_of
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.thresholds import training_of
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.map import MapRequest

MOST_BYTES = 1 << 30
"""Maximum memory for vectors; wider ones are projected at random, which nearly keeps distances (Johnson and
Lindenstrauss, 1984)."""
_LONGEST_CONDITION = 10_000
"""Maximum number of characters of the condition of a map."""
_BATCH_BYTES = 1 << 24


class Plan(NamedTuple):
    """A map to make."""

    record: MapRecord
    """Without its figures."""
    space: Space
    target: Target
    ids: NDArray[np.int64]
    """The items that fulfil the condition and have the view, ascending."""
    seed: int
    training: tuple[str, int | None]


def planned(tx: Transaction, space: Space, request: MapRequest, matching: Callable[[], NDArray[np.int64]]) -> Plan:
    """Return the map that a request describes; ``matching`` returns the ids of the items that pass its filter.

    Raises InvalidInputError (condition, target), NotFoundError (view, target), NotReadyError (no items, openTSNE).
    """
    method, condition = request.method or default_method(), "" if request.filter.is_empty else str(request.filter)
    check_installed(method)
    if len(condition) > _LONGEST_CONDITION:
        raise InvalidInputError(
            f"the condition of a map has at most {_LONGEST_CONDITION:,} characters, not {len(condition):,}: choose the "
            "items by an attribute"
        )
    space.check_revisions(tx.views.all())
    view = request.view or _most_common_view(tx, space)
    target = target_of(space, view, request.target)
    ids = np.intersect1d(joined_view(tx, view).ids(tx), matching())
    if not len(ids):
        raise NotReadyError(
            f"no item of collection {tx.name()!r} that fulfils the condition has a row of view {view!r}: index items "
            "first, or change the condition"
        )
    record = MapRecord(
        space=space.name,
        generation=space.own_generation(view),
        view=view,
        target=str(target),
        method=method if len(ids) >= LEAST_ITEMS else "pca",
        condition=condition,
        created=now(),
        summary={},
    )
    return Plan(record, space, target, ids, request.seed, training_of(tx, space))


def made(catalog: Catalog, plan: Plan, progress: Progress | None) -> tuple[MapRecord, Places]:
    """Compute a map; raise NotReadyError if its items or its space are deleted meanwhile."""
    start, say = time.perf_counter(), progress or _silent
    ids, vectors = _vectors(catalog, plan, lambda done: say("reading vectors", done, len(plan.ids)))
    with reporting(lambda done, total: say("placing items", done, total)):
        plane = placed(vectors, plan.record.method, plan.seed)
    say("measuring the map", 0, 1)
    kept = kept_neighborhoods(vectors, plane.points, plan.seed)
    say("measuring the map", 1, 1)
    (left, bottom), (right, top) = plane.points.min(axis=0).tolist(), plane.points.max(axis=0).tolist()
    summary = kept._asdict() | {"seed": plan.seed, "items": len(ids), "explained": plane.explained}
    summary |= {"left": left, "right": right, "bottom": bottom, "top": top}
    summary["seconds"] = round(time.perf_counter() - start, 3)
    return MapRecord(**{**vars(plan.record), "summary": summary}), Places(ids, plane.points)


def stored(tx: Transaction, plan: Plan, record: MapRecord, places: Places) -> MapRecord:
    """Store a map; NotReadyError if its generation was deleted, or its view fitted again, since the map was planned."""
    plan.space.check_revisions(tx.views.all())
    joined_view(tx, record.view)
    if training_of(tx, plan.space) != plan.training:
        raise NotReadyError(
            f"generation {plan.space.generation} of space {record.space!r} was just deleted or restored: compute the "
            "map again"
        )
    return tx.maps.add(record, places)


def _most_common_view(tx: Transaction, space: Space) -> str:
    """Return the view of a space that most items have; of several, the first."""
    if not space.views:
        raise NotReadyError(f"collection {tx.name()!r} has no view with rows: index items first")
    return max(space.views, key=lambda view: len(joined_view(tx, view).ids(tx)))


def _vectors(
    catalog: Catalog, plan: Plan, report: Callable[[int], None]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids, (n,), and the vectors, (n, d), of the items that still exist."""
    found, parts, done = list[NDArray[np.int64]](), list[NDArray[np.float32]](), 0
    width = plan.target.dim
    reduced = None
    if 4 * width * len(plan.ids) > MOST_BYTES:
        reduced = GaussianRandomProjection(max(2, MOST_BYTES // (4 * len(plan.ids))), random_state=plan.seed)
        reduced.fit(np.zeros((1, width), np.float32))
    for ids, vectors in _batches(catalog, plan):
        found.append(ids)
        parts.append(vectors if reduced is None else reduced.transform(vectors).astype(np.float32))
        done += len(ids)
        report(done)
    if not done:
        raise NotReadyError("the items of the map were deleted during its computation: compute it again")
    return np.concatenate(found), np.concatenate(parts)


def _batches(catalog: Catalog, plan: Plan) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    for some in batches(plan.ids.tolist(), 1_000):
        checkpoint()
        with catalog.read() as tx:
            plan.space.check_revisions(tx.views.all())
            ids, rows = joined_view(tx, plan.record.view).rows(tx, some)
        if len(ids):
            probes = plan.space.probe(plan.record.view, rows, [str(plan.target)], items=True)[plan.target]
            if plan.target.codes:
                packed = probes[:, : plan.target.code_bytes].astype(np.uint8)
                probes = np.unpackbits(packed, axis=1, count=plan.target.dim).astype(np.float32)
            yield ids, np.asarray(probes, np.float32)


def _silent(what: str, done: int, total: int, note: str = "") -> None:
    """Report nothing."""
