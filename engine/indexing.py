"""Bulk indexing: walk, leave out what is done, fit what is not, extract on all cores, commit in batches."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.catalog import Catalog, NewRecord, Stored, Transaction
from engine.errors import InvalidInputError
from engine.extraction import Extracted, Workers, content_hash, extract_file, read_file, sample_file
from engine.fitting import fit_view, sample_size, unfitted
from engine.item import Failure, ImportReport
from engine.labels import Labeller, labeller
from engine.progress import Progress
from engine.views import load_extractor
from engine.walk import SourceFile, readable, walk
from engine.writing import put_records
from features import Extractor, ImageError

_COMMIT_ITEMS = 64
_COMMIT_SECONDS = 2.0


@dataclass(frozen=True)
class _Plan:
    """What a run has to do."""

    extract: dict[str, SourceFile] = field(default_factory=dict)
    """Files to read, by key."""
    relabel: dict[int, tuple[str, ...]] = field(default_factory=dict)
    stamps: dict[int, int] = field(default_factory=dict)
    unchanged: int = 0


def index_files(
    catalog: Catalog,
    paths: Sequence[Path | str],
    labels: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> ImportReport:
    """Index the pictures under ``paths``; see ``Collection.index``. The caller holds the writer lock."""
    began = time.monotonic()
    label = labeller(labels)
    files = list(walk(paths))
    if labels is not None and str(labels) != "folder" and files and not any(label(file) for file in files):
        raise InvalidInputError(f"{labels} names none of the {len(files)} files found; paths are below the root")
    with catalog.write() as tx:
        keyed = _keys(tx, files)
    with catalog.read() as tx:
        plan = _plan(tx, keyed, label)
        missing = unfitted(tx.views.all())
    with Workers(workers) as processes:
        if missing and plan.extract:
            _fit(catalog, plan, missing, processes, progress, seed)
        with catalog.write() as tx:
            _apply(tx, plan)
            extractors = {view.name: load_extractor(tx, view) for view in tx.views.all()} if plan.extract else {}
        added, updated, failures = _extract(catalog, plan, extractors, label, processes, progress)
    return ImportReport(added, updated + len(plan.relabel), plan.unchanged, tuple(failures), time.monotonic() - began)


def _keys(tx: Transaction, files: Iterable[SourceFile]) -> dict[str, SourceFile]:
    aliases: dict[Path, str] = {}
    for root in dict.fromkeys(file.root for file in files):
        aliases[root] = tx.roots.add(readable(root), readable(Path(root.name)) if root.name else "root")
    return {f"{aliases[file.root]}/{file.relative}": file for file in files}


def _plan(tx: Transaction, keyed: Mapping[str, SourceFile], label: Labeller) -> _Plan:
    known, complete = tx.items.known(), _complete(tx)
    plan, unchanged = _Plan(), 0
    for key, file in keyed.items():
        stored = known.get(key)
        if stored is None or stored.id not in complete or not _same(file, stored, plan):
            plan.extract[key] = file
            continue
        wanted = label(file)
        if wanted is None or wanted == stored.labels:
            unchanged += 1
        else:
            plan.relabel[stored.id] = wanted
    return _Plan(plan.extract, plan.relabel, plan.stamps, unchanged)


def _complete(tx: Transaction) -> set[int]:
    """Ids of the items that have a row of every view at its current revision."""
    ids = [set(tx.rows.ids(view).tolist()) for view in tx.views.all()]
    return set.intersection(*ids)


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
    missing: Mapping[str, Extractor],
    processes: Workers,
    progress: Progress | None,
    seed: int,
) -> None:
    """Fit the views that need it on a random sample of the files."""
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
    for view in missing:
        fit_view(catalog, view, [sample[view] for sample in samples.values()], seed, list(samples))


def _apply(tx: Transaction, plan: _Plan) -> None:
    tx.items.refresh(plan.stamps)
    if plan.relabel:
        tx.items.relabel(plan.relabel, tx.next_sequence())


def _extract(
    catalog: Catalog,
    plan: _Plan,
    extractors: Mapping[str, Extractor],
    label: Labeller,
    processes: Workers,
    progress: Progress | None,
) -> tuple[int, int, list[Failure]]:
    added = updated = 0
    failures: list[Failure] = []
    answers = processes.run(extract_file, [file.path for file in plan.extract.values()], extractors)
    results = ((key, result) for key, (_, result) in zip(plan.extract, answers, strict=True))
    for done, batch in _batches(results, len(plan.extract), progress):
        records = []
        for key, result in batch:
            file = plan.extract[key]
            if isinstance(result, Failure):
                failures.append(Failure(readable(file.path), result.reason))
            else:
                records.append(_record(key, file, label(file), result))
        if records:
            with catalog.write() as tx:
                new = put_records(tx, records)
            added, updated = added + new, updated + len(records) - new
        if progress:
            progress("indexing", done, len(plan.extract))
    return added, updated, failures


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


def _record(key: str, file: SourceFile, labels: tuple[str, ...] | None, found: Extracted) -> NewRecord:
    return NewRecord(
        key,
        labels,
        None,
        readable(file.path),
        file.size,
        file.modified_ns,
        found.content_hash,
        found.width,
        found.height,
        found.thumbnail,
        found.rows,
    )
