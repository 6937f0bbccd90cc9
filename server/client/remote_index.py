"""Indexing pictures of this machine on a server: the client sends only new and changed files, in batches."""

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from crossview.engine.catalog.ingest.annotations import Annotations, checked_columns, label_notes
from crossview.engine.catalog.ingest.capturing import read_capture, read_metadata, wanted_stamp
from crossview.engine.catalog.ingest.contents import UNKNOWN_SIZE, Contents
from crossview.engine.catalog.ingest.file_keys import FileKeys, deleted_before
from crossview.engine.catalog.ingest.following import Following, Found
from crossview.engine.catalog.ingest.interruption import Committed, interruptible
from crossview.engine.catalog.ingest.plan import sample_size
from crossview.engine.catalog.ingest.updating import changed_record
from crossview.engine.catalog.ingest.walk import SourceFile, Walk, readable, walk
from crossview.engine.catalog.transfer.first_fit import fit_pictures, fit_texts, unfitted_pictures
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.item import (
    Failure,
    ImportReport,
    IndexOptions,
    Item,
    ItemUpdate,
    NewItem,
    Picture,
    Stored,
)
from crossview.features.errors import ImageError
from crossview.features.pictures import IN_PROCESS, read_file
from crossview.server.wire.message_batches import batches, merged
from crossview.server.wire.pages import LARGEST_SIZE
from crossview.server.wire.settings import MESSAGE_BYTES

LARGEST_FILE = MESSAGE_BYTES - 64 * 1024
"""Maximum bytes of a file, which leaves room in a message for its other fields."""

_ATTEMPTS = 3
"""Number of times that items try to follow their files, if other calls change the items meanwhile."""

_Entry = NewItem | ItemUpdate | None
"""The message for a file; None if the client sends nothing."""


def index(
    collection: AnyCollection, paths: Sequence[Path | str], options: IndexOptions, progress: Progress | None
) -> ImportReport:
    """Index pictures on a server; see ``Collection.index``. First fit unfitted views to a sample of the pictures."""
    began = time.monotonic()
    annotations = Annotations(options.labels, options.captions, options.replace_labels, options.label_notion)
    walked = walk(paths, options.exclude)
    annotations.read_keywords(walked.files, IN_PROCESS)
    notes = checked_columns(collection.items, annotations.files, options.new_attributes)
    contents = Contents()
    followed, matched = _followed(collection, walked, contents, write=not options.dry_run)
    items = _known(collection)
    stored = followed.known if options.dry_run else {key: _stored(item) for key, item in items.items()}
    keyed = dict(matched.files)
    unused = annotations.unused(keyed)
    deleted = () if options.include_deleted else collection.items.deleted()
    left_out = deleted_before(keyed, stored, deleted, contents)
    keyed = {key: file for key, file in keyed.items() if key not in left_out}
    unfit: list[Failure] = []
    waiting: tuple[str, ...] = ()
    if options.dry_run:
        report = _supposed(keyed, stored, contents)
    else:
        waiting = _fit(collection, keyed, annotations, progress, options.seed)
        unchanged = {key for key, file in keyed.items() if key in stored and contents.is_unchanged(file, stored[key])}
        with interruptible() as committed:
            report = _Sending(collection, keyed, items, annotations, unchanged, options.metadata).send(
                progress, committed
            )
            unfit = fit_texts(collection)
    return replace(
        report,
        failures=(*report.failures, *walked.failures, *matched.clashing, *unused, *unfit),
        seconds=time.monotonic() - began,
        skipped=dict(+walked.skipped),
        deleted=tuple(sorted(left_out)),
        missing=matched.gone,
        moved=followed.moved,
        notes=(
            *notes,
            *walked.notes(),
            *followed.notes(),
            *matched.notes(),
            *waiting,
            *label_notes(annotations, keyed, stored),
        ),
    )


