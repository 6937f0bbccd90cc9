"""Bulk indexing: walk, leave out what is done, fit what is not, extract on all cores, commit in batches."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from engine.catalog.batches import batches
from engine.catalog.catalog import Catalog, Transaction
from engine.catalog.extractors import image_extractors, text_extractors, views_of
from engine.catalog.items import NewRecord, Stored
from engine.catalog.writing import put_records
from engine.ingest.annotations import Annotations
from engine.ingest.extraction import Extracted, Workers, extract_file, sample_file
from engine.ingest.file_keys import deleted_before, is_unchanged, match_files, moved_items
from engine.ingest.fitting import fit_missing_texts, fit_view, sample_size, unfitted
from engine.ingest.interruption import Committed, interruptible
from engine.ingest.texts import place_texts, text_rows
from engine.ingest.updating import changed_records
from engine.ingest.walk import SourceFile, readable, walk
from engine.item import Failure, ImportReport, IndexOptions
from engine.progress import Progress
from features.base import ImageExtractor, TextExtractor

_COMMIT_ITEMS, _COMMIT_SECONDS, _CHANGES_AT_ONCE = 64, 2.0, 1_000

_Result = tuple[str, Extracted | Failure]
"""A key, and what was read of its file."""

DELETED = "deleted from the collection earlier"
"""The kind of files that are left out because their items were deleted."""


@dataclass(frozen=True)
class _Plan:
    """What a run has to do."""

    extract: dict[str, SourceFile] = field(default_factory=dict)
    """Files to read, by key."""
    missing_views: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By key, the views that a known picture lacks; files that are not named here are computed in every view."""
    change: dict[str, NewRecord] = field(default_factory=dict)
    """New annotations of items whose pictures need not be read, by key."""
    stamps: dict[int, int] = field(default_factory=dict)
    """New modification times of files whose content is the same, by item."""


