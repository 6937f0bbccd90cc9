"""Evaluation: how well a space retrieves items of the query's class, on queries that it was not trained on."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from engine import state
from engine.catalog import Transaction
from engine.errors import InvalidInputError, NotReadyError
from engine.examples import Examples, examples, split
from engine.info import Evaluation, EvaluationRow
from engine.learners.chain import Chain
from engine.learning import learn, learn_later
from engine.measures import average_precision, knn_correct, members, precision_at_k, ranking, relevance, reranked
from engine.neighborhoods import count_constraints, told
from engine.pipeline import build, coded, distances, filed, vectors
from engine.space import Space, source
from engine.space_info import RAW
from engine.training import own_steps
from engine.views import find_view
from features import EXTRACTORS

_QUERIES_AT_ONCE = 256

_Rows = tuple[NDArray[np.float32], int]
"""Raw rows, and the position of their view."""


def evaluate(
    tx: Transaction,
    space: Space,
    view: str,
    targets: Sequence[str],
    ks: Sequence[int],
    refit: bool,
    test_size: float,
    seed: int,
) -> Evaluation:
    """Measure a space; see ``Collection.evaluate``."""
    began = time.monotonic()
    if not ks or min(ks) < 1:
        raise InvalidInputError(f"every k must be at least 1, not {', '.join(map(str, ks)) or 'none at all'}")
    space.check_reachable(view, targets)
    asked = tuple(dict.fromkeys(source(target) for target in targets or space.reachable(view)))
    everything = _examples(tx, space, view, asked, refit)
    found = _labelled(everything)
    aside, protocol = _queries(space, found, refit, test_size, seed)
    queries, database = found.take(aside).seen_in(view), found.take(~aside)
    pipeline, counts = space.pipeline, space.constraint_counts
    if refit and space.spec:
        # Labels are not all that is learned from where comparisons were given.
        known = database if space.constraints is None else everything.without(found.take(aside))
        training = told(known, space.pairs, space.constraints)
        counts = count_constraints(space.constraints, training, found.take(aside))
        pipeline = _refitted(tx, space, training)
    items = {target: database.seen_in(target) for target in asked}
    for name, those in ((view, queries), *items.items()):
        if not len(those):
            raise NotReadyError(f"no item {'that queries' if those is queries else 'to be found'} has view {name!r}")
    rows = [row for target in asked for row in _measure(space, pipeline, queries, items[target], view, target, ks)]
    return Evaluation(
        tuple(rows),
        len(queries),
        len(database.seen_in(*asked)),
        protocol + _incomplete(items) + _ties(space, ks) + ("" if counts is None else f"; {counts.sentence()}"),
        _codebooks(tx, {view, *asked}, set(queries.keys)),
        time.monotonic() - began,
    )


def _examples(tx: Transaction, space: Space, view: str, targets: Sequence[str], refit: bool) -> Examples:
    """Return the items that have a view that takes part, in the order of the space's views."""
    return examples(tx, space.views if space.spec and refit else [n for n in space.views if n in {view, *targets}])


def _labelled(everything: Examples) -> Examples:
    """Return the items that have a label; NotReadyError if none has."""
    found = everything.labelled()
    if not len(found):
        raise NotReadyError("no item with these views has a label: index with --labels folder or a CSV file")
    return found


def _queries(space: Space, found: Examples, refit: bool, test_size: float, seed: int) -> tuple[NDArray[np.bool_], str]:
    """Return which items are queries, and the protocol in a sentence."""
    if refit or space.name == RAW:
        aside = split(len(found), test_size, seed)
        fitted = "the space was fitted anew on the database only" if space.spec else "nothing was learned"
        protocol = f"{test_size:.0%} of the labelled items, drawn with seed {seed}, are the queries; {fitted}"
    else:
        aside = np.array([key not in space.training_keys for key in found.keys])
        protocol = (
            f"the queries are the labelled items that generation {space.generation} of space {space.name!r} "
            "was not trained on; the database holds those that it was trained on"
        )
    if not aside.any() or aside.all():
        raise NotReadyError(
            f"space {space.name!r} was trained on {'every item' if not aside.any() else 'none of these items'}: "
            "train with --holdout 0.2, or evaluate with --refit"
        )
    return aside, protocol


