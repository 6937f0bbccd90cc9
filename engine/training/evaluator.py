"""Evaluation: how well spaces retrieve relevant items for queries that they were not trained on."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.versions import Versions
from crossview.engine.training.by_comparisons import agree
from crossview.engine.training.by_pairs import verify
from crossview.engine.training.collected import joined_confusions, joined_curves
from crossview.engine.training.divisions import (
    NO_LABEL,
    Division,
    Divisions,
    check_database,
    check_trained,
    chosen_databases,
    contents,
    databases_sentence,
    divide,
    draw_queries,
    grouping_of,
    notion_of,
    target_views,
)
from crossview.engine.training.estimate import Figures, Key, differences, over_splits, rows
from crossview.engine.training.examples import Examples, codebooks, listed
from crossview.engine.training.learning import Refit, refitting
from crossview.engine.training.retrieval import Measurement, MeasurePlan, Trial, figures
from crossview.engine.training.splits import groups_of
from crossview.engine.training.stored_vectors import StoredVectors, near_repeats, repeats_sentence
from crossview.engine.training.supervision import check_leaves, count_constraints, stranger, with_supervision
from crossview.engine.values.errors import NotFoundError, NotReadyError, few
from crossview.engine.values.evaluation import (
    ITEMS,
    LABELS,
    LENGTHS,
    RECALLS,
    UNSEEN,
    Confusion,
    Curve,
    Evaluation,
    EvaluationRequest,
    PerQuery,
    QueryExample,
)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The spaces, items and views of an evaluation."""

    view: str
    spaces: Sequence[Space]
    targets: Mapping[str, tuple[str, ...]]
    """The views of the items to find, by space."""
    views: Mapping[str, Sequence[str]]
    """The views in use, by space."""
    items: Examples
    """The items with any of these views, without their rows."""
    stored: StoredVectors
    divisions: Divisions
    measures: MeasurePlan
    refits: Mapping[str, Refit]
    """The refit of each space that learns again for every division."""
    note: str
    """Why held-out items are not a database, why no taxonomy measures votes, and which labels do not count."""

    @property
    def target_views(self) -> list[str]:
        """The views to find items in, of all spaces."""
        return list(dict.fromkeys(chain.from_iterable(self.targets.values())))

    @property
    def query_ids(self) -> list[NDArray[np.int64]]:
        """The ids of the queries of each division that have the query view."""
        able = self.items.ids_in(self.view)
        return [np.intersect1d(division.queries, able, assume_unique=True) for division in self.divisions.parts]


def evaluated(
    tx: Transaction,
    versions: Versions,
    spaces: Sequence[Space],
    request: EvaluationRequest,
    progress: Progress | None = None,
) -> Callable[[], Evaluation]:
    """Read the data of an evaluation, and return the function that measures the spaces; see ``Collection.evaluate``.

    ``versions`` have the indexes of the spaces. The function does not read the catalog, so no transaction stays open
    for it.
    """
    if request.pairs is not None:
        return verify(tx, spaces, request, request.pairs)
    if request.constraints is not None:
        return agree(tx, spaces, request.view, request.constraints)
    return evaluate(tx, versions, spaces, request, progress)


def evaluate(
    tx: Transaction,
    versions: Versions,
    spaces: Sequence[Space],
    request: EvaluationRequest,
    progress: Progress | None = None,
) -> Callable[[], Evaluation]:
    """Return a function that measures retrieval by spaces on the same queries and databases."""
    began = time.monotonic()
    plan = _planned(tx, versions, spaces, request)
    keys = set(plan.items.of_ids(np.concatenate(plan.query_ids)).keys)
    codebook = codebooks(tx, {request.view, *plan.target_views}, keys)
    notes = [f"{space.name} answers within a view only" for space in spaces if space not in plan.spaces]

    def measure() -> Evaluation:
        return replace(_evaluated(plan, notes, codebook, len(spaces) > 1, progress), seconds=time.monotonic() - began)

    return measure


