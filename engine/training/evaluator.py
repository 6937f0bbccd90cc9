"""Evaluation: how well a space retrieves items of the query's class, on queries that it was not trained on."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from engine.catalog import state
from engine.catalog.catalog import Transaction
from engine.catalog.joined import joined_view
from engine.errors import InvalidInputError, NotReadyError
from engine.evaluation import Evaluation, EvaluationRequest
from engine.learners.cancellation import checkpoint
from engine.learners.chain import Chain
from engine.spaces.parts import parts_of
from engine.spaces.pipeline import build, codes_and_vectors, distances, metrics_of_items, vectors
from engine.spaces.space import Space
from engine.spaces.target import view_of
from engine.training import measures
from engine.training.division import Division, divide
from engine.training.estimate import Estimate, Figures, Key, Sample, differences, rows
from engine.training.examples import Examples, examples
from engine.training.learning import fit_added_views, learn
from engine.training.supervision import count_constraints, with_supervision
from features.registry import EXTRACTORS

_QUERIES_AT_ONCE = 256


def evaluate(tx: Transaction, spaces: Sequence[Space], request: EvaluationRequest) -> Evaluation:
    """Measure spaces on the same queries and database; see ``Collection.evaluate``."""
    began = time.monotonic()
    view, targets, ks, refit = request.view, request.targets, request.k, request.refit
    if not ks or min(ks) < 1:
        raise InvalidInputError(f"every k must be at least 1, not {', '.join(map(str, ks)) or 'none at all'}")
    target_views = _target_views(spaces, view, targets)
    compared = [space for space in spaces if target_views[space.name]]
    views = {}
    for space in compared:  # to be fitted again, a space needs all its views
        measured_views = (view, *target_views[space.name])
        views[space.name] = [name for name in space.views if name in measured_views or (space.spec and refit)]
    searched = list(dict.fromkeys(chain(*views.values())))
    division = divide(tx, compared, searched, refit, request.test_size, request.seed)
    measured: dict[str, Figures] = {}
    items: dict[str, Examples] = {}
    notes = [f"{space.name} answers within a view only" for space in spaces if space not in compared]
    for space in compared:
        trial = _trial(tx, space, views[space.name], division, refit)
        found = {target: _having(trial.database, target, "to be found") for target in target_views[space.name]}
        queries = _having(trial.queries, view, "that queries")
        measured[space.name] = {
            key: estimate
            for target, of_target in found.items()
            for key, estimate in _measure(trial, (view, queries), (target, of_target), ks)
        }
        items |= found
        prefix = f"{space.name}: " if len(spaces) > 1 else ""
        notes += [prefix + note for note in (_ranking_note(space, ks), trial.note) if note]
    counts = {target: len(of_target) for target, of_target in items.items()}
    if len(set(counts.values())) > 1:
        notes.insert(0, "items to find by view: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return Evaluation(
        rows=rows(view, measured),
        queries=len(queries),
        database=len(np.unique(np.concatenate([of_target.ids for of_target in items.values()]))),
        protocol="; ".join([division.protocol, *notes]),
        codebook=codebooks(tx, {view, *items}, set(queries.keys)),
        seconds=time.monotonic() - began,
        differences=differences(view, measured),
    )


def _target_views(spaces: Sequence[Space], view: str, targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, by space, the views to find items in: of several spaces, what each can match with the query view.

    Raises NotFoundError for unknown views and targets, InvalidInputError where no space can match them.
    """
    found = {}
    for space in spaces:
        names = [target for target in targets if space.cross_view or view_of(target) == view]
        matched = space.targets_for(view, names)
        found[space.name] = tuple(dict.fromkeys(target.view for target in matched)) if names or not targets else ()
    if not any(found.values()):
        spaces[0].targets_for(view, targets)
    return found


class _Trial(NamedTuple):
    """One space to be measured, perhaps fitted anew, with the items of a division that have a view that takes part."""

    space: Space
    pipeline: Chain
    queries: Examples
    database: Examples
    note: str
    """What it was learned from, where that was comparisons."""


def _trial(tx: Transaction, space: Space, views: Sequence[str], division: Division, refit: bool) -> _Trial:
    everything = examples(tx, views)
    queries, database = everything.of_ids(division.queries), everything.of_ids(division.database)
    pipeline, counts = space.pipeline, space.constraint_counts
    if refit and space.spec:
        # Labels are not all that is learned from where comparisons were given.
        known = database if space.constraints is None else everything.without(queries)
        training = with_supervision(known, space.pairs, space.constraints)
        counts = count_constraints(space.constraints, training, queries)
        pipeline = _refitted(tx, space, training)
    else:
        space.check_revisions(tx.views.all())
    return _Trial(space, pipeline, queries, database, "" if counts is None else counts.sentence())


