"""Evaluation: how well a space retrieves items of the query's class, on queries that it was not trained on."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from engine.catalog import state
from engine.catalog.catalog import Transaction
from engine.catalog.extractors import find_view
from engine.errors import InvalidInputError, NotReadyError
from engine.info import Evaluation
from engine.learners.cancellation import checkpoint
from engine.learners.chain import Chain
from engine.spaces.pipeline import build, codes_and_vectors, distances, metrics_of_items, vectors
from engine.spaces.space import Space
from engine.spaces.target import view_of
from engine.training.division import Division, divide
from engine.training.estimate import Estimate, Sample
from engine.training.examples import Examples, examples
from engine.training.figures import Figures, differences, rows
from engine.training.learning import learn, learn_later
from engine.training.measures import (
    average_precision,
    knn_correct,
    members,
    precision_at_k,
    ranking,
    relevance,
    reranked,
)
from engine.training.neighborhoods import count_constraints, told
from engine.training.trainer import own_steps
from features import EXTRACTORS

_QUERIES_AT_ONCE = 256

_Rows = tuple[NDArray[np.float32], int]
"""Raw rows, and the position of their view."""


def evaluate(
    tx: Transaction,
    spaces: Sequence[Space],
    view: str,
    targets: Sequence[str],
    ks: Sequence[int],
    refit: bool,
    test_size: float,
    seed: int,
) -> Evaluation:
    """Measure spaces on the same queries and database; see ``Collection.evaluate``."""
    began = time.monotonic()
    if not ks or min(ks) < 1:
        raise InvalidInputError(f"every k must be at least 1, not {', '.join(map(str, ks)) or 'none at all'}")
    asked = _asked(spaces, view, targets)
    parts = {space.name: _parts(space, (view, *asked[space.name]), refit) for space in spaces if asked[space.name]}
    able = [space for space in spaces if space.name in parts]
    division = divide(tx, able, list(dict.fromkeys(chain(*parts.values()))), refit, test_size, seed)
    measured: dict[str, Figures] = {}
    notes = [f"{space.name} answers within a view only" for space in spaces if space.name not in parts]
    found: dict[str, Examples] = {}
    for space in able:
        trial = _trial(tx, space, parts[space.name], division, refit)
        items = {target: _having(trial.database, target, "to be found") for target in asked[space.name]}
        queries = _having(trial.queries, view, "that queries")
        measured[space.name] = {
            key: figure
            for target, those in items.items()
            for key, figure in _measure(space, trial.pipeline, queries, those, view, target, ks)
        }
        found |= items
        named = f"{space.name}: " if len(spaces) > 1 else ""
        notes += [named + note for note in (_ties(space, ks), trial.note) if note]
    return Evaluation(
        rows(view, measured),
        len(queries),
        len(np.unique(np.concatenate([those.ids for those in found.values()]))),
        "; ".join([division.protocol, *_incomplete(found), *notes]),
        codebooks(tx, {view, *found}, set(queries.keys)),
        time.monotonic() - began,
        differences(view, measured),
    )


def _asked(spaces: Sequence[Space], view: str, targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, by space, the views to find items in: of several spaces, what each can match with the query view.

    Raises NotFoundError for unknown views and targets, InvalidInputError where no space can match them.
    """
    found = {}
    for space in spaces:
        mine = [target for target in targets if space.cross_view or view_of(target) == view]
        matched = space.targets_for(view, mine)
        found[space.name] = tuple(dict.fromkeys(target.view for target in matched)) if mine or not targets else ()
    if not any(found.values()):
        spaces[0].targets_for(view, targets)
    return found


def _parts(space: Space, asked: Sequence[str], refit: bool) -> list[str]:
    """Return the views that take part, in the order of the space's."""
    return [name for name in space.views if name in asked or (space.spec and refit)]


class _Trial(NamedTuple):
    """One space to be measured, perhaps fitted anew, with the items of a division that have a view that takes part."""

    pipeline: Chain
    queries: Examples
    database: Examples
    note: str
    """What it was learned from, where that was comparisons."""


def _trial(tx: Transaction, space: Space, parts: Sequence[str], division: Division, refit: bool) -> _Trial:
    everything = examples(tx, parts)
    queries, database = everything.of_ids(division.queries), everything.of_ids(division.database)
    pipeline, counts = space.pipeline, space.constraint_counts
    if refit and space.spec:
        # Labels are not all that is learned from where comparisons were given.
        known = database if space.constraints is None else everything.without(queries)
        training = told(known, space.pairs, space.constraints)
        counts = count_constraints(space.constraints, training, queries)
        pipeline = _refitted(tx, space, training)
    else:
        space.check_revisions(tx.views.all())
    return _Trial(pipeline, queries, database, "" if counts is None else counts.sentence())


