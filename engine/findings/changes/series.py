"""The pictures of a collection as versions of one page or view, in the order of time."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.extractors import find_view
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.findings.changes.times import Timeline, timeline
from crossview.engine.values.errors import InvalidInputError, NotReadyError, call
from crossview.engine.values.item import Capture
from crossview.features.gist import GRID
from crossview.features.page import Page

EXTRACTOR = "gist"
FEWEST = 3
"""Minimum number of versions for learning."""


@dataclass(frozen=True, eq=False)
class Series:
    """Versions in the order of time.

    Attributes:
        view: the view of the versions, whose rows are GIST on a grid.
        ids: (n,) ids of the items.
        keys: keys of the items.
        paths: paths of the pictures, used as names only: a server must not open a path that a client chose.
        line: the times of the versions.
        notes: sentences about left-out versions and possible errors.
    """

    view: ViewRecord
    ids: NDArray[np.int64]
    keys: Sequence[str]
    paths: Sequence[PurePath]
    line: Timeline
    notes: tuple[str, ...]

    @property
    def grid(self) -> int:
        """Cells a side."""
        return grid_of(self.view)

    def rows(self, tx: Transaction, start: int = 0) -> NDArray[np.float32]:
        """Return the feature rows of the versions from a position on, (n - start, d)."""
        ids = self.ids[start:]
        stored = tx.rows.get(self.view, ids.tolist())
        return stored.rows[np.searchsorted(stored.ids, ids)]

    def pages(self, tx: Transaction, start: int = 0) -> list[Page | None]:
        """Return the page beside each picture from a position on; None for a picture without a page."""
        ids = self.ids[start:].tolist()
        captures = tx.captures.get(ids)
        return [captures[item].page if item in captures else None for item in ids]

    def position(self, name: str) -> int:
        """Return the position of a version by its key or file name; InvalidInputError unless exactly one matches."""
        places = self._places.get(name, ())
        if len(places) == 1:
            return places[0]
        if places:
            raise InvalidInputError(f"{len(places)} versions have files named {name!r}: use a key")
        raise InvalidInputError(f"{name!r} is not a version: use a key, such as {self.keys[0]!r}")

    @cached_property
    def _places(self) -> dict[str, tuple[int, ...]]:
        """Positions of versions by the names of their files and by their keys, which take precedence."""
        places: dict[str, tuple[int, ...]] = {}
        for place, path in enumerate(self.paths):
            places[path.name] = (*places.get(path.name, ()), place)
        return places | {key: (place,) for place, key in enumerate(self.keys)}


def read_series(tx: Transaction, view: str = "", gone: Collection[str] = ()) -> Series:
    """Return the versions of a collection: its items with a picture and a row of the view, except the keys ``gone``.

    Raises NotFoundError for an unknown view, InvalidInputError for a view of another kind and for pictures in unknown
    order, NotReadyError without a view of this kind, or with fewer than three versions.
    """
    record = _view(tx, view)
    items = tx.items.by_id(tx.rows.ids(record).tolist())
    pictures = {number: item for number, item in items.items() if item.source}
    missing = set(gone)
    present = {number: item for number, item in pictures.items() if item.key not in missing}
    if len(present) < FEWEST:
        raise NotReadyError(
            f"learning changes needs {FEWEST} or more versions, and collection {tx.name()!r} has {len(present)} "
            f"pictures with view {record.name!r}: add some with: ",
            call("collection.index", ["PATH"]),
        )
    numbers = list(present)
    paths = [PurePath(present[number].source) for number in numbers]
    stored = tx.captures.get(numbers)
    captures = [stored.get(number, Capture()) for number in numbers]
    line = timeline(paths, lambda place: captures[place].taken, lambda place: captures[place].modified_ns / 1e9 or None)
    order = line.order.tolist()
    versions = [present[numbers[place]] for place in order]
    notes = list(line.notes)
    if left_out := len(pictures) - len(present):
        notes.append(f"{left_out} versions whose files have disappeared are left out")
    if unread := sum(not capture.stamp for capture in captures):
        notes.append(f"{unread} versions have no stored EXIF data and pages: index their files again")
    sizes = Counter((item.width, item.height) for item in versions)
    if len(sizes) > 1:
        ((width, height), most), *_ = sizes.most_common(1)
        differing = len(versions) - most
        notes.append(
            f"{differing} of {len(versions)} pictures are not {width} x {height} like the others; all are resized to a "
            "square, so regions may not match"
        )
    return Series(
        record,
        np.array([numbers[place] for place in order], np.int64),
        [item.key for item in versions],
        [paths[place] for place in order],
        line,
        tuple(notes),
    )


def grid_of(view: ViewRecord) -> int:
    """Return the number of cells of a side of a view's grid."""
    return int(view.params.get("grid", GRID))


def _view(tx: Transaction, name: str) -> ViewRecord:
    if name:
        record = find_view(tx, name)
        if record.extractor != EXTRACTOR:
            raise InvalidInputError(f"comparing regions needs a view {EXTRACTOR}, and {name!r} is {record.extractor}")
        return record
    views = [record for record in tx.views.all() if record.extractor == EXTRACTOR]
    if not views:
        raise NotReadyError(
            f"collection {tx.name()!r} has no view {EXTRACTOR} to compare regions by: add one with: ",
            call("collection.views.add", "regions=gist:grid=10:size=320"),
            ", and index its pictures again",
        )
    return max(views, key=grid_of)
