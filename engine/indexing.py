"""Bulk indexing: walk, leave out what is done, fit what is not, extract on all cores, commit in batches."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from engine.catalog import Catalog, NewRecord, PictureRecord, Stored, Transaction
from engine.catalog.batches import batches
from engine.extraction import Extracted, Workers, content_hash, extract_file, read_file, sample_file
from engine.fitting import fit_missing_texts, fit_view, sample_size, unfitted
from engine.interruption import Committed, interruptible
from engine.item import Failure, ImportReport
from engine.progress import Progress
from engine.said import Said
from engine.texts import place_texts, text_rows
from engine.views import image_extractors, text_extractors, views_of
from engine.walk import SourceFile, readable, walk
from engine.writing import put_records
from features import ImageError, ImageExtractor, TextExtractor

_COMMIT_ITEMS = 64
_COMMIT_SECONDS = 2.0
_CHANGES_AT_ONCE = 1_000


@dataclass(frozen=True)
class _Plan:
    """What a run has to do."""

    extract: dict[str, SourceFile] = field(default_factory=dict)
    """Files to read, by key."""
    lacking: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The views that those of them lack whose pictures are known; the others are computed in every view."""
    change: dict[str, NewRecord] = field(default_factory=dict)
    """New labels and texts of items whose pictures need not be read, by key."""
    stamps: dict[int, int] = field(default_factory=dict)


def index_files(
    catalog: Catalog,
    paths: Sequence[Path | str],
    labels: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    captions: str | Path | None = None,
) -> ImportReport:
    """Index the pictures under ``paths``; see ``Collection.index``. The caller holds the writer lock."""
    with interruptible() as committed:
        return _index_files(catalog, paths, labels, workers, progress, seed, captions, committed)


def _index_files(
    catalog: Catalog,
    paths: Sequence[Path | str],
    labels: str | Path | None,
    workers: int | None,
    progress: Progress | None,
    seed: int,
    captions: str | Path | None,
    committed: Committed,
) -> ImportReport:
    began = time.monotonic()
    said = Said(labels, captions)
    files = list(walk(paths))
    unused = said.unused(files)
    with catalog.write() as tx:
        keyed = _keys(tx, files)
    with catalog.read() as tx:
        plan = _plan(tx, keyed, said)
        missing = unfitted(tx.views.all())
    with Workers(workers) as processes:
        if missing and plan.extract:
            _fit(catalog, plan, said, missing, processes, progress, seed)
        _change(catalog, plan, committed)
        added, updated, failures = _extract(catalog, plan, said, processes, progress, committed)
    unfit = fit_missing_texts(catalog, seed)
    place_texts(catalog, progress)
    unchanged = len(keyed) - len(plan.extract) - len(plan.change)
    failed = (*failures, *unused, *unfit)
    return ImportReport(added, updated + len(plan.change), unchanged, failed, time.monotonic() - began)


def _keys(tx: Transaction, files: Iterable[SourceFile]) -> dict[str, SourceFile]:
    aliases: dict[Path, str] = {}
    for root in dict.fromkeys(file.root for file in files):
        aliases[root] = tx.roots.add(readable(root), readable(Path(root.name)) if root.name else "root")
    return {f"{aliases[file.root]}/{file.relative}": file for file in files}


def _plan(tx: Transaction, keyed: Mapping[str, SourceFile], said: Said) -> _Plan:
    known, plan = tx.items.known(), _Plan()
    texts = tx.items.texts() if said.captions else {}
    having = {view.name: set(tx.rows.ids(view).tolist()) for view in views_of(tx, "image")}
    for key, file in keyed.items():
        stored = known.get(key)
        if stored is None or not _same(file, stored, plan):
            plan.extract[key] = file
        elif lacking := tuple(view for view, ids in having.items() if stored.id not in ids):
            plan.extract[key], plan.lacking[key] = file, lacking
        else:
            labels, text = said.labels(file), said.text(file)
            labels = None if labels == stored.labels else labels
            text = None if text == texts.get(stored.id, "") else text
            if labels is not None or text is not None:
                plan.change[key] = NewRecord(key, labels, text=text)
    return plan


def _same(file: SourceFile, stored: Stored, plan: _Plan) -> bool:
    """Whether the file is the one that was extracted: by size and time, else by its content."""
    if file.size != stored.size:
        return False
    if file.modified_ns == stored.modified_ns:
        return True
    try:
        same = content_hash(read_file(file.path)) == stored.content_hash
    except (OSError, ImageError):
        return False
    if same:
        plan.stamps[stored.id] = file.modified_ns
    return same


def _fit(
    catalog: Catalog,
    plan: _Plan,
    said: Said,
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
    labels = [_labels(said.labels(plan.extract[key]), known.get(key)) for key in samples]
    for view in missing:
        fit_view(catalog, view, [sample[view] for sample in samples.values()], seed, list(samples), labels=labels)


def _labels(new: tuple[str, ...] | None, stored: Stored | None) -> tuple[str, ...]:
    return new if new is not None else stored.labels if stored else ()


def _change(catalog: Catalog, plan: _Plan, committed: Committed) -> None:
    """Write what is known without reading pictures."""
    with catalog.write() as tx:
        tx.items.refresh(plan.stamps)
        texts = text_extractors(tx)
    for batch in batches(plan.change.values(), _CHANGES_AT_ONCE):
        records = [replace(record, rows=text_rows(texts, record.text)) for record in batch]
        with catalog.write() as tx:
            put_records(tx, records)
        committed.items += len(records)


def _extract(
    catalog: Catalog, plan: _Plan, said: Said, processes: Workers, progress: Progress | None, committed: Committed
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
                records.append(_record(key, file, said, result, texts))
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


def _record(key: str, file: SourceFile, said: Said, found: Extracted, texts: Mapping[str, TextExtractor]) -> NewRecord:
    text = said.text(file)
    picture = PictureRecord(file.size, file.modified_ns, found.content_hash, found.width, found.height, found.thumbnail)
    rows = {**found.rows, **text_rows(texts, text)}
    return NewRecord(key, said.labels(file), text=text, source=readable(file.path), picture=picture, rows=rows)