def _followed(collection: AnyCollection, walked: Walk, contents: Contents, write: bool) -> tuple[Following, FileKeys]:
    """Let the items follow the files, and return the changes and the item of each file."""
    for retries in range(_ATTEMPTS - 1, -1, -1):
        items = _known(collection)
        _check_paths(items)
        stored = {key: _stored(item) for key, item in items.items()}
        following = Found(walked.files, walked.folders, stored, _aliases(items), contents).following()
        matched = following.matched(walked)
        changes = following.changes(matched)
        if not write or not any(changes):
            break
        try:
            collection.items.follow_files(changes)
            break
        except NotReadyError:  # other calls have changed the items meanwhile
            if not retries:
                raise
    return following, matched


def _stored(item: Item) -> Stored:
    """Return the facts about an item's file; its stamp has the size and the time of the file."""
    size, modified = UNKNOWN_SIZE, 0
    numbers = item.stamp.split()[:2]
    if len(numbers) == 2 and all(map(str.isdecimal, numbers)):
        size, modified = map(int, numbers)
    return Stored(0, size, modified, item.content_hash, item.labels, item.source, missing=bool(item.missing))


def _supposed(keyed: Mapping[str, SourceFile], stored: Mapping[str, Stored], contents: Contents) -> ImportReport:
    """Return the report of an indexing that succeeds, by the files alone."""
    new = keyed.keys() - stored.keys()
    changed = {key for key in keyed.keys() - new if not contents.is_unchanged(keyed[key], stored[key])}
    return ImportReport(added=len(new), updated=len(changed), unchanged=len(keyed) - len(new) - len(changed))


def _known(collection: AnyCollection) -> dict[str, Item]:
    """Return all items of the collection by key."""
    items: dict[str, Item] = {}
    after = ""
    while page := collection.items(after=after, limit=LARGEST_SIZE):
        items.update((item.key, item) for item in page)
        after = page[-1].key
    return items


def _check_paths(items: Mapping[str, Item]) -> None:
    """Raise NotReadyError if the server hides the paths of files: without them, no item can follow its file."""
    sources = [(item.source, item.key) for item in items.values() if item.source]
    if any(source == key for source, key in sources) and not any(Path(source).is_absolute() for source, _ in sources):
        raise NotReadyError(
            "the server hides the paths of files from the key, and indexing needs them to recognise the files: use an "
            "admin key"
        )


def _aliases(items: Mapping[str, Item]) -> dict[str, str]:
    """Return the alias of each root folder by its path, as far as the sources of the items reveal it."""
    roots: dict[str, str] = {}
    for item in items.values():
        alias, _, relative = item.key.partition("/")
        if item.source.endswith(f"/{relative}"):
            roots.setdefault(alias, item.source.removesuffix(f"/{relative}"))
    return {root: alias for alias, root in roots.items()}


def _fit(
    collection: AnyCollection,
    keyed: Mapping[str, SourceFile],
    annotations: Annotations,
    progress: Progress | None,
    seed: int,
) -> tuple[str, ...]:
    """Fit the unfitted views of pictures on a random sample of the files; return notes on those that wait."""
    names = unfitted_pictures(collection)
    if not keyed or not names:
        return ()
    files = list(keyed.items())
    sample = np.random.default_rng(seed).permutation(len(files))[: sample_size(len(files))]

    def pictures() -> Iterator[Picture]:
        for done, number in enumerate(sorted(sample), 1):
            key, file = files[number]
            data = _read(file)
            if isinstance(data, bytes) and data:
                yield Picture(data, annotations.of(file, key).labels or ())
            if progress:
                progress("fitting", done, len(sample))

    return fit_pictures(collection, pictures(), names, seed)


