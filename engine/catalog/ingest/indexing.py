"""Bulk indexing: find files, skip unchanged ones, fit unfitted views, extract on all cores, commit in batches."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.extractors import (
    TextExtractors,
    image_extractors,
    profile_note,
    text_extractors,
    views_of,
)
from crossview.engine.catalog.ingest.annotations import Annotations, checked_columns, label_notes
from crossview.engine.catalog.ingest.capturing import read_capture, read_metadata, wanted_stamp
from crossview.engine.catalog.ingest.contents import Contents
from crossview.engine.catalog.ingest.extraction import Extracted, extract, reading_files
from crossview.engine.catalog.ingest.interruption import Committed, interruptible
from crossview.engine.catalog.ingest.label_texts import with_texts
from crossview.engine.catalog.ingest.plan import Plan, make_plan, sample_size, waiting_note
from crossview.engine.catalog.ingest.texts import place_texts, text_rows
from crossview.engine.catalog.ingest.updating import current_records, still_needed
from crossview.engine.catalog.ingest.view_fitting import empty_images, fit_missing_texts, fit_view, unfitted
from crossview.engine.catalog.ingest.walk import SourceFile, readable, walk
from crossview.engine.catalog.item_writer import NewRecord
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.catalog.writing import OvertakenError, check_views, put_records, until_not_overtaken
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.errors import ModelInputError, NotReadyError
from crossview.engine.values.item import Capture, Failure, ImportReport, IndexOptions, ItemUpdate, PictureRecord, Stored
from crossview.features.base import ImageExtractor
from crossview.features.errors import ImageError
from crossview.features.metadata import Metadata
from crossview.features.pictures import MAX_PIXELS, Pictures, PictureTask
from crossview.features.reading import samples


def copied(tx: Transaction, keys: Iterable[str]) -> dict[str, Extracted]:
    """Return the content of the items that have one of the keys, as if their pictures were read again."""
    ids = tx.items.ids_of(keys)
    items = tx.items.by_id(list(ids.values()))
    rows = {view.name: tx.rows.get(view, ids.values()) for view in views_of(tx, "image")}
    codes = {picture.id: picture.codes for picture in tx.fingerprints.pictures(ids.values())}
    extracted = {}
    for key, number in ids.items():
        item = items[number]
        picture = PictureRecord(
            content_hash=item.content_hash,
            width=item.width,
            height=item.height,
            thumbnail=tx.items.thumbnail(number),
            preview=tx.items.pictures([number], "large", fall_back=False).get(number),
            fingerprints=codes.get(number) or None,
        )
        places = {view: int(np.searchsorted(view_rows.ids, number)) for view, view_rows in rows.items()}
        own = {
            view: rows[view].rows[place]
            for view, place in places.items()
            if place < len(rows[view].ids) and rows[view].ids[place] == number
        }
        if len(own) == len(rows) and item.content_hash:
            extracted[key] = Extracted(picture, own, Metadata())
    return extracted


_COMMIT_ITEMS, _COMMIT_SECONDS, _CHANGES_AT_ONCE = 64, 2.0, 1_000

_Result = tuple[str, Extracted | ImageError]
"""A key, and the content of its file, or the reason why the file cannot be used."""


@dataclass
class _Outcome:
    """The results of a run so far. Sets of keys, because a run can start again and must count each key once."""

    committed: Committed
    added: set[str] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)
    failures: dict[str, Failure] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    """Keys of items deleted by other processes during the run."""
    pages: dict[str, Failure] = field(default_factory=dict)
    """Failures of pages beside pictures, by the keys of the items."""
    moved: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unfitted: dict[str, str] = field(default_factory=dict)
    """The reasons why views of pictures cannot be fitted, by view."""
    profiled: set[str] = field(default_factory=set)
    """Keys of pictures with a colour profile other than sRGB."""

    def followed(self, plan: Plan) -> None:
        """Add the moves of a plan."""
        self.moved |= plan.moved
        self.notes += plan.notes

    def suppose(self, plan: Plan) -> None:
        """Suppose that the work of a plan succeeds."""
        work = plan.extract.keys() | plan.copies.keys()
        self.added |= work - plan.known.keys()
        self.updated |= (work & plan.known.keys()) | plan.change.keys()

    def failed(self) -> tuple[Failure, ...]:
        """Return the failures: pictures first, then pages."""
        return *self.failures.values(), *self.pages.values()

    def unchanged(self, files: Mapping[str, SourceFile]) -> int:
        """Return the number of files that needed no work."""
        return len(files.keys() - self.added - self.updated - self.failures.keys() - self.deleted)


def index_files(
    catalog: Catalog,
    paths: Sequence[Path | str],
    annotations: Annotations,
    options: IndexOptions,
    progress: Progress | None = None,
    max_pixels: int = MAX_PIXELS,
) -> ImportReport:
    """Index the pictures under ``paths``; see ``Collection.index``."""
    began = time.monotonic()
    walked = walk(paths, options.exclude)
    with catalog.read() as tx:
        notes = checked_columns(tx.items, annotations.files, options.new_attributes)
    contents = Contents()
    with interruptible() as committed:
        outcome = _Outcome(committed)
        if annotations.by_keywords:
            with reading_files(options.workers, max_pixels) as pictures:
                annotations.read_keywords(walked.files, pictures)

        def once() -> Plan:
            plan = make_plan(catalog, walked, annotations, contents, options)
            annotations.unused(plan.files)  # before anything is done: the file of another folder is an error
            outcome.followed(plan)
            if options.dry_run:
                outcome.suppose(plan)
                return plan
            with reading_files(options.workers, max_pixels) as pictures:
                run = _Run(catalog, annotations, plan, pictures, progress, outcome, options.metadata)
                run.fit(options.seed)
                if outcome.unfitted:
                    plan = make_plan(catalog, walked, annotations, contents, options, outcome.unfitted)
                    run = replace(run, plan=plan)
                run.write()
            return plan

        plan = until_not_overtaken(once)
        failed_texts = [] if options.dry_run else fit_missing_texts(catalog, options.seed)
        if not options.dry_run:
            failed_texts += place_texts(catalog, progress)
    unused = annotations.unused(plan.files)
    labels = label_notes(annotations, plan.files, plan.known)
    return ImportReport(
        added=len(outcome.added),
        updated=len(outcome.updated),
        unchanged=outcome.unchanged(plan.files),
        failures=(*outcome.failed(), *walked.failures, *plan.clashing, *unused, *failed_texts),
        seconds=time.monotonic() - began,
        skipped=dict(+walked.skipped),
        deleted=(*plan.left_out, *sorted(outcome.deleted)),
        missing=plan.missing,
        added_keys=tuple(sorted(outcome.added)),
        moved=outcome.moved,
        notes=(*notes, *walked.notes(), *outcome.notes, *outcome.unfitted.values(), *labels),
    )


@dataclass(frozen=True)
class _Run:
    """Carries out a plan."""

    catalog: Catalog
    annotations: Annotations
    plan: Plan
    pictures: Pictures
    progress: Progress | None
    outcome: _Outcome
    metadata: str | None
    """The level of metadata; None keeps that of each item."""

    def fit(self, seed: int) -> None:
        """Fit the unfitted views on a random sample of the files, with their new labels.

        A view that cannot be fitted yet waits for a later run with more pictures, and the other views are computed.
        Raises NotReadyError if no view of pictures is left.
        """
        self.outcome.unfitted.clear()
        missing, stored = unfitted(self.plan.views), self.plan.known
        if not missing or not self.plan.extract:
            return
        keys = list(self.plan.extract)
        places = np.random.default_rng(seed).permutation(len(keys))[: sample_size(len(keys))]
        sampled = [keys[number] for number in sorted(places)]
        results = self.pictures.stream(samples, self._tasks(sampled, empty_images(missing)), checkpoint)
        sample_of = {}
        for done, (key, sample) in enumerate(zip(sampled, results, strict=True), 1):
            if not isinstance(sample, ImageError):
                sample_of[key] = sample
            self._report("fitting", done, len(sampled))
        labels = [self._labels(key, stored.get(key)) for key in sample_of]
        for name, view in missing.items():
            rows = [sample[name] for sample in sample_of.values()]
            try:
                fit_view(self.catalog, view, rows, seed, list(sample_of), labels=labels)
            except NotReadyError as error:
                self.outcome.unfitted[name] = str(error)
        if self.outcome.unfitted:
            self._check_other_views()

    def _check_other_views(self) -> None:
        """Raise NotReadyError if no view of pictures has rows without those that cannot be fitted."""
        with self.catalog.read() as tx:
            other_views = {view.name for view in views_of(tx, "image")} - self.outcome.unfitted.keys()
        if not other_views:
            raise NotReadyError("; ".join(self.outcome.unfitted.values()))
        for name, reason in self.outcome.unfitted.items():
            self.outcome.unfitted[name] = waiting_note(reason, other_views)

    def _tasks(self, keys: Iterable[str], extractors: Mapping[str, ImageExtractor]) -> Iterator[PictureTask]:
        return (PictureTask(self.plan.extract[key].path, extractors) for key in keys)

    def _labels(self, key: str, stored: Stored | None) -> tuple[str, ...]:
        """Return the labels that an item has after the run."""
        labels = self.annotations.of(self.plan.extract[key], key).labels
        return labels if labels is not None else stored.labels if stored else ()

    def write(self) -> None:
        """Write the items of the plan."""
        self.change()
        self.extract()
        self.copy()
        self.capture()

    def change(self) -> None:
        """Write the changes that need no reading of pictures."""
        self.outcome.failures |= self.plan.failed
        for stamps in batches(self.plan.stamps.items(), _CHANGES_AT_ONCE):
            with self.catalog.write() as tx:
                check_views(tx, self.plan.views)
                tx.item_writer.refresh(dict(stamps))
        done = 0
        for batch in batches(self.plan.change.items(), _CHANGES_AT_ONCE):
            with self.catalog.write() as tx:
                failures, sequence = self.outcome.failures, self.plan.sequence
                records = current_records(tx, dict(batch), self.plan.updates, sequence, failures)
                self._put(tx, records, self.plan.views)
            done += len(batch)
            self._report("updating", done, len(self.plan.change))

    def extract(self) -> None:
        """Read the files and write their items."""
        if not self.plan.extract:
            return
        with self.catalog.read() as tx:
            fitted = {view.name for view in views_of(tx, "image")} - self.outcome.unfitted.keys()
            extractors, texts, views = image_extractors(tx, fitted), text_extractors(tx), tx.views.all()
            ids = {key: self.plan.known[key].id for key in self.plan.extract if key in self.plan.known}
            stamps = tx.captures.stamps(ids.values())
        for done, batch in self._batches(self._results(extractors)):
            records, updates = list[NewRecord](), self._updates(key for key, _ in batch)
            for key, result in batch:
                if isinstance(result, ImageError):
                    self.outcome.failures[key] = Failure(readable(self.plan.extract[key].path), str(result))
                else:
                    capture = self._capture(key, result.metadata, stamps.get(ids.get(key, 0), ""))
                    records += self._record(updates[key], result, texts, capture)
                    self.outcome.profiled |= {key} if result.has_profile else set()
            if records:
                with self.catalog.write() as tx:
                    self._put(tx, still_needed(tx, records, self.plan.sequence, texts), views)
            self._report("indexing", done, len(self.plan.extract))
        if note := profile_note(extractors, len(self.outcome.profiled)):
            self.outcome.notes += (note,)

    def copy(self) -> None:
        """Write the items of files whose content another item has, with the rows of that item; captures come later."""
        for batch in batches(self.plan.copies.items(), _COMMIT_ITEMS):
            checkpoint()
            with self.catalog.read() as tx:
                texts, views = text_extractors(tx), tx.views.all()
                extracted = copied(tx, {same for _, same in batch})
            failed = {key: self.outcome.failures[same] for key, same in batch if same in self.outcome.failures}
            self.outcome.failures |= {
                key: Failure(readable(self.plan.files[key].path), failure.reason) for key, failure in failed.items()
            }
            lost = [key for key, same in batch if same not in extracted and key not in failed]
            if lost:
                raise OvertakenError(f"the item of equal content to {lost[0]!r} was just deleted or changed: try again")
            updates = self._updates(key for key, _ in batch)
            pairs = [(key, extracted[same]) for key, same in batch if same in extracted]
            records = [record for key, content in pairs for record in self._record(updates[key], content, texts)]
            with self.catalog.write() as tx:
                self._put(tx, still_needed(tx, records, self.plan.sequence, texts), views)

    def capture(self) -> None:
        """Write the captures of other files whose times or pages have changed, or whose metadata is wanted."""
        files = self.plan.files
        with self.catalog.read() as tx:
            ids = tx.items.ids_of(files.keys() - self.outcome.failures.keys())
            stamps = tx.captures.stamps(ids.values())
        before = {key: stamps.get(item, "") for key, item in ids.items()}
        changed = sorted(
            key
            for key, stamp in before.items()
            if key in self.plan.copies or stamp != wanted_stamp(files[key], stamp, self.metadata)
        )
        tasks = (PictureTask(files[key].path, {}) for key in changed)
        results = zip(changed, self.pictures.stream(read_metadata, tasks, checkpoint), strict=True)
        for batch in batches(results, _CHANGES_AT_ONCE):
            captures = {key: self._capture(key, result, before[key]) for key, result in batch}
            with self.catalog.write() as tx:
                live = {item: key for key, item in tx.items.ids_of(captures).items()}
                written = {item: captures[key] for item, key in live.items()}
                new = tx.item_writer.put_captures(written, tx.next_sequence)
            self.outcome.updated |= {live[item] for item in new} - self.outcome.added

    def _capture(self, key: str, result: Metadata | ImageError, stamp: str) -> Capture:
        """Return the capture of a file at the level of metadata, after one with a stamp; note an unusable page."""
        file = self.plan.files[key]
        file_metadata = Metadata() if isinstance(result, ImageError) else result
        capture, failure = read_capture(file, file_metadata, wanted_stamp(file, stamp, self.metadata))
        if failure is not None:
            self.outcome.pages[key] = failure
        return capture

    def _put(self, tx: Transaction, records: Sequence[NewRecord], views: Sequence[ViewRecord]) -> None:
        written, outcome = put_records(tx, records, views), self.outcome
        keys = {record.key for record in records}.difference(written.missing)
        outcome.added |= written.added
        outcome.updated |= keys - outcome.added
        outcome.deleted |= set(written.missing)
        outcome.failures = {key: failure for key, failure in outcome.failures.items() if key not in keys}
        outcome.committed.items += len(keys)

    def _results(self, extractors: Mapping[str, ImageExtractor]) -> Iterator[_Result]:
        """Yield the extraction of every file in the views that its item lacks."""
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for key in self.plan.extract:
            groups[self.plan.missing_views.get(key, tuple(extractors))].append(key)
        for views, keys in groups.items():
            tasks = self._tasks(keys, {view: extractors[view] for view in views})
            yield from zip(keys, self.pictures.stream(extract, tasks, checkpoint), strict=True)

    def _batches(self, results: Iterator[_Result]) -> Iterator[tuple[int, list[_Result]]]:
        """Yield (number done, results to commit) after a number of results or seconds.

        On an interruption, yield the finished results before raising it, so that their extraction is not lost.
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

    def _updates(self, keys: Iterable[str]) -> dict[str, ItemUpdate]:
        """Return the annotations of files, by the keys of their items."""
        labels_given = self.annotations.labels_given
        updates = [self.annotations.of(self.plan.files[key], key).update(key, labels_given) for key in keys]
        with self.catalog.read() as tx:
            return {update.key: update for update in with_texts(tx, updates)}

    def _record(
        self, update: ItemUpdate, extracted: Extracted, texts: TextExtractors, capture: Capture | None = None
    ) -> list[NewRecord]:
        """Return the record of a file; none, and note the failure, if a model fails on its text."""
        file = self.plan.files[update.key]
        try:
            rows = {**extracted.rows, **text_rows(texts.beside_pictures, update.text)}
        except ModelInputError as error:
            self.outcome.failures[update.key] = Failure(readable(file.path), str(error))
            return []
        record = NewRecord(
            **vars(replace(update, capture=capture)),
            source=readable(file.path),
            picture=replace(extracted.picture, size=file.size, modified_ns=file.modified_ns),
            rows=rows,
            existing=update.key in self.plan.missing_views,
        )
        return [record]

    def _report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)
