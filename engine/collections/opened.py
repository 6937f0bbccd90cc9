"""An open collection, which all its services share, and its warnings of conditions that no item meets."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.catalog.ingest.near_names import near_names
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.snapshot_files import SnapshotFiles
from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.tree import COMPARISONS, EVERY, Condition, Field, FieldTest, Value
from crossview.engine.values.errors import CrossviewError, NotReadyError, warn_of
from crossview.engine.values.info import SpaceInfo
from crossview.engine.values.item import FACTS, FILE
from crossview.features.pictures import Pictures

if TYPE_CHECKING:
    from crossview.engine.spaces.search import Pages
    from crossview.engine.spaces.space import Space
    from crossview.engine.spaces.versions import Versions


_MOST_LABELS, _MOST_TESTS = 20, 20
"""Number of labels of a condition, and of its other tests, that are looked for, each among all items."""
_LEAST: Mapping[str, tuple[Any, Value]] = {
    "number": (int | float, -sys.float_info.max),
    "date": (Date, Date("0001-01-01")),
}
"""The type of the values of each kind in conditions, and a value that none of them is less than."""
_MOST_REMEMBERED = 10_000


class Unmet:
    """The warnings of an open collection. Several threads may call the methods at once."""

    def __init__(self, columns: ItemColumns) -> None:
        self._columns = columns
        self._met: set[Condition] = set()
        """Conditions without a warning so far, which need no further look."""

    def is_met(self, condition: Condition) -> bool:
        """Return whether items had all that a condition names when it was last looked at."""
        return condition in self._met

    def warn(self, tx: Transaction, condition: Condition, nothing: bool) -> None:
        """Warn of each label, view or attribute that a condition names and no item has, with similar names.

        A condition without a warning so far is only looked at again if it chose ``nothing``.
        """
        if not nothing and self.is_met(condition):
            return
        # One test of each missing attribute is looked for, and the tests of those that exist.
        tests = list(dict.fromkeys(condition.tests()))
        lacking = set(self._lacking(tx, tests))
        first = {test.field: test for test in reversed(tests) if test.field in lacking}
        looked = [test for test in tests if first.get(test.field, test) is test][:_MOST_TESTS]
        texts = [text for test in looked for text in self._of(tx, test)]
        for text in texts:
            warn_of(text)
        if not texts:
            if len(self._met) >= _MOST_REMEMBERED:
                self._met.clear()
            self._met.add(condition)

    def _lacking(self, tx: Transaction, tests: Iterable[FieldTest]) -> Iterator[Field]:
        """Yield the attributes that no item has, of the first ones."""
        fields = dict.fromkeys(test.field for test in tests if test.field.kind == "attribute")
        for field in list(fields)[:_MOST_TESTS]:
            if not self._any(tx, FieldTest(field, "exists")):
                yield field

    def _of(self, tx: Transaction, test: FieldTest) -> Iterator[str]:
        kind, by_name = test.field.kind, test.operator in ("in", "prefix")
        if kind == "label" and test.operator == "in":
            for label in test.values[:_MOST_LABELS]:
                if not self._any(tx, FieldTest(test.field, "in", (label,))):
                    yield f"no item has the label {label!r}{_similar(str(label), tx.items.label_counts())}"
        elif kind == "attribute" and not self._any(tx, FieldTest(test.field, "exists")):
            name, names = ".".join(test.field.path), tx.items.attribute_names()
            if test.field.path[0] in names:
                facts = [f"{FILE}.{fact}" for fact in FACTS]
                names = facts if test.field.path[0] == FILE and name not in facts else []
            similar = _similar(name, names)
            yield f"no item has the attribute {name!r}{similar}"
        elif kind == "view" and by_name and test.values and not self._any(tx, test):
            yield f"no item has {test}{_similar(str(test.values[0]), [view.name for view in tx.views.all()])}"
        elif ((kind == "attribute" and by_name) or (kind, test.operator) == ("key", "prefix")) and not self._any(
            tx, test
        ):
            yield f"no item has {test}"
        elif kind == "attribute" and test.operator in COMPARISONS:
            yield from self._of_another_type(tx, test)

    def _of_another_type(self, tx: Transaction, test: FieldTest) -> Iterator[str]:
        """Yield a warning of a comparison with a value of a type that no item has in the field."""
        for kind, (type_, least) in _LEAST.items():
            if isinstance(test.values[0], type_) and not self._any(tx, FieldTest(test.field, ">=", (least,))):
                has = [
                    other for other, (_, low) in _LEAST.items() if self._any(tx, FieldTest(test.field, ">=", (low,)))
                ]
                existing = f": it has {' and '.join(f'{name}s' for name in has)}" if has else ""
                yield f"no item has a {kind} in {test.field}{existing}"

    def _any(self, tx: Transaction, test: FieldTest) -> bool:
        return bool(len(self._columns.matching(tx, test)))


def _similar(name: str, names: Iterable[str]) -> str:
    similar = near_names(name, names)
    return f" (similar: {', '.join(similar)})" if similar else ""


class Opened:
    """The open catalog of a collection, and its data in memory.

    Reading and writing raise NotFoundError after the deletion of the collection, NotReadyError after ``close``, and
    StorageError if the file system or the database fails.
    """

    def __init__(self, folder: CollectionFolder, pictures: Pictures) -> None:
        self.folder = folder
        self.pictures = pictures
        self.catalog: Catalog = folder.open_catalog()
        self.loaded: LoadedSpaces = LoadedSpaces(self.catalog, pictures)
        self.columns: ItemColumns = ItemColumns()
        self.unmet: Unmet = Unmet(self.columns)
        self.files: SnapshotFiles = SnapshotFiles(self.catalog, folder)
        self.files.remove_unnamed()
        self.reader: Versions | None = None
        """None until the first search."""
        self.pages: WeakSet[Pages] = WeakSet()
        """The pages that callers have not closed."""
        self._closed = False
        self._beginning = threading.Lock()

    def close(self) -> None:
        """Save the indexes for the next opening and close the catalog."""
        if self.reader is not None and not self._closed:
            self.reader.close()
            if self.folder.is_alive():
                with suppress(CrossviewError):
                    self.reader.save()
        self._closed = True
        for pages in list(self.pages):
            pages.close()
        self.catalog.close()

    def check_open(self) -> None:
        """Raise NotReadyError if the collection is closed."""
        if self._closed:
            raise NotReadyError(f"collection {self.folder.name!r} is closed: open it again")

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction that reads."""
        self.check_open()
        self.folder.check_alive()
        with self.catalog.read() as tx:
            yield tx

    @property
    def writable(self) -> Catalog:
        """The catalog, after a check that the collection is open and alive."""
        self.check_open()
        self.folder.check_alive()
        return self.catalog

    def described(self, space: SpaceInfo) -> SpaceInfo:
        """Return the description of a space with the recall of its searches in this process."""
        return space if self.reader is None else self.reader.live.described(space)

    def warn_of_unmet(self, condition: Condition, nothing: bool) -> None:
        """Warn of what a condition names and no item has; ``nothing``: whether it left a search without a hit."""
        if condition != EVERY and (nothing or not self.unmet.is_met(condition)):
            with self.read() as tx:
                self.unmet.warn(tx, condition, nothing)

    def versions(self) -> "Versions":
        """Return the versions from which searches answer."""
        self.check_open()
        self.folder.check_alive()
        with self._beginning:
            if self.reader is None:
                from crossview.engine.spaces.versions import Versions

                self.reader = Versions(self.catalog, self.files, self.loaded, self.columns)
            return self.reader

    def add_generation(
        self,
        name: str,
        activate: bool | None,
        prepare: "Callable[[Transaction], Callable[[], Space]]",
        request_id: str,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Fit and store the next generation of a space."""
        from crossview.engine.spaces.generations import add_generation

        with self.folder.working():
            return add_generation(self.writable, self.versions(), name, prepare, activate, request_id, progress)
