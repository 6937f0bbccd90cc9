"""The making of a map: reads the vectors of items batch by batch, places them, and describes the result."""

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.random_projection import GaussianRandomProjection

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction, now
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.maps import MapRecord, Places
from crossview.engine.runtime.cancellation import checkpoint, report_progress, reporting
from crossview.engine.runtime.progress import Progress
from crossview.engine.runtime.threads import one_blas_thread
from crossview.engine.spaces.item_vectors import target_of
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.thresholds import training_of
from crossview.engine.values.errors import InvalidInputError, NotReadyError, lacking
from crossview.engine.values.map import MapRequest

LEAST_ITEMS = 10
"""Fewer items have no neighbourhoods to keep: their principal components place them with any method."""
_COMPONENTS, _PERPLEXITY = 50, 30.0
"""Number of principal components that t-SNE reads, and its perplexity (van der Maaten and Hinton, 2008)."""
_EARLY, _LATER, _EXAGGERATION = 250, 500, 12.0
_STEPS_BETWEEN = 10
"""Number of steps between two checks for cancellation."""
NEIGHBORS, SAMPLE = 10, 1_000
_DISTANCES = 1 << 22
"""Maximum number of distances in memory at once."""
MOST_BYTES = 1 << 30
"""Maximum memory for vectors; wider ones are projected at random, which nearly keeps distances (Johnson and
Lindenstrauss, 1984)."""
_LONGEST_CONDITION = 10_000
"""Maximum number of characters of the condition of a map."""
_BATCH_BYTES = 1 << 24


class Plane(NamedTuple):
    """The places of items in a plane."""

    method: str
    """The method that has placed them."""
    points: NDArray[np.float32]
    """(n, 2)"""
    explained: float | None
    """For principal components: share of the variance that the plane explains."""


def default_method() -> str:
    """Return ``tsne`` if openTSNE is installed, otherwise ``pca``."""
    return "pca" if find_spec("openTSNE") is None else "tsne"


def check_installed(method: str) -> None:
    """Raise NotReadyError, which names the extra, if the library of a method is missing."""
    if method == "tsne" and find_spec("openTSNE") is None:
        raise lacking(NotReadyError, "use method pca, because t-SNE needs openTSNE", "map")


def placed(vectors: NDArray[np.float32], method: str, seed: int) -> Plane:
    """Return the places of vectors, (n, d) with n >= 1; equal input and seed give equal places.

    With ``pca``, these are the first two principal components, with zeros for the components that vectors lack. With
    ``tsne`` (openTSNE, Poličar, Stražar and Zupan, 2019), they start from these, and follow the neighbours in the first
    50 components: exact for fewer than 1,000 items, by random trees (Annoy) for more; forces by Barnes-Hut trees for
    fewer than 10,000 items, by interpolation for more (FIt-SNE, Linderman and others, 2019).
    """
    tsne = method == "tsne" and len(vectors) >= LEAST_ITEMS
    with one_blas_thread():  # more threads round differently
        components, explained = _components(vectors, _COMPONENTS if tsne else 2, seed)
    checkpoint()
    if not tsne:
        return Plane("pca", components[:, :2].astype(np.float32), explained)
    points = _by_neighbors(components, seed)
    return Plane("tsne", (points - points.mean(axis=0)).astype(np.float32), None)


def _components(vectors: NDArray[np.float32], count: int, seed: int) -> tuple[NDArray[np.float64], float]:
    """Return at least two principal components of vectors, (n, c), and the share of variance of the first two."""
    if bool((vectors == vectors[0]).all()):
        return np.zeros((len(vectors), 2)), 0.0
    fitted = PCA(min(count, *vectors.shape), random_state=seed)
    components = np.asarray(fitted.fit_transform(vectors), np.float64)
    missing = max(0, 2 - components.shape[1])
    return np.pad(components, ((0, 0), (0, missing))), min(float(fitted.explained_variance_ratio_[:2].sum()), 1.0)


