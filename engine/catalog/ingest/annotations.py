"""Annotations: labels, captions and attributes for the files of an indexing run, or for items already indexed."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Protocol

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.ingest.annotation_file import FOLDER, KEYWORDS, Annotation, AnnotationFile, joined
from crossview.engine.catalog.ingest.capturing import beside, read_metadata
from crossview.engine.catalog.ingest.label_texts import LABELS
from crossview.engine.catalog.ingest.walk import SourceFile, readable
from crossview.engine.runtime.ahead import ahead
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.comparisons import check_notion
from crossview.engine.values.errors import Argument, InvalidInputError, Text
from crossview.engine.values.item import Failure, ImportReport, Item, ItemUpdate, Stored
from crossview.engine.values.labels import fault_of_name, remedy
from crossview.features.errors import ImageError
from crossview.features.metadata import Metadata
from crossview.features.pictures import Pictures, PictureTask

_PAGE = 1_000


class Annotations:
    """The labels and captions of the files of one run.

    Labels are ``folder``, ``keywords``, a CSV file or None, and captions ``labels``, a CSV file or None. None keeps the
    stored labels or captions. With ``replace_labels``, files that ``labels`` does not name lose their labels, and the
    names of folders and keywords replace chosen labels. With ``notion``, the labels belong to a notion of similarity,
    and the items' own labels stay.

    Raises InvalidInputError for a file that cannot be used.
    """

    by_folder: bool
    by_keywords: bool

    def __init__(
        self,
        labels: str | Path | None = None,
        captions: str | Path | None = None,
        replace_labels: bool = False,
        notion: str = "",
    ) -> None:
        if notion and labels is None:
            raise InvalidInputError(
                f"the notion {notion!r} needs labels: give ", Argument("labels", "folder"), " or a CSV file"
            )
        self.notion: str = notion and check_notion(notion)
        if replace_labels and labels is None:
            raise InvalidInputError(
                "replacing labels needs new labels: give ", Argument("labels", "folder"), " or a CSV file"
            )
        self.by_folder, self.by_keywords = (labels is not None and str(labels) == word for word in (FOLDER, KEYWORDS))
        self._keywords: dict[Path, tuple[str, ...]] = {}
        self.replace_labels = replace_labels
        self.labels: AnnotationFile | None = (
            None if labels is None or not self.labels_chosen else AnnotationFile(labels)
        )
        self.text_from_labels: bool = captions is not None and str(captions) == LABELS
        self.captions: AnnotationFile | None = (
            None if captions is None or self.text_from_labels else AnnotationFile(captions, "caption")
        )

    @property
    def files(self) -> tuple[AnnotationFile, ...]:
        """The given files."""
        return tuple(filter(None, (self.labels, self.captions)))

    @property
    def have_labels(self) -> bool:
        """Whether the run gives labels, from folders, keywords or a file."""
        return not self.labels_chosen or self.labels is not None

    @property
    def labels_chosen(self) -> bool:
        """Whether a person chose the labels, as opposed to names of folders and keywords."""
        return not (self.by_folder or self.by_keywords)

    @property
    def labels_given(self) -> bool:
        """Whether the labels count as chosen by a person, and replace such labels."""
        return self.labels_chosen or self.replace_labels

    def read_keywords(self, files: Sequence[SourceFile], pictures: Pictures) -> None:
        """Read the keywords of files, if they are labels; a file that cannot be read has none."""
        if not self.by_keywords:
            return
        results = pictures.stream(read_metadata, (PictureTask(file.path, {}) for file in files), checkpoint)
        for file, result in zip(files, results, strict=True):
            file_metadata = Metadata() if isinstance(result, ImageError) else result
            self._keywords[file.path] = tuple(beside(file, file_metadata)[0].facts.get(KEYWORDS, ()))

    def of(self, file: SourceFile, key: str = "") -> Annotation:
        """Return the annotation of a file; ``key`` is the key of its item, if it has one."""
        return replace(self._of(file, key).in_notion(self.notion), text_from_labels=self.text_from_labels)

    def _of(self, file: SourceFile, key: str) -> Annotation:
        names = (*names_of(file), *([key] if key else []))
        sources = (source.of(names) for source in self.files)
        annotation = joined([entry for entry in sources if entry])
        if self.by_folder and (folder := readable(Path(file.path.parent.name))):
            return replace(annotation, labels=tuple(dict.fromkeys((*(annotation.labels or ()), folder))))
        if self.by_keywords:
            words = self._keywords.get(file.path, ())
            return replace(annotation, labels=tuple(dict.fromkeys((*(annotation.labels or ()), *words))))
        if self.replace_labels and annotation.labels is None:
            return replace(annotation, labels=())
        return annotation

    def unused(self, keyed: Mapping[str, SourceFile]) -> list[Failure]:
        """Return the entries that do not name a picture; InvalidInputError if no entry of a file names one."""
        names = {name for key, file in keyed.items() for name in (key, *names_of(file))}
        failures: list[Failure] = []
        for source in self.files:
            unused = source.unused(names)
            if unused and keyed and len(unused) == len(source):
                key, file = next(iter(keyed.items()))
                raise InvalidInputError(
                    f"{source.path} names none of the {len(keyed)} pictures, such as {key!r} or {file.relative!r}; "
                    f"it begins with {unused[0].key!r}. Name pictures by their key, their path below the folder "
                    "indexed, or their full path"
                )
            failures += unused
        return failures


def names_of(file: SourceFile) -> tuple[str, str]:
    """Return the names of a picture's file in annotations: its path below the root, and its full path."""
    return file.relative, readable(file.path)