@dataclass
class _Sending:
    """The sending of new and changed files in batches."""

    collection: AnyCollection
    keyed: Mapping[str, SourceFile]
    items: Mapping[str, Item]
    annotations: Annotations
    unchanged: Set[str]
    """Keys of files whose items have the same content."""
    metadata: str | None
    added: set[str] = field(default_factory=set)
    """Keys of new items."""
    failures: list[Failure] = field(default_factory=list)
    """Unreadable files."""
    pages: list[Failure] = field(default_factory=list)
    """Unusable pages beside pictures."""

    def send(self, progress: Progress | None, committed: Committed) -> ImportReport:
        """Send the files, and return the report."""
        reports: list[ImportReport] = []
        skipped = done = 0
        for batch in batches(self._entries(), _weight):
            if new := [entry for entry in batch if isinstance(entry, NewItem)]:
                reports.append(put := self.collection.items.put(new))
                failed = {failure.key for failure in put.failures}
                self.added.update(item.key for item in new if item.key not in self.items and item.key not in failed)
            if updates := [entry for entry in batch if isinstance(entry, ItemUpdate)]:
                reports.append(self.collection.items.update(updates))
            committed.items = sum(report.added + report.updated for report in reports)
            done, skipped = done + len(batch), skipped + batch.count(None)
            if progress:
                progress("indexing", min(done, len(self.keyed)), len(self.keyed))
        report = merged(reports)
        unchanged = report.unchanged + skipped - len(self.failures)
        failures = (*self.failures, *self.pages, *_named(report.failures, self.keyed))
        return replace(report, unchanged=unchanged, failures=failures, added_keys=tuple(sorted(self.added)))

    def _entries(self) -> Iterator[_Entry]:
        """Yield the entries to send, file by file; None for an unchanged file and for an unreadable one."""
        views = {view.name for view in self.collection.views() if view.fitted and "image" in view.inputs}
        for key, file in self.keyed.items():
            stored, annotation = self.items.get(key), self.annotations.of(file, key)
            update = annotation.update(key, self.annotations.labels_given)
            before = "" if stored is None else stored.stamp
            stamp = wanted_stamp(file, before, self.metadata)
            complete = stored is not None and key in self.unchanged and views <= set(stored.views)
            data = b"" if complete and stamp == before else _read(file)
            if isinstance(data, Failure):
                self.failures.append(data)
                yield None
                continue
            if stamp != before or key not in self.unchanged:
                capture, failure = read_capture(file, read_metadata(data, {}, 0), stamp)
                update = replace(update, capture=capture)
                self.pages += [] if failure is None else [failure]
            if stored is not None and complete:
                yield update if changed_record(update, stored, self.annotations.labels_given) else None
                continue
            yield _new_item(data, file, update)
            if stored is not None and annotation.removed_attributes:
                yield ItemUpdate(key, removed_attributes=annotation.removed_attributes)


def _weight(entry: _Entry) -> int:
    return len(entry.image or b"") if isinstance(entry, NewItem) else 0


def _new_item(data: bytes, file: SourceFile, update: ItemUpdate) -> NewItem:
    source = readable(file.path)
    return NewItem(
        update.key,
        image=data,
        labels=update.labels,
        attributes=update.attributes,
        source=source,
        text=update.text,
        text_from_labels=update.text_from_labels,
        labels_given=update.labels_given,
        notion_labels=update.notion_labels,
        capture=update.capture,
    )


def _read(file: SourceFile) -> bytes | Failure:
    if file.size > LARGEST_FILE:
        return Failure(
            readable(file.path), f"{file.size:,} bytes do not fit into one message: at most {LARGEST_FILE:,}"
        )
    try:
        return read_file(file.path) or Failure(readable(file.path), "the file is empty")
    except ImageError as error:
        return Failure(readable(file.path), str(error))
    except OSError as error:
        return Failure(readable(file.path), error.strerror or str(error))


def _named(failures: Sequence[Failure], keyed: Mapping[str, SourceFile]) -> Iterator[Failure]:
    """Return failures by file, under the names that the owner of the files knows."""
    for failure in failures:
        yield Failure(readable(keyed[failure.key].path) if failure.key in keyed else failure.key, failure.reason)
