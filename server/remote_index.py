"""Indexing pictures of this machine on a server: walk here, leave out what the server has, send the rest in batches."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.errors import NotReadyError
from engine.extraction import content_hash, read_file
from engine.fitting import sample_size
from engine.interruption import interruptible
from engine.item import Failure, ImportReport, Item, NewItem, Picture
from engine.progress import Progress
from engine.said import Said
from engine.views import input_of
from engine.walk import SourceFile, readable, walk
from features.errors import ImageError
from server.backend import CollectionBackend
from server.batches import batches, merged
from server.limits import MESSAGE_BYTES
from server.pages import LARGEST_SIZE

LARGEST_FILE = MESSAGE_BYTES - 64 * 1024
"""What fits into a message beside the item's other fields."""


@dataclass(frozen=True)
class _Known:
    """What the server has, and where it was read from."""

    items: Mapping[str, Item]
    roots: Mapping[str, str]
    """Folder by alias, as far as the items' sources tell."""


def index(
    collection: CollectionBackend,
    paths: Sequence[Path],
    labels: str | Path | None,
    progress: Progress | None,
    captions: str | Path | None = None,
) -> ImportReport:
    """Indexes on a server; see ``Collection.index``. Views that need it are fitted on a sample first."""
    began = time.monotonic()
    said = Said(labels, captions)
    files = list(walk(paths))
    unused = said.unused(files)
    keyed = _keys(files, known := _known(collection))
    _fit(collection, files, said, progress)
    views = {view.name for view in collection.views() if input_of(view) == "image"}
    failures: list[Failure] = []
    reports: list[ImportReport] = []
    skipped = done = 0
    entries = _entries(keyed, known.items, views, said, failures)
    with interruptible() as committed:
        for batch in batches(entries, lambda entry: len(entry.image or b"") if entry is not None else 0):
            new = [entry for entry in batch if entry is not None]
            if new:
                reports.append(collection.import_items(new))
                committed.items += reports[-1].added + reports[-1].updated
            done, skipped = done + len(batch), skipped + len(batch) - len(new)
            if progress:
                progress("indexing", done, len(keyed))
        unfit = _fit_texts(collection)
    report = merged(reports)
    unchanged = report.unchanged + skipped - len(failures)
    failed = (*failures, *_named(report.failures, keyed), *unused, *unfit)
    return ImportReport(report.added, report.updated, unchanged, failed, time.monotonic() - began)


def _known(collection: CollectionBackend) -> _Known:
    items: dict[str, Item] = {}
    roots: dict[str, str] = {}
    after = ""
    while page := collection.items(after=after, limit=LARGEST_SIZE):
        for item in page:
            items[item.key] = item
            alias, _, relative = item.key.partition("/")
            if item.source.endswith(f"/{relative}"):
                roots.setdefault(alias, item.source.removesuffix(f"/{relative}"))
        after = page[-1].key
    return _Known(items, roots)


def _keys(files: Sequence[SourceFile], known: _Known) -> dict[str, SourceFile]:
    """Files by key: an alias of their root, its name where no other folder has it, and the path below the root."""
    roots = dict(known.roots)
    for root in dict.fromkeys(readable(file.root) for file in files):
        if root not in roots.values():
            wanted = Path(root).name or "root"
            number, alias = 1, wanted
            while alias in roots:
                number += 1
                alias = f"{wanted}-{number}"
            roots[alias] = root
    aliases = {root: alias for alias, root in roots.items()}
    return {f"{aliases[readable(file.root)]}/{file.relative}": file for file in files}


def _fit(
    collection: CollectionBackend, files: Sequence[SourceFile], said: Said, progress: Progress | None, seed: int = 0
) -> None:
    names = [view.name for view in collection.views() if not view.fitted and input_of(view) == "image"]
    if not files or not names:
        return
    chosen = np.random.default_rng(seed).permutation(len(files))[: sample_size(len(files))]

    def pictures() -> Iterator[Picture]:
        for done, number in enumerate(sorted(chosen), 1):
            data = _read(files[number])
            if isinstance(data, bytes) and data:
                yield Picture(data, said.labels(files[number]) or ())
            if progress:
                progress("fitting", done, len(chosen))

    collection.fit_views(pictures(), views=names, seed=seed)


def _fit_texts(collection: CollectionBackend) -> list[Failure]:
    """Has the server fit the text views that wait for texts, and compute the rows that its texts lack."""
    views = collection.views()
    waiting = {input_of(view): view.name for view in views if not view.fitted}
    if "text" in map(input_of, views) and "image" not in waiting:
        try:
            collection.fit_views(())
        except NotReadyError as error:  # the texts are too few
            return [Failure(waiting["text"], str(error))]
    return []


def _entries(
    keyed: Mapping[str, SourceFile],
    known: Mapping[str, Item],
    views: set[str],
    said: Said,
    failures: list[Failure],
) -> Iterator[NewItem | None]:
    """What is to be sent, file by file; None for a file that is not: the server has it, or it joins ``failures``."""
    for key, file in keyed.items():
        data = _read(file)
        if isinstance(data, Failure):
            failures.append(data)
            yield None
            continue
        there = known.get(key)
        wanted, text = said.labels(file), said.text(file)
        labels = wanted if wanted is not None else there.labels if there else ()
        attributes = there.attributes if there else {}
        same = there is not None and there.content_hash == content_hash(data) and views <= set(there.views)
        if there and same and there.labels == tuple(sorted(labels)):
            new = None if text in (None, there.text) else NewItem(key, labels=labels, attributes=attributes, text=text)
            yield new
        else:
            yield NewItem(key, data, labels=labels, attributes=attributes, source=readable(file.path), text=text)


def _read(file: SourceFile) -> bytes | Failure:
    if file.size > LARGEST_FILE:
        return Failure(readable(file.path), f"{file.size:,} bytes are too many for one message ({LARGEST_FILE:,})")
    try:
        return read_file(file.path)
    except ImageError as error:
        return Failure(readable(file.path), str(error))
    except OSError as error:
        return Failure(readable(file.path), error.strerror or str(error))


def _named(failures: Sequence[Failure], keyed: Mapping[str, SourceFile]) -> Iterator[Failure]:
    """Failures by file, as the person who owns the files knows them."""
    for failure in failures:
        yield Failure(readable(keyed[failure.key].path) if failure.key in keyed else failure.key, failure.reason)
