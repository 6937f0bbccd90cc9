"""Bulk indexing: walk, leave out what is done, fit what is not, extract on all cores, commit in batches."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.catalog.batches import batches
from engine.catalog.catalog import Catalog, Transaction
from engine.catalog.extractors import image_extractors, text_extractors, views_of
from engine.catalog.items import NewRecord, PictureRecord, Stored
from engine.catalog.writing import put_records
from engine.ingest.annotations import Annotations
from engine.ingest.extraction import Extracted, Workers, extract_file, sample_file
from engine.ingest.file_keys import deleted_before, is_unchanged, match_files, moved_items
from engine.ingest.fitting import fit_missing_texts, fit_view, sample_size, unfitted
from engine.ingest.interruption import Committed, interruptible
from engine.ingest.texts import place_texts, text_rows
from engine.ingest.updating import changed_records
from engine.ingest.walk import SourceFile, readable, walk
from engine.item import Failure, ImportReport
from engine.progress import Progress
from features import ImageExtractor, TextExtractor

_COMMIT_ITEMS = 64
_COMMIT_SECONDS = 2.0
_CHANGES_AT_ONCE = 1_000

DELETED = "deleted from the collection earlier"
"""The kind of files that are left out because their items were deleted."""


@dataclass(frozen=True)
class _Plan:
    """What a run has to do."""

    extract: dict[str, SourceFile] = field(default_factory=dict)
    """Files to read, by key."""
    lacking: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The views that those of them lack whose pictures are known; the others are computed in every view."""
    change: dict[str, NewRecord] = field(default_factory=dict)
    """New annotations of items whose pictures need not be read, by key."""
    stamps: dict[int, int] = field(default_factory=dict)


def index_files(
    catalog: Catalog,
    paths: Sequence[Path | str],
    annotations: Annotations,
    workers: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    include_deleted: bool = False,
) -> ImportReport:
    """Index the pictures under ``paths``; see ``Collection.index``. The caller holds the writer lock."""
    began = time.monotonic()
    found = walk(paths)
    with catalog.write() as tx:
        known = tx.items.known()
        sources = {key: stored.source for key, stored in known.items()}
        matched = match_files(found.files, found.folders, sources, tx.roots.aliases(), tx.roots.add)
    keyed = dict(matched.files)
    unused = annotations.unused(keyed)
    if not include_deleted:
        with catalog.read() as tx:
            left_out = deleted_before(keyed, known, tx.items.deleted_pictures())
        keyed = {key: file for key, file in keyed.items() if key not in left_out}
        found.skipped[DELETED] += len(left_out)
    with catalog.read() as tx:
        plan = _plan(tx, keyed, known, annotations)
        missing = unfitted(tx.views.all())
    with interruptible() as committed:
        with Workers(workers) as processes:
            if missing and plan.extract:
                _fit(catalog, plan, annotations, missing, processes, progress, seed)
            _change(catalog, plan, committed)
            added, updated, failures = _extract(catalog, plan, annotations, processes, progress, committed)
        unfit = fit_missing_texts(catalog, seed)
        place_texts(catalog, progress)
    with catalog.read() as tx:
        content = {key: stored.content_hash for key, stored in tx.items.known().items()} if matched.gone else {}
    return ImportReport(
        added,
        updated + len(plan.change),
        len(keyed) - len(plan.extract) - len(plan.change),
        (*failures, *unused, *unfit),
        time.monotonic() - began,
        dict(+found.skipped),
        matched.gone,
        moved_items(matched.gone, content, keyed),
        label_notes(annotations, keyed),
    )


def label_notes(annotations: Annotations, keyed: Mapping[str, SourceFile]) -> tuple[str, ...]:
    """Return a sentence where labels were asked for and no picture has got any."""
    if not keyed or not annotations.have_labels or any(annotations.of(f, k).labels for k, f in keyed.items()):
        return ()
    return ("no picture got a label",)


def _plan(
    tx: Transaction, keyed: Mapping[str, SourceFile], known: Mapping[str, Stored], annotations: Annotations
) -> _Plan:
    plan = _Plan()
    having = {view.name: set(tx.rows.ids(view).tolist()) for view in views_of(tx, "image")}
    there: list[str] = []
    for key, file in keyed.items():
        stored = known.get(key)
        if stored is None or not _same(file, stored, plan):
            plan.extract[key] = file
        elif lacking := tuple(view for view, ids in having.items() if stored.id not in ids):
            plan.extract[key], plan.lacking[key] = file, lacking
        else:
            there.append(key)
    known_of = {key: annotations.of(keyed[key], key) for key in there}
    updates = [one.update(key, annotations.labels_given) for key, one in known_of.items() if one]
    plan.change.update((record.key, record) for record in changed_records(tx, updates, text_extractors(tx)))
    return plan


