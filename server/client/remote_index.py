"""Indexing pictures of this machine on a server: the client sends only new and changed files, in batches."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crossview.engine.any_collection import AnyCollection
from crossview.engine.catalog.roots import free_alias
from crossview.engine.errors import NotReadyError
from crossview.engine.ingest.annotations import Annotations, checked_columns, label_notes
from crossview.engine.ingest.capturing import read_capture, read_metadata, wanted_stamp
from crossview.engine.ingest.file_keys import deleted_before, match_files, moved_items
from crossview.engine.ingest.interruption import Committed, interruptible
from crossview.engine.ingest.plan import sample_size
from crossview.engine.ingest.updating import changed_record
from crossview.engine.ingest.walk import SourceFile, readable, walk
from crossview.engine.item import (
    Failure,
    ImportReport,
    IndexOptions,
    Item,
    ItemUpdate,
    NewItem,
    Picture,
    content_hash,
)
from crossview.engine.runtime.progress import Progress
from crossview.features.errors import ImageError
from crossview.features.pictures import IN_PROCESS, read_file
from crossview.server.settings import MESSAGE_BYTES
from crossview.server.wire.message_batches import batches, merged
from crossview.server.wire.pages import LARGEST_SIZE

LARGEST_FILE = MESSAGE_BYTES - 64 * 1024
"""Maximum bytes of a file, which leaves room in a message for its other fields."""

_Entry = NewItem | ItemUpdate | None
"""The message for a file; None if the client sends nothing."""


def index(
    collection: AnyCollection, paths: Sequence[Path | str], options: IndexOptions, progress: Progress | None
) -> ImportReport:
    """Index pictures on a server; see ``Collection.index``. First fit unfitted views to a sample of the pictures."""
    began = time.monotonic()
    annotations = Annotations(options.labels, options.captions, options.replace_labels, options.label_notion)
    walked = walk(paths)
    annotations.read_keywords(walked.files, IN_PROCESS)
    notes = checked_columns(collection.items, annotations.files, options.new_attributes)
    known = _known(collection)
    sources = {key: item.source for key, item in known.items()}
    aliases = _aliases(known)

    def add_alias(root: str, wanted: str) -> str:
        aliases[root] = free_alias(wanted, aliases.values())
        return aliases[root]

    matched = match_files(walked.files, walked.folders, sources, aliases, add_alias)
    keyed = dict(matched.files)
    unused = annotations.unused(keyed)
    left_out = set() if options.include_deleted else deleted_before(keyed, known, collection.items.deleted())
    keyed = {key: file for key, file in keyed.items() if key not in left_out}
    _fit(collection, keyed, annotations, progress, options.seed)
    with interruptible() as committed:
        report = _send(collection, keyed, known, annotations, options.metadata, progress, committed)
        unfit = _fit_texts(collection)
    content = {key: item.content_hash for key, item in _known(collection).items()} if matched.gone else {}
    return replace(
        report,
        failures=(*report.failures, *matched.clashing, *unused, *unfit),
        seconds=time.monotonic() - began,
        skipped=dict(+walked.skipped),
        deleted=tuple(sorted(left_out)),
        gone=matched.gone,
        moved=moved_items(matched.gone, content, keyed),
        notes=(*notes, *label_notes(annotations, keyed)),
    )


def _known(collection: AnyCollection) -> dict[str, Item]:
    """Return all items of the collection by key."""
    items: dict[str, Item] = {}
    after = ""
    while page := collection.items(after=after, limit=LARGEST_SIZE):
        items.update((item.key, item) for item in page)
        after = page[-1].key
    return items


def _aliases(known: Mapping[str, Item]) -> dict[str, str]:
    """Return the alias of each root folder by its path, as far as the sources of the items reveal it."""
    roots: dict[str, str] = {}
    for item in known.values():
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
) -> None:
    names = [view.name for view in collection.views() if not view.fitted and "image" in view.inputs]
    if not keyed or not names:
        return
    files = list(keyed.items())
    chosen = np.random.default_rng(seed).permutation(len(files))[: sample_size(len(files))]

    def pictures() -> Iterator[Picture]:
        for done, number in enumerate(sorted(chosen), 1):
            key, file = files[number]
            data = _read(file)
            if isinstance(data, bytes) and data:
                yield Picture(data, annotations.of(file, key).labels or ())
            if progress:
                progress("fitting", done, len(chosen))

    collection.views.fit(pictures(), views=names, seed=seed)


def _fit_texts(collection: AnyCollection) -> list[Failure]:
    """Make the server fit the unfitted text views, and compute the missing rows of its texts."""
    views = collection.views()
    waiting = {kind: view.name for view in views if not view.fitted for kind in view.inputs}
    if any("text" in view.inputs for view in views) and "image" not in waiting:
        try:
            collection.views.fit(())
        except NotReadyError as error:  # there are too few texts
            return [Failure(waiting["text"], str(error))]
    return []


def _send(
    collection: AnyCollection,
    keyed: Mapping[str, SourceFile],
    known: Mapping[str, Item],
    annotations: Annotations,
    metadata: str | None,
    progress: Progress | None,
    committed: Committed,
) -> ImportReport:
    """Send new and changed files in batches, and return the report."""
    views = {view.name for view in collection.views() if "image" in view.inputs}
    failures: list[Failure] = []
    pages: list[Failure] = []
    reports: list[ImportReport] = []
    skipped = done = 0
    entries = _entries(keyed, known, views, annotations, metadata, failures, pages)
    for batch in batches(entries, _weight):
        if new := [entry for entry in batch if isinstance(entry, NewItem)]:
            reports.append(collection.items.put(new))
        if updates := [entry for entry in batch if isinstance(entry, ItemUpdate)]:
            reports.append(collection.items.update(updates))
        committed.items = sum(one.added + one.updated for one in reports)
        done, skipped = done + len(batch), skipped + batch.count(None)
        if progress:
            progress("indexing", min(done, len(keyed)), len(keyed))
    report = merged(reports)
    unchanged = report.unchanged + skipped - len(failures)
    return replace(report, unchanged=unchanged, failures=(*failures, *pages, *_named(report.failures, keyed)))


def _weight(entry: _Entry) -> int:
    return len(entry.image or b"") if isinstance(entry, NewItem) else 0


def _entries(
    keyed: Mapping[str, SourceFile],
    known: Mapping[str, Item],
    views: set[str],
    annotations: Annotations,
    metadata: str | None,
    failures: list[Failure],
    pages: list[Failure],
) -> Iterator[_Entry]:
    """Yield the entries to send, file by file; None for an unchanged file and for an unreadable one.

    Adds unreadable files to ``failures``, and unusable pages beside pictures to ``pages``.
    """
    for key, file in keyed.items():
        data = _read(file)
        if isinstance(data, Failure):
            failures.append(data)
            yield None
            continue
        stored, annotation = known.get(key), annotations.of(file, key)
        update = annotation.update(key, annotations.labels_given)
        before = "" if stored is None else stored.stamp
        if before != (stamp := wanted_stamp(file, before, metadata)):
            capture, failure = read_capture(file, read_metadata(data, {}, 0), stamp)
            update = replace(update, capture=capture)
            pages += [] if failure is None else [failure]
        if stored is None or stored.content_hash != content_hash(data) or not views <= set(stored.views):
            yield _new_item(data, file, update)
            if stored is not None and annotation.removed_attributes:
                yield ItemUpdate(key, removed_attributes=annotation.removed_attributes)
        else:
            yield update if changed_record(update, stored, annotations.labels_given) else None


def _new_item(data: bytes, file: SourceFile, one: ItemUpdate) -> NewItem:
    source = readable(file.path)
    return NewItem(
        one.key,
        image=data,
        labels=one.labels,
        attributes=one.attributes,
        source=source,
        text=one.text,
        labels_given=one.labels_given,
        notion_labels=one.notion_labels,
        capture=one.capture,
    )


def _read(file: SourceFile) -> bytes | Failure:
    if file.size > LARGEST_FILE:
        return Failure(
            readable(file.path), f"{file.size:,} bytes do not fit into one message: at most {LARGEST_FILE:,}"
        )
    try:
        return read_file(file.path)
    except ImageError as error:
        return Failure(readable(file.path), str(error))
    except OSError as error:
        return Failure(readable(file.path), error.strerror or str(error))


def _named(failures: Sequence[Failure], keyed: Mapping[str, SourceFile]) -> Iterator[Failure]:
    """Return failures by file, under the names that the owner of the files knows."""
    for failure in failures:
        yield Failure(readable(keyed[failure.key].path) if failure.key in keyed else failure.key, failure.reason)