def _having(items: Examples, view: str, what: str) -> Examples:
    """Return the items that have a view; NotReadyError if none has."""
    found = items.seen_in(view)
    if not len(found):
        raise NotReadyError(f"no item {what} has view {view!r}")
    return found


def _refitted(tx: Transaction, space: Space, training: Examples) -> Chain:
    """Learn again what the space learned, from other items: first its first views together, then those added later."""
    parts = [parts_of(joined_view(tx, name)) for name in space.views]
    first = len(space.views) - len(space.added)
    pipeline = build(space.spec, space.views[:first], parts[:first], space.settings, None, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return fit_added_views(pipeline, training, parts[first:])


def _measure(
    trial: _Trial, queries: tuple[str, Examples], database: tuple[str, Examples], ks: Sequence[int]
) -> Iterator[tuple[Key, Estimate]]:
    """Yield the estimates of one target by key; queries and database are each a view, and items that have it."""
    labels = [items.labels for _, items in (queries, database)]
    classes = sorted({label for of_item in chain(*labels) for label in of_item})
    query_members, item_members = (measures.members(one, classes) for one in labels)
    found: dict[tuple[str, int | None], list[NDArray[Any]]] = defaultdict(list)
    for part, order, lengths in _orders(trial, queries, database, ks):
        ranked = measures.relevance(order, query_members[part], item_members)
        for k in lengths:
            found["accuracy", k].append(measures.knn_correct(order, query_members[part], item_members, k))
            found["precision", k].append(measures.precision_at_k(ranked, k))
        if max(ks) in lengths:
            found["map", None].append(measures.average_precision(ranked))
    for (metric, k_or_none), values in found.items():
        key = database[0], metric, k_or_none
        yield key, Estimate([Sample(np.concatenate(values).astype(np.float64))])


def _orders(
    trial: _Trial, queries: tuple[str, Examples], database: tuple[str, Examples], ks: Sequence[int]
) -> Iterator[tuple[slice, NDArray[np.intp], Sequence[int]]]:
    """Yield rankings of the database, for some queries at a time and hit lists of these lengths."""
    space, random = trial.space, np.random.default_rng(0)
    raw = [(items.rows[view], space.views.index(view)) for view, items in (queries, database)]
    if space.rerank:
        (probes, probe_floats), (placed, placed_floats) = (codes_and_vectors(trial.pipeline, *one) for one in raw)
    else:
        probes, placed = (vectors(trial.pipeline, *one) for one in raw)
    metrics = metrics_of_items(trial.pipeline, database[1].classes(), space.views.index(database[0]))
    for start in range(0, len(probes), _QUERIES_AT_ONCE):
        checkpoint()
        part = slice(start, start + _QUERIES_AT_ONCE)
        order = measures.ranking(distances(probes[part], placed, metrics), random)
        if not space.rerank:
            yield part, order, ks
            continue
        exact = cdist(probe_floats[part], placed_floats)
        for k in ks:
            yield part, measures.reranked(order, exact, space.rerank * k), [k]


def _ranking_note(space: Space, ks: Sequence[int]) -> str:
    """Return how codes are ranked; "" for vectors."""
    if not space.binary:
        return ""
    sentence = "codes that differ in equally many bits rank by chance"
    order = f"the {space.rerank} x k nearest are put in the order of their float vectors, for map k = {max(ks)}"
    return f"{sentence}; {order}" if space.rerank else sentence


def codebooks(tx: Transaction, names: Iterable[str], queries: set[str], what: str = "queries") -> str:
    """Return what fitted views were fitted on, and how many of the queries, by their keys, were among that."""
    sentences = []
    parts = {part.name: part for name in names for part in joined_view(tx, name).parts}
    for view in [parts[name] for name in sorted(parts)]:
        packed = tx.views.state(view, view.revision)
        if packed is None:
            continue
        fitted = state.unpack(packed)
        known = fitted["keys"]
        seen = "which ones is not known" if known is None else f"{len(queries & set(known))} {what} among them"
        labels = "any labels they had" if EXTRACTORS[view.extractor].learns_labels else "no labels"
        sentences.append(
            f"{view.name}: revision {view.revision}, fitted with {labels} on "
            f"{fitted['pictures']} {fitted.get('kind', 'pictures')}, {seen}"
        )
    return "; ".join(sentences) or "no view that takes part has a codebook"