def _having(items: Examples, view: str, what: str) -> Examples:
    """Return the items that have a view; NotReadyError if none has."""
    found = items.seen_in(view)
    if not len(found):
        raise NotReadyError(f"no item {what} has view {view!r}")
    return found


def _incomplete(items: Mapping[str, Examples]) -> list[str]:
    """Say how many items each target holds where they differ."""
    if len({len(those) for those in items.values()}) < 2:
        return []
    return ["items to find by view: " + ", ".join(f"{len(those)} {target}" for target, those in items.items())]


def _refitted(tx: Transaction, space: Space, training: Examples) -> Chain:
    """Learn again what the space learned, from other items: first its first views together, then those added later."""
    steps = own_steps([find_view(tx, name) for name in space.views])
    first = len(space.views) - len(space.added)
    pipeline = build(space.spec, space.views[:first], steps[:first], space.settings, None, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return learn_later(pipeline, training, steps[first:])


def _measure(
    space: Space, pipeline: Chain, queries: Examples, database: Examples, view: str, target: str, ks: Sequence[int]
) -> Iterator[tuple[tuple[str, str, int | None], Estimate]]:
    """Yield the estimates of one target by (target, metric, k)."""
    classes = sorted({label for labels in (*queries.labels, *database.labels) for label in labels})
    wanted, there = members(queries.labels, classes), members(database.labels, classes)
    found: dict[tuple[str, int | None], list[NDArray[Any]]] = defaultdict(list)
    asked, stored = ((of.rows[name], space.views.index(name)) for of, name in ((queries, view), (database, target)))
    metrics = metrics_of_items(pipeline, database.classes(), space.views.index(target))
    for part, order, lengths in _orders(pipeline, space.rerank, asked, stored, metrics, ks):
        ranked = relevance(order, wanted[part], there)
        for k in lengths:
            found["accuracy", k].append(knn_correct(order, wanted[part], there, k))
            found["precision", k].append(precision_at_k(ranked, k))
        if max(ks) in lengths:
            found["map", None].append(average_precision(ranked))
    for (metric, k_or_none), values in found.items():
        yield (target, metric, k_or_none), Estimate([Sample(np.concatenate(values).astype(np.float64))])


def _orders(
    pipeline: Chain, rerank: int, asked: _Rows, stored: _Rows, metrics: NDArray[np.bool_], ks: Sequence[int]
) -> Iterator[tuple[slice, NDArray[np.intp], Sequence[int]]]:
    """Yield rankings of the stored rows, for some queries at a time and hit lists of these lengths.

    ``metrics`` are those that each stored row is indexed under.
    """
    random = np.random.default_rng(0)
    if rerank:
        probes, probe_floats = codes_and_vectors(pipeline, *asked)
        placed, placed_floats = codes_and_vectors(pipeline, *stored)
    else:
        probes, placed = vectors(pipeline, *asked), vectors(pipeline, *stored)
    for start in range(0, len(probes), _QUERIES_AT_ONCE):
        checkpoint()
        part = slice(start, start + _QUERIES_AT_ONCE)
        order = ranking(distances(probes[part], placed, metrics), random)
        if not rerank:
            yield part, order, ks
            continue
        exact = cdist(probe_floats[part], placed_floats)
        for k in ks:
            yield part, reranked(order, exact, rerank * k), [k]


def _ties(space: Space, ks: Sequence[int]) -> str:
    """Say how codes are ranked."""
    if not space.binary:
        return ""
    sentence = "codes that differ in equally many bits rank by chance"
    if not space.rerank:
        return sentence
    return (
        f"{sentence}; the {space.rerank} x k nearest are put in the order of their float vectors, for map k = {max(ks)}"
    )


def codebooks(tx: Transaction, names: Iterable[str], queries: set[str], what: str = "queries") -> str:
    """Say what fitted views were fitted on, and how many of the queries, by their keys, were among that."""
    sentences = []
    for view in [find_view(tx, name) for name in sorted(names)]:
        packed = tx.views.state(view, view.revision)
        if packed is None:
            continue
        kept = state.unpack(packed)
        seen = (
            "which ones is not known"
            if kept["keys"] is None
            else f"{len(queries & set(kept['keys']))} {what} among them"
        )
        labels = "any labels they had" if EXTRACTORS[view.extractor].learns_labels else "no labels"
        sentences.append(
            f"{view.name}: revision {view.revision}, fitted with {labels} on "
            f"{kept['pictures']} {kept.get('kind', 'pictures')}, {seen}"
        )
    return "; ".join(sentences) or "no view that takes part has a codebook"
