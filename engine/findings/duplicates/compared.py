"""The pictures to compare: their facts, fingerprints, rows and thumbnails, from one collection or two."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.bulk import batches
from crossview.engine.catalog.catalog import Catalog, Transaction
from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.findings.duplicates.candidates import ViewNeighbors
from crossview.engine.runtime.cancellation import checkpoint, report_progress
from crossview.engine.values.errors import BusyError, StorageError
from crossview.engine.values.item import content_hash
from crossview.features.alignment import SmallPicture
from crossview.features.content import LONGEST
from crossview.features.decode import decode
from crossview.features.errors import ImageError
from crossview.features.files import read_regular
from crossview.features.fingerprint import packed_fingerprints
from crossview.features.formats import HEAD_BYTES
from crossview.features.image import PREVIEW_SIDE, Image

_AT_ONCE = 500
"""Number of thumbnails in memory while fingerprints are made."""
_KEPT = 2_000
"""Number of decoded thumbnails in memory, of up to 130 kB each."""
_NARROWEST = 8
"""Shorter side of a thumbnail, in pixels, from which on it shows enough: a picture of 1000 x 50 has 6."""
_WHOLE = 3
"""Number of pictures in memory with all their pixels."""
_PREVIEWS = 400
"""Number of decoded previews in memory, of up to 800 kB each."""
_SEEING = ("color", "gist")
"""Extractors whose rows see most copies; they need no fitting, so that rows of two collections are comparable."""
_MOST_VIEWS = 2
_CODES = (8, 8)

Read = Callable[[], AbstractContextManager[Transaction]]


@dataclass(frozen=True)
class Source:
    """An open collection, as far as the search for duplicates needs it."""

    name: str
    read: Read
    catalog: Catalog
    ids: Collection[int] | None = None
    """The items to compare; None: all."""


class Compared:
    """The pictures of a source and, if there is another, of that one, by place."""

    def __init__(self, own: Source, other: Source | None = None) -> None:
        self._sources = [own] if other is None else [own, other]
        parts = [_pictures(source) for source in self._sources]
        self.pictures: Sequence[StoredPicture] = [picture for part, _ in parts for picture in part]
        """The facts about each picture."""
        self.unreadable: int = sum(failed for _, failed in parts)
        """Number of pictures left out because their thumbnails cannot be read."""
        self.other: NDArray[np.bool_] = np.repeat([False, True][: len(parts)], [len(part) for part, _ in parts])
        """(n,) whether a picture is of the other source."""
        packed = b"".join(picture.codes for picture in self.pictures)
        self.codes: NDArray[np.uint8] = np.frombuffer(packed, np.uint8).reshape(-1, *_CODES)
        """(n, 8, 8) the fingerprints."""
        self.narrow: set[int] = set[int]()
        """Places of pictures whose thumbnails are too narrow to compare, as far as ``small`` met them."""
        self._jpegs: dict[int, bytes] = {}
        self._pixels = lru_cache(_WHOLE)(self._read_pixels)
        self._heads: dict[int, bytes] = {}
        self._decoded = lru_cache(_KEPT)(self._decode)
        self._previewed = lru_cache(_PREVIEWS)(self._preview)

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def side(self) -> NDArray[np.bool_] | None:
        """Whether each picture is of the other source; None with one source."""
        return self.other if len(self._sources) > 1 else None

    def views(self) -> list[ViewNeighbors]:
        """Return the rows of the pictures in the views that see most copies."""
        with self._sources[0].read() as tx:
            views = _chosen(tx.views.all(), alone=len(self._sources) == 1)
        neighbours = []
        for view in views:
            parts = [_rows(source, view, self._places(number)) for number, source in enumerate(self._sources)]
            if all(part is not None for part in parts):
                places, rows = zip(*(part for part in parts if part is not None), strict=True)
                neighbours.append(ViewNeighbors(np.concatenate(places), np.concatenate(rows)))
        return neighbours

    def load(self, places: Iterable[int]) -> None:
        """Read the thumbnails of pictures, for ``small``."""
        missing = [place for place in dict.fromkeys(places) if place not in self._jpegs]
        for number, source in enumerate(self._sources):
            of_source = {self.pictures[place].id: place for place in missing if self.other[place] == bool(number)}
            with source.read() as tx:
                self._jpegs |= {of_source[item]: jpeg for item, jpeg in tx.fingerprints.thumbnails(of_source)}

    def small(self, place: int) -> SmallPicture | None:
        """Return the thumbnail of a picture; None if it was just deleted, cannot be read or is too narrow."""
        return self._decoded(place)

    def preview(self, place: int) -> Image | None:
        """Return the picture with its longest side at most ``PREVIEW_SIDE``; None if it was just deleted."""
        return self._previewed(place)

    def whole(self, place: int) -> Image | None:
        """Return the picture in its file, with its longest side at most ``LONGEST``.

        None without a file that can be read and has not changed since it was indexed.
        """
        picture = self.pictures[place]
        if max(picture.width, picture.height) <= PREVIEW_SIDE:
            return self.preview(place)
        data = self.file(place)
        with suppress(ImageError):
            return None if data is None else decode(data, max_side=LONGEST).image
        return None

    def pixels(self, place: int) -> Image | None:
        """Return the picture in its file with all its pixels; None without a readable file that has not changed."""
        return self._pixels(place)

    def _read_pixels(self, place: int) -> Image | None:
        data = self.file(place)
        with suppress(ImageError):
            return None if data is None else decode(data, max_side=None).image
        return None

    def head(self, place: int) -> bytes:
        """Return the first bytes of a picture's file, which tell its format; b"" without a readable file."""
        if place not in self._heads:
            self._heads[place] = self._head(place)
        return self._heads[place]

    def _head(self, place: int) -> bytes:
        path = self.sources([place]).get(place, "")
        with suppress(OSError, ValueError):
            return read_regular(path, HEAD_BYTES) if path else b""
        return b""

    def file(self, place: int) -> bytes | None:
        """Return the bytes of a picture's file, if they are still those that were indexed; otherwise None."""
        picture, path = self.pictures[place], self.sources([place]).get(place, "")
        # At most the size: the file may have grown without an end.
        with suppress(OSError, ValueError):
            data = read_regular(path, picture.size + 1) if path else b""
            return data if len(data) == picture.size and content_hash(data) == picture.content_hash else None
        return None

    def taken(self, places: Iterable[int]) -> dict[int, int]:
        """Return when pictures were taken, in seconds, by place, as far as their EXIF data states it."""
        times: dict[int, int] = {}
        places = list(places)
        for number, source in enumerate(self._sources):
            of_source = {self.pictures[place].id: place for place in places if self.other[place] == bool(number)}
            with source.read() as tx:
                captures = tx.captures.get(of_source)
            times |= {of_source[item]: capture.taken for item, capture in captures.items() if capture.taken is not None}
        return times

    def annotated(self, places: Iterable[int]) -> set[int]:
        """Return the places of pictures that a person has annotated: with chosen labels, attributes or a text."""
        annotated, places = set[int](), list(places)
        for number, source in enumerate(self._sources):
            of_source = {self.pictures[place].id: place for place in places if self.other[place] == bool(number)}
            with source.read() as tx:
                ids = tx.items.with_given_labels(list(of_source))
                items = tx.items.by_id(list(of_source))
            ids |= {item for item, row in items.items() if row.attributes or (row.text and not row.text_from_labels)}
            annotated |= {of_source[item] for item in ids}
        return annotated

    def sources(self, places: Iterable[int]) -> dict[int, str]:
        """Return the paths of the files of pictures, by place."""
        paths, places = dict[int, str](), list(places)
        for number, source in enumerate(self._sources):
            of_source = {self.pictures[place].id: place for place in places if self.other[place] == bool(number)}
            with source.read() as tx:
                paths |= {of_source[item]: path for item, path in tx.items.each("source", of_source)}
        return paths

    def collection(self, place: int) -> str:
        """Return the name of the other collection if the picture is from there, otherwise ""."""
        return self._sources[1].name if self.other[place] else ""

    def _places(self, number: int) -> dict[int, int]:
        return {picture.id: place for place, picture in enumerate(self.pictures) if self.other[place] == bool(number)}

    def _preview(self, place: int) -> Image | None:
        source = self._sources[int(self.other[place])]
        item = self.pictures[place].id
        with source.read() as tx:
            jpeg = tx.items.pictures([item], "large").get(item)
        with suppress(ImageError):
            return None if jpeg is None else decode(jpeg).image
        return None

    def _decode(self, place: int) -> SmallPicture | None:
        if place not in self._jpegs:
            self.load([place])
        with suppress(ImageError, KeyError):
            small = SmallPicture.read(self._jpegs[place])
            if min(small.luma.shape) >= _NARROWEST:
                return small
            self.narrow.add(place)
        return None