def _incomplete(items: Mapping[str, Examples]) -> str:
    """Say how many items each target holds where they differ."""
    if len({len(those) for those in items.values()}) < 2:
        return ""
    return "; items to find by view: " + ", ".join(f"{len(those)} {target}" for target, those in items.items())


def _refitted(tx: Transaction, space: Space, training: Examples) -> Chain:
    """Learn again what the space learned, from other items: first its first views together, then those added later."""
    steps = own_steps([find_view(tx, name) for name in space.views])
    first = len(space.views) - len(space.added)
    pipeline = build(space.spec, space.views[:first], steps[:first], space.settings, None, space.seed)
    pipeline = learn(pipeline, training.seen_in(*space.views[:first]))
    return learn_later(pipeline, training, steps[first:])


def _measure(
    space: Space, pipeline: Chain, queries: Examples, database: Examples, view: str, target: str, ks: Sequence[int]
) -> Iterator[EvaluationRow]:
    classes = sorted({label for labels in (*queries.labels, *database.labels) for label in labels})
    wanted, there = members(queries.labels, classes), members(database.labels, classes)
    found: dict[tuple[str, int | None], list[NDArray[Any]]] = defaultdict(list)
    rows = (queries.rows[view], space.views.index(view)), (database.rows[target], space.views.index(target))
    metrics = filed(pipeline, database.classes(), space.views.index(target))
    for part, order, lengths in _orders(pipeline, space.rerank, *rows, metrics, ks):
        ranked = relevance(order, wanted[part], there)
        for k in lengths:
            found["accuracy", k].append(knn_correct(order, wanted[part], there, k))
            found["precision", k].append(precision_at_k(ranked, k))
        if max(ks) in lengths:
            found["map", None].append(average_precision(ranked))
    for (metric, k_or_none), values in found.items():
        yield EvaluationRow(view, target, metric, k_or_none, float(np.nanmean(np.concatenate(values))))


def _orders(
    pipeline: Chain, rerank: int, asked: _Rows, stored: _Rows, metrics: NDArray[np.bool_], ks: Sequence[int]
) -> Iterator[tuple[slice, NDArray[np.intp], Sequence[int]]]:
    """Yield rankings of the stored rows, for some queries at a time and hit lists of these lengths.

    ``metrics`` are those that each stored row is filed under.
    """
    random = np.random.default_rng(0)
    if rerank:
        (probes, probe_floats), (placed, placed_floats) = coded(pipeline, *asked), coded(pipeline, *stored)
    else:
        probes, placed = vectors(pipeline, *asked), vectors(pipeline, *stored)
    for start in range(0, len(probes), _QUERIES_AT_ONCE):
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
    told = "; codes that differ in equally many bits rank by chance"
    if not space.rerank:
        return told
    return f"{told}; the {space.rerank} x k nearest are put in the order of their float vectors, for map k = {max(ks)}"


def _codebooks(tx: Transaction, names: Iterable[str], queries: set[str]) -> str:
    """Say what fitted views were fitted on, and how many of the queries were among that."""
    sentences = []
    for view in [find_view(tx, name) for name in sorted(names)]:
        packed = tx.views.state(view, view.revision)
        if packed is None:
            continue
        kept = state.unpack(packed)
        seen = (
            "which ones is not known"
            if kept["keys"] is None
            else f"{len(queries & set(kept['keys']))} queries among them"
        )
        labels = "any labels they had" if EXTRACTORS[view.extractor].learns_labels else "no labels"
        sentences.append(
            f"{view.name}: revision {view.revision}, fitted with {labels} on "
            f"{kept['pictures']} {kept.get('kind', 'pictures')}, {seen}"
        )
    return "; ".join(sentences) or "no view that takes part has a codebook"