def _same(file: SourceFile, stored: Stored, plan: _Plan) -> bool:
    """Whether the file is the one that was extracted; notes its time where only that is new."""
    same = is_unchanged(file, stored)
    if same and file.modified_ns != stored.modified_ns:
        plan.stamps[stored.id] = file.modified_ns
    return same


def _fit(
    catalog: Catalog,
    plan: _Plan,
    annotations: Annotations,
    missing: Mapping[str, ImageExtractor],
    processes: Workers,
    progress: Progress | None,
    seed: int,
) -> None:
    """Fit the views that need it on a random sample of the files, which have the labels that they are to have."""
    keys = list(plan.extract)
    chosen = np.random.default_rng(seed).permutation(len(keys))[: sample_size(len(keys))]
    sampled = [keys[number] for number in sorted(chosen)]
    answers = processes.run(sample_file, [plan.extract[key].path for key in sampled], missing)
    samples = {}
    for done, (key, (_, sample)) in enumerate(zip(sampled, answers, strict=True), 1):
        if isinstance(sample, dict) and sample:
            samples[key] = sample
        if progress:
            progress("fitting", done, len(sampled))
    with catalog.read() as tx:
        known = tx.items.known()
    labels = [_labels(annotations.of(plan.extract[key], key).labels, known.get(key)) for key in samples]
    for view in missing:
        fit_view(catalog, view, [sample[view] for sample in samples.values()], seed, list(samples), labels=labels)


def _labels(new: tuple[str, ...] | None, stored: Stored | None) -> tuple[str, ...]:
    return new if new is not None else stored.labels if stored else ()


def _change(catalog: Catalog, plan: _Plan, committed: Committed) -> None:
    """Write what is known without reading pictures."""
    with catalog.write() as tx:
        tx.items.refresh(plan.stamps)
    for batch in batches(plan.change.values(), _CHANGES_AT_ONCE):
        with catalog.write() as tx:
            put_records(tx, batch)
        committed.items += len(batch)


def _extract(
    catalog: Catalog,
    plan: _Plan,
    annotations: Annotations,
    processes: Workers,
    progress: Progress | None,
    committed: Committed,
) -> tuple[int, int, list[Failure]]:
    added = updated = 0
    failures: list[Failure] = []
    if not plan.extract:
        return added, updated, failures
    with catalog.read() as tx:
        extractors, texts = image_extractors(tx), text_extractors(tx)
    for done, batch in _batches(_results(plan, extractors, processes), len(plan.extract), progress):
        records = []
        for key, result in batch:
            file = plan.extract[key]
            if isinstance(result, Failure):
                failures.append(Failure(readable(file.path), result.reason))
            else:
                records.append(_record(key, file, annotations, result, texts))
        if records:
            with catalog.write() as tx:
                new = put_records(tx, records)
            added, updated = added + new, updated + len(records) - new
            committed.items += len(records)
        if progress:
            progress("indexing", done, len(plan.extract))
    return added, updated, failures


def _results(plan: _Plan, extractors: Mapping[str, ImageExtractor], processes: Workers) -> "Iterator[Answer]":
    """Yield what every file to read gives, each computed in the views that it lacks."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key in plan.extract:
        groups[plan.lacking.get(key, tuple(extractors))].append(key)
    for views, keys in groups.items():
        paths = [plan.extract[key].path for key in keys]
        answers = processes.run(extract_file, paths, {view: extractors[view] for view in views})
        for key, (_, result) in zip(keys, answers, strict=True):
            yield key, result


Answer = tuple[str, Extracted | Failure]


def _batches(results: Iterator[Answer], total: int, progress: Progress | None) -> Iterator[tuple[int, list[Answer]]]:
    """Yield (how many are done, results to commit) every so many results or seconds.

    An interruption hands over what was finished before it goes on its way, so that nothing is extracted in vain.
    """
    batch: list[Answer] = []
    done, last = 0, time.monotonic()
    try:
        for result in results:
            batch.append(result)
            done += 1
            if len(batch) >= _COMMIT_ITEMS or time.monotonic() - last > _COMMIT_SECONDS:
                yield done, batch
                batch, last = [], time.monotonic()
            elif progress:
                progress("indexing", done, total)
    except KeyboardInterrupt:
        if batch:
            yield done, batch
        raise
    if batch:
        yield done, batch


def _record(
    key: str, file: SourceFile, annotations: Annotations, found: Extracted, texts: Mapping[str, TextExtractor]
) -> NewRecord:
    known = annotations.of(file, key)
    picture = PictureRecord(file.size, file.modified_ns, found.content_hash, found.width, found.height, found.thumbnail)
    return NewRecord(
        key,
        known.labels,
        annotations.labels_given,
        known.attributes or None,
        known.removed_attributes,
        known.text,
        readable(file.path),
        picture,
        {**found.rows, **text_rows(texts, known.text)},
    )