def _evaluated(
    plan: _Plan, earlier_notes: Sequence[str], codebook: str, prefixed: bool, progress: Progress | None
) -> Evaluation:
    measured: dict[str, Figures] = {}
    per_query: list[PerQuery] = []
    curves: list[Curve] = []
    confusions: list[Confusion] = []
    examples: list[QueryExample] = []
    notes = list(earlier_notes)
    for space in plan.spaces:
        measurement, learned_from = _measured(space, plan, progress)
        measured[space.name] = measurement.figures
        per_query += measurement.per_query
        curves += measurement.curves
        confusions += measurement.confusions
        examples += measurement.examples
        prefix = f"{space.name}: " if prefixed else ""
        notes += [prefix + note for note in (_ranking_note(space, plan.measures), learned_from) if note]
    repeats = np.concatenate([near_repeats(plan.stored.rows, division) for division in plan.divisions.parts])
    sentences = [
        plan.divisions.protocol,
        databases_sentence(plan.measures.databases, plan.measures.by),
        *_by_view(plan),
    ]
    if plan.measures.notion:
        sentences.append(_notion_note(plan))
    if plan.items.groups is not None and plan.measures.by == LABELS:
        sentences.append("no query finds an item of its own group")
    return Evaluation(
        rows=rows(plan.view, measured),
        queries=round(float(np.mean([len(ids) for ids in plan.query_ids]))),
        databases={name: _count(plan, name, plan.target_views) for name in plan.measures.databases},
        protocol="; ".join(part for part in (*sentences, plan.note, repeats_sentence(repeats), *notes) if part),
        codebook=codebook,
        seconds=0.0,
        differences=differences(plan.view, measured),
        per_query=tuple(per_query),
        curves=tuple(curves),
        confusions=tuple(confusions),
        examples=tuple(examples),
    )


def _planned(tx: Transaction, versions: Versions, spaces: Sequence[Space], request: EvaluationRequest) -> _Plan:
    notion = notion_of(spaces, request)
    labelled = notion in tx.items.notion_label_counts() or tx.items.label_counts()
    by = request.by or (LABELS if labelled else ITEMS)
    targets = target_views(spaces, request, by, notion)
    compared = [space for space in spaces if targets[space.name]]
    views = {}
    for space in compared:  # a refit needs all views of the space
        taking_part = (request.view, *targets[space.name])
        views[space.name] = [name for name in space.views if name in taking_part or (space.spec and request.refit)]
    ignored = tuple(dict.fromkeys(chain.from_iterable(space.ignored_labels for space in compared)))
    everything = listed(tx, list(dict.fromkeys(chain.from_iterable(views.values()))), ignored)
    grouping = grouping_of(compared, request)
    try:
        everything = replace(everything, groups=groups_of(tx, everything.ids, grouping))
    except NotFoundError:
        if request.refit:
            raise
        # The attribute has been removed since the training, but the space still knows its held-out items.
    items, kind = everything, "items"
    if by == LABELS:
        items = replace(everything, labels=everything.labels_in(notion))
        items, kind = items.take(np.array([bool(labels) for labels in items.labels], bool)), "labelled items"
        if not len(items):
            raise NotReadyError(NO_LABEL)
    divisions = divide(compared, items, kind, request, grouping)
    searched = list(dict.fromkeys(chain.from_iterable(targets.values())))
    where = check_filter(request.where)
    among = None if where.is_empty else ItemColumns().matching(tx, where.condition)
    divisions = draw_queries(divisions, items, searched, request, by, among)
    databases, note = chosen_databases(items, divisions, searched, by, request.databases)
    if set(databases) - {UNSEEN}:
        check_trained(compared, divisions, kind)
    for target in searched:
        for division in divisions.parts:
            for database in databases:
                check_database(database, items, division, (request.view, target), by)
    taxonomy, no_taxonomy = _taxonomy_of(request, compared, items) if by == LABELS else (None, "")
    ks = request.k or (RECALLS if by == ITEMS else LENGTHS)
    measures = MeasurePlan(databases, by, ks, notion, taxonomy, request.per_query, request.hits, request.details)
    ignoring = f"labels do not count that training ignored: {few(ignored)}" if ignored and by == LABELS else ""
    refits = {space.name: refitting(tx, space) for space in compared if request.refit and space.spec}
    for space in compared:
        if space.name not in refits:
            space.check_revisions(tx.views.all())
    measured = [(space, () if space.name in refits else targets[space.name]) for space in compared]
    return _Plan(
        view=request.view,
        spaces=compared,
        targets=targets,
        views=views,
        items=everything,
        stored=StoredVectors.of(tx, versions, measured, everything, divisions),
        divisions=divisions,
        measures=measures,
        refits=refits,
        note="; ".join(filter(None, (note, no_taxonomy, ignoring))),
    )