def _pictures(source: Source) -> tuple[list[StoredPicture], int]:
    """Return the pictures of a source with their fingerprints, and the number of those that have none."""
    with source.read() as tx:
        pictures = tx.fingerprints.pictures(source.ids)
    lacking = [row for row in pictures if not row.codes]
    codes = dict[int, bytes]()
    for some in batches(lacking, _AT_ONCE):
        checkpoint()
        codes |= _made(source, some)
        report_progress(len(codes), len(lacking))
    if codes:
        with suppress(BusyError, StorageError):  # another call stores them; a home may be read-only
            _store(source.catalog, {row.id: row for row in lacking}, codes)
    complete = [row if row.codes else row._replace(codes=codes.get(row.id, b"")) for row in pictures]
    usable = [row for row in complete if row.codes]
    return usable, len(complete) - len(usable)


def _made(source: Source, pictures: Sequence[StoredPicture]) -> dict[int, bytes]:
    with source.read() as tx:
        jpegs = dict(tx.fingerprints.thumbnails(picture.id for picture in pictures))
    codes = {}
    for item, jpeg in jpegs.items():
        with suppress(ImageError):
            codes[item] = packed_fingerprints(jpeg)
    return codes


def _store(catalog: Catalog, read: dict[int, StoredPicture], codes: dict[int, bytes]) -> None:
    """Store fingerprints of pictures that have not changed since they were read."""
    with catalog.write() as tx:
        now = {picture.id: picture for picture in tx.fingerprints.pictures(codes)}
        same = (item for item, picture in now.items() if picture == read[item])
        tx.fingerprints.put({item: codes[item] for item in same})


def _chosen(views: Sequence[ViewRecord], alone: bool) -> list[ViewRecord]:
    """Return the views to look for neighbours in: first those that see most copies; ``alone``: of one collection."""
    seeing = [view for name in _SEEING for view in views if view.extractor == name]
    rest = [view for view in views if view.extractor not in (*_SEEING, "text") and view.revision] if alone else []
    return [*seeing, *rest][:_MOST_VIEWS]


def _rows(
    source: Source, view: ViewRecord, places: dict[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
    """Return the places and the rows of the pictures of a source that have a row; None without such a view."""
    with source.read() as tx:
        same = [
            record
            for record in tx.views.all()
            if (record.extractor, record.params, record.dim) == (view.extractor, view.params, view.dim)
        ]
        if not same:
            return None
        stored = tx.rows.get(same[0], None if source.ids is None else places)
    present = np.array([place in places for place in stored.ids.tolist()], bool)
    ids = stored.ids[present].tolist()
    return np.array([places[item] for item in ids], np.int64), stored.rows[present]