class Attributed(Protocol):
    """The items of a collection, or of a transaction."""

    def attribute_names(self) -> Sequence[str]:
        """Return the names of the attributes that any item has."""


class Annotatable(Attributed, Protocol):
    """The items of a collection, local or on a server."""

    def keys(self) -> tuple[str, ...]:
        """Return the keys of all items, in their order."""

    def __call__(self, *, after: str = "", limit: int = 100) -> list[Item]:
        """Return items with keys above ``after``, in the order of keys."""

    def update(
        self, updates: Collection[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Change existing items."""


def annotate(
    items: Annotatable,
    path: str | PathLike[str],
    cell: str = "label",
    replace_labels: bool = False,
    notion: str = "",
    new_attributes: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Give the items of a collection the annotations of a CSV file; see ``Items.annotate``."""
    began = time.monotonic()
    if cell == "caption" and str(path) == LABELS:
        keys = items.keys()
        return items.update([ItemUpdate(key, text_from_labels=True) for key in keys], progress=progress)
    if notion:
        check_notion(notion)
    file = path if isinstance(path, AnnotationFile) else AnnotationFile(path, cell)
    notes = checked_columns(items, [file], new_attributes)
    unlabelled = list(_without_label(items, file, notion)) if replace_labels else ()
    report = items.update(_Updates(file, unlabelled, notion), match_paths=True, progress=progress)
    if len(file) and len(report.failures) == len(file) and not report.updated:
        first = report.failures[0]
        raise InvalidInputError(f"{file.path} does not name any item; it begins with {first.key!r}: {first.reason}")
    failures = tuple(_with_line(failure, file) for failure in report.failures)
    return replace(report, failures=failures, seconds=time.monotonic() - began, notes=notes)


class _Updates(Collection[ItemUpdate]):
    """The changes that a file states, and those of the ``unlabelled`` items, which lose their labels.

    Each is made when it is read, so that a large file is not in memory twice.
    """

    def __init__(self, file: AnnotationFile, unlabelled: Sequence[str], notion: str) -> None:
        self._file, self._others, self._notion = file, unlabelled, notion

    def __len__(self) -> int:
        return len(self._file) + len(self._others)

    def __iter__(self) -> Iterator[ItemUpdate]:
        none = Annotation(labels=())
        annotations = chain(self._file.items(), ((key, none) for key in self._others))
        updates = (annotation.in_notion(self._notion).update(name) for name, annotation in annotations)
        for batch in ahead(batches(updates)):
            yield from batch

    def __contains__(self, update: object) -> bool:
        return any(own == update for own in self)


def checked_columns(items: "Attributed", files: Iterable[AnnotationFile], new_attributes: bool) -> tuple[str, ...]:
    """Return notes on new attributes of files; raises the errors of ``AnnotationFile.check_columns``."""
    files = [file for file in files if file.attribute_columns()]
    names = items.attribute_names() if files else ()
    return tuple(note for file in files for note in file.check_columns(names, new_attributes))


def _with_line(failure: Failure, file: AnnotationFile) -> Failure:
    annotation = file.of([failure.key])
    line = f"{file.path}, line {annotation.line}: " if annotation else ""
    return Failure(failure.key, f"{line}{failure.reason}")


def _without_label(items: Annotatable, file: AnnotationFile, notion: str) -> Iterator[str]:
    """Yield the keys of items with labels in a notion ("" for their own) to which a file gives no labels."""
    after = ""
    while page := items(after=after, limit=_PAGE):
        for item in page:
            names = {normal(name) for name in (item.key, item.key.partition("/")[2], item.source) if name}
            annotation = file.of(sorted(names))
            labels = item.notion_labels.get(notion) if notion else item.labels
            if labels and (annotation is None or annotation.labels is None):
                yield item.key
        after = page[-1].key


def label_notes(
    annotations: Annotations, keyed: Mapping[str, SourceFile], stored: Mapping[str, Stored]
) -> tuple[str, ...]:
    """Return a note on a run of these files, with items by key: no file has a label, or some are not classes."""
    if not keyed:
        return ()
    if not annotations.have_labels:
        if annotations.text_from_labels and not any(stored[key].labels for key in keyed.keys() & stored.keys()):
            return (
                Text("no picture has a label, and so none got a text: give ", Argument("labels", "folder"), ", too"),
            )
        return ()
    entries = [annotations.of(file, key) for key, file in keyed.items()]
    if not any(entry.labels or any(entry.notion_labels.values()) for entry in entries):
        return ("no picture got a label",)
    names = sorted({label for entry in entries for label in entry.labels or ()}) if annotations.by_folder else []
    if odd := [name for name in names if fault_of_name(name)]:
        what = "labels that are names of dates or folders rather than classes"
        return (Text(what, "; train without them: ", remedy(odd)),)
    return ()