def index_files(
    catalog: Catalog,
    paths: Sequence[Path | str],
    annotations: Annotations,
    options: IndexOptions,
    progress: Progress | None = None,
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
    with catalog.read() as tx:
        left_out = set() if options.include_deleted else deleted_before(keyed, known, tx.items.deleted_pictures())
        keyed = {key: file for key, file in keyed.items() if key not in left_out}
        found.skipped[DELETED] += len(left_out)
        plan = _plan(tx, keyed, known, annotations)
    with interruptible() as committed:
        with Workers(options.workers) as processes:
            run = _Run(catalog, annotations, plan, processes, progress, committed)
            run.fit(options.seed)
            run.change()
            added, updated, failures = run.extract()
        unfitted_texts = fit_missing_texts(catalog, options.seed)
        place_texts(catalog, progress)
    with catalog.read() as tx:
        content = {key: stored.content_hash for key, stored in tx.items.known().items()} if matched.gone else {}
    return ImportReport(
        added=added,
        updated=updated + len(plan.change),
        unchanged=len(keyed) - len(plan.extract) - len(plan.change),
        failures=(*failures, *unused, *unfitted_texts),
        seconds=time.monotonic() - began,
        skipped=dict(+found.skipped),
        gone=matched.gone,
        moved=moved_items(matched.gone, content, keyed),
        notes=label_notes(annotations, keyed),
    )


def label_notes(annotations: Annotations, keyed: Mapping[str, SourceFile]) -> tuple[str, ...]:
    """Return a sentence where labels were wanted and no picture has got any."""
    if not keyed or not annotations.have_labels or any(annotations.of(f, k).labels for k, f in keyed.items()):
        return ()
    return ("no picture got a label",)


def _plan(
    tx: Transaction, keyed: Mapping[str, SourceFile], known: Mapping[str, Stored], annotations: Annotations
) -> _Plan:
    plan = _Plan()
    ids_by_view = {view.name: set(tx.rows.ids(view).tolist()) for view in views_of(tx, "image")}
    complete: list[str] = []
    for key, file in keyed.items():
        stored = known.get(key)
        if stored is None or not is_unchanged(file, stored):
            plan.extract[key] = file
            continue
        if file.modified_ns != stored.modified_ns:
            plan.stamps[stored.id] = file.modified_ns
        if missing := tuple(view for view, ids in ids_by_view.items() if stored.id not in ids):
            plan.extract[key], plan.missing_views[key] = file, missing
        else:
            complete.append(key)
    annotated = {key: annotations.of(keyed[key], key) for key in complete}
    updates = [one.update(key, annotations.labels_given) for key, one in annotated.items() if one]
    plan.change.update((record.key, record) for record in changed_records(tx, updates, text_extractors(tx)))
    return plan


@dataclass(frozen=True)
class _Run:
    """Carries out a plan."""

    catalog: Catalog
    annotations: Annotations
    plan: _Plan
    processes: Workers
    progress: Progress | None
    committed: Committed

    def fit(self, seed: int) -> None:
        """Fit the views that need it on a random sample of the files, which have the labels that they are to have."""
        with self.catalog.read() as tx:
            missing, known = unfitted(tx.views.all()), tx.items.known()
        if not missing or not self.plan.extract:
            return
        keys = list(self.plan.extract)
        chosen = np.random.default_rng(seed).permutation(len(keys))[: sample_size(len(keys))]
        sampled = [keys[number] for number in sorted(chosen)]
        results = self.processes.run(sample_file, [self.plan.extract[key].path for key in sampled], missing)
        samples = {}
        for done, (key, (_, sample)) in enumerate(zip(sampled, results, strict=True), 1):
            if isinstance(sample, dict) and sample:
                samples[key] = sample
            self._report("fitting", done, len(sampled))
        labels = [self._labels(key, known.get(key)) for key in samples]
        for view in missing:
            rows = [sample[view] for sample in samples.values()]
            fit_view(self.catalog, view, rows, seed, list(samples), labels=labels)

    def _labels(self, key: str, stored: Stored | None) -> tuple[str, ...]:
        """Return the labels that an item is to have."""
        labels = self.annotations.of(self.plan.extract[key], key).labels
        return labels if labels is not None else stored.labels if stored else ()

    def change(self) -> None:
        """Write what is known without reading pictures."""
        with self.catalog.write() as tx:
            tx.items.refresh(self.plan.stamps)
        for batch in batches(self.plan.change.values(), _CHANGES_AT_ONCE):
            with self.catalog.write() as tx:
                put_records(tx, batch)
            self.committed.items += len(batch)

    def extract(self) -> tuple[int, int, list[Failure]]:
        """Read the files and write their items; return how many are new, how many are updated, and the failures."""
        added = updated = 0
        failures: list[Failure] = []
        if not self.plan.extract:
            return added, updated, failures
        with self.catalog.read() as tx:
            extractors, texts = image_extractors(tx), text_extractors(tx)
        for done, batch in self._batches(self._results(extractors)):
            records = []
            for key, result in batch:
                if isinstance(result, Failure):
                    failures.append(Failure(readable(self.plan.extract[key].path), result.reason))
                else:
                    records.append(self._record(key, result, texts))
            if records:
                with self.catalog.write() as tx:
                    new = put_records(tx, records)
                added, updated = added + new, updated + len(records) - new
                self.committed.items += len(records)
            self._report("indexing", done, len(self.plan.extract))
        return added, updated, failures

    def _results(self, extractors: Mapping[str, ImageExtractor]) -> Iterator[_Result]:
        """Yield what is extracted of every file, each in the views that it lacks."""
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for key in self.plan.extract:
            groups[self.plan.missing_views.get(key, tuple(extractors))].append(key)
        for views, keys in groups.items():
            paths = [self.plan.extract[key].path for key in keys]
            results = self.processes.run(extract_file, paths, {view: extractors[view] for view in views})
            for key, (_, result) in zip(keys, results, strict=True):
                yield key, result

    def _batches(self, results: Iterator[_Result]) -> Iterator[tuple[int, list[_Result]]]:
        """Yield (how many are done, results to commit) every so many results or seconds.

        On an interruption, what was finished is still yielded before it is raised, so that nothing is extracted in
        vain.
        """
        batch: list[_Result] = []
        done, last = 0, time.monotonic()
        try:
            for result in results:
                batch.append(result)
                done += 1
                if len(batch) >= _COMMIT_ITEMS or time.monotonic() - last > _COMMIT_SECONDS:
                    yield done, batch
                    batch, last = [], time.monotonic()
                else:
                    self._report("indexing", done, len(self.plan.extract))
        except KeyboardInterrupt:
            if batch:
                yield done, batch
            raise
        if batch:
            yield done, batch

    def _record(self, key: str, found: Extracted, texts: Mapping[str, TextExtractor]) -> NewRecord:
        file = self.plan.extract[key]
        annotation = self.annotations.of(file, key)
        return NewRecord(
            **vars(annotation.update(key, self.annotations.labels_given)),
            source=readable(file.path),
            picture=replace(found.picture, size=file.size, modified_ns=file.modified_ns),
            rows={**found.rows, **text_rows(texts, annotation.text)},
        )

    def _report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)