def _taxonomy_of(request: EvaluationRequest, spaces: Sequence[Space], items: Examples) -> tuple[Taxonomy | None, str]:
    """Return the tree for the costs of votes, from the request or the first space that has one, or why there is none.

    Raises InvalidInputError for a requested tree if labels of the items are not its leaves.
    """
    if request.taxonomy is not None:
        check_leaves(request.taxonomy, items)
        return request.taxonomy, ""
    for space in spaces:
        if space.taxonomy is not None:
            if (label := stranger(space.taxonomy, items.labels)) is None:
                return space.taxonomy, ""
            note = f"the taxonomy of {space.name} does not measure votes, because {label!r} is not one of its leaves"
            return None, note
    return None, ""


def _measured(space: Space, plan: _Plan, progress: Progress | None) -> tuple[Measurement, str]:
    """Return the figures of a space over all splits, and a note on comparisons that it learned from, if any."""
    splits: list[Figures] = []
    measured: list[Measurement] = []
    per_query: list[PerQuery] = []
    examples: list[QueryExample] = []
    note = ""
    for number, division in enumerate(plan.divisions.parts, 1):
        trial, note = _trial(space, plan, division)
        split: dict[Key, Any] = {}
        for target in plan.targets[space.name]:
            measurement = figures(trial, plan.view, target, plan.measures, progress)
            measured.append(measurement)
            split |= measurement.figures
            per_query += [replace(query, split=number) for query in measurement.per_query]
            examples += measurement.examples if number == 1 else ()
        splits.append(split)
    whole = Measurement(
        over_splits(splits, plan.divisions.overlap()),
        per_query,
        joined_curves([measurement.curves for measurement in measured]),
        joined_confusions([measurement.confusions for measurement in measured]),
        examples,
    )
    return whole, note if len(splits) == 1 else ""


def _trial(space: Space, plan: _Plan, division: Division) -> tuple[Trial, str]:
    everything, rows = (some.seen_in(*plan.views[space.name]) for some in (plan.items, plan.stored.rows))
    pipeline, counts = space.pipeline, space.constraint_counts
    if space.name in plan.refits:
        held_out = rows.of_ids(division.held_out)
        # A space that learned from comparisons may not need labels.
        learned = rows.of_ids(division.trained) if space.constraints is None else rows.without(held_out)
        training = with_supervision(learned, space.pairs, space.constraints, space.taxonomy)
        counts = count_constraints(space.constraints, training, held_out)
        pipeline = plan.refits[space.name](training)
    indexes = {view: index for (name, view), index in plan.stored.indexes.items() if name == space.name}
    return Trial(space, pipeline, everything, rows, indexes, division), "" if counts is None else counts.sentence()


def _count(plan: _Plan, database: str, views: Sequence[str]) -> int:
    """Return how many items of a database have one of the views, the mean over the divisions."""
    able = plan.items.ids_in(*views)
    return round(
        float(np.mean([np.isin(contents(database, division), able).sum() for division in plan.divisions.parts]))
    )


def _by_view(plan: _Plan) -> Iterator[str]:
    """Yield the number of items to find in each view, if the numbers differ."""
    for database in plan.measures.databases:
        counts = {view: _count(plan, database, [view]) for view in plan.target_views}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{count} {view}" for view, count in counts.items())
            yield f"{database} items to find by view: {listed}"


def _notion_note(plan: _Plan) -> str:
    notion = plan.measures.notion
    distances = f"distances are those in the notion {notion!r}"
    if without := [space.name for space in plan.spaces if notion not in space.pipeline.metric_names_]:
        distances += f", and the only ones of {', '.join(without)}"
    if plan.measures.by == ITEMS:
        return distances
    labels = "those in it, too" if notion in plan.items.notion_classes else "the items' own"
    return f"{distances}; labels are {labels}"


def _ranking_note(space: Space, plan: MeasurePlan) -> str:
    """Return how codes are ranked; "" for vectors."""
    if not space.binary:
        return ""
    note = "codes at equal distances rank at random"
    whole = "median_rank" if plan.by == ITEMS else "map and median_rank"
    order = f"the {space.rerank} x k nearest are ordered by their float vectors, for {whole} k = {max(plan.ks)}"
    return f"{note}; {order}" if space.rerank else note