def _by_neighbors(rows: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    from openTSNE import TSNEEmbedding, affinity, initialization

    perplexity = min(_PERPLEXITY, (len(rows) - 1) / 3)
    spread = rows[:, :2] if rows[:, :2].std() > 0 else np.random.default_rng(seed).normal(size=(len(rows), 2))
    method = "exact" if len(rows) < 1_000 else "annoy"
    near = affinity.PerplexityBasedNN(rows, perplexity, method=method, random_state=seed, n_jobs=1)
    checkpoint()
    start = initialization.rescale(spread, inplace=False)
    embedding = TSNEEmbedding(start, near, random_state=seed, n_jobs=1)
    options: dict[str, Any] = {"callbacks_every_iters": _STEPS_BETWEEN, "inplace": True}
    embedding.optimize(_EARLY, exaggeration=_EXAGGERATION, momentum=0.5, callbacks=_checked(0), **options)
    embedding.optimize(_LATER, momentum=0.8, callbacks=_checked(_EARLY), **options)
    return np.asarray(embedding, np.float64)


def _checked(first: int) -> Callable[[int, float, Any], None]:
    """Return a callback that reports the steps of t-SNE, after ``first`` earlier ones, and raises if cancelled."""

    def check(step: int, error: float, embedding: Any) -> None:
        checkpoint()
        report_progress(first + step, _EARLY + _LATER)

    return check


class KeptNeighborhoods(NamedTuple):
    """The figures of a map; see ``engine.values.map.MapInfo``."""

    recall: float | None
    trustworthiness: float | None
    neighbors: int
    measured: int


def kept_neighborhoods(vectors: NDArray[np.float32], points: NDArray[np.float32], seed: int) -> KeptNeighborhoods:
    """Compare the nearest neighbours of vectors, (n, d), with those of their points, (n, 2), for a sample of items.

    For all items, the trustworthiness is that of ``sklearn.manifold.trustworthiness``.
    """
    count = len(vectors)
    k = min(NEIGHBORS, (count - 1) // 2)
    if k < 1:
        return KeptNeighborhoods(None, None, 0, 0)
    sample = np.random.default_rng(seed).permutation(count)[:SAMPLE]
    shared, excess, block = 0, 0, max(1, _DISTANCES // count)
    with one_blas_thread():
        for first in range(0, len(sample), block):
            checkpoint()
            some = sample[first : first + block]
            in_space, in_plane = (_distances(rows.astype(np.float64), some) for rows in (vectors, points))
            near = np.argpartition(in_plane, k - 1, axis=1)[:, :k]
            for place, own in enumerate(near):
                ranks = 1 + (in_space[place] < in_space[place, own, None]).sum(axis=1)
                shared += int((ranks <= k).sum())
                excess += int(np.maximum(ranks - k, 0).sum())
    trust = 1 - 2 * excess / (len(sample) * k * (2 * count - 3 * k - 1))
    return KeptNeighborhoods(shared / (len(sample) * k), trust, k, len(sample))


def _distances(rows: NDArray[np.float64], some: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared distances of some rows, (m,), to all rows, (m, n); infinite to themselves."""
    lengths = np.einsum("nd,nd->n", rows, rows)
    distances: NDArray[np.float64] = lengths[some, None] + lengths - 2 * rows[some] @ rows.T
    distances[np.arange(len(some)), some] = np.inf
    return distances


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
    neighborhoods = kept_neighborhoods(vectors, plane.points, plan.seed)
    say("measuring the map", 1, 1)
    (left, bottom), (right, top) = plane.points.min(axis=0).tolist(), plane.points.max(axis=0).tolist()
    summary = neighborhoods._asdict() | {"seed": plan.seed, "items": len(ids), "explained": plane.explained}
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
    id_parts, vector_parts, done = list[NDArray[np.int64]](), list[NDArray[np.float32]](), 0
    width = plan.target.dim
    reduced = None
    if 4 * width * len(plan.ids) > MOST_BYTES:
        reduced = GaussianRandomProjection(max(2, MOST_BYTES // (4 * len(plan.ids))), random_state=plan.seed)
        reduced.fit(np.zeros((1, width), np.float32))
    for ids, vectors in _batches(catalog, plan):
        id_parts.append(ids)
        vector_parts.append(vectors if reduced is None else reduced.transform(vectors).astype(np.float32))
        done += len(ids)
        report(done)
    if not done:
        raise NotReadyError("the items of the map were deleted during its computation: compute it again")
    return np.concatenate(id_parts), np.concatenate(vector_parts)


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
