"""Agreement: what the raw rows of a query and of items have in common, in parts that a person understands."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.version import Version
from crossview.engine.values.explanation import AgreeingPart, Agreement, Place
from crossview.engine.values.query import Query
from crossview.features.base import Extractor, ImageExtractor, Part, TextExtractor
from crossview.features.errors import ImageError
from crossview.features.pictures import PictureTask
from crossview.features.reading import points as read_points

MOST_PLACES = 20
"""Maximum number of key points of one part in one picture."""
_BYTES = 120
"""Approximate bytes of a part or a key point in an answer."""
Floats = NDArray[np.float64]


class Compared(NamedTuple):
    """The raw rows of a query and of items in one view, and how far they are apart."""

    view: str
    query: NDArray[np.float32]
    """(d,)."""
    items: Mapping[int, NDArray[np.float32]]
    """The row of each item by id, (d,)."""
    squares: Mapping[int, Floats]
    """The squared difference of each column for each item, (d,); empty unless columns are those of the space."""


class Agreements:
    """Agreements of one query with items, by view."""

    def __init__(self, version: Version, query: Query, own: int | None, most: int) -> None:
        """``own`` is the id of the item of a query by key, ``most`` the maximum number of parts of a view."""
        self._version, self._query, self._own, self._most = version, query, own, most

    def of(self, compared: Compared) -> dict[int, list[Agreement]]:
        """Return the agreements of each item in a view, one for each of the view's parts that has parts of its own."""
        found: dict[int, list[Agreement]] = defaultdict(list)
        end = 0
        for record in self._version.joined_view(compared.view).parts:
            start, end = end, end + record.dim
            made = self._of_view(
                record,
                compared.query[start:end],
                {item: row[start:end] for item, row in compared.items.items()},
                {item: squares[start:end] for item, squares in compared.squares.items()},
            )
            for item, agreement in made.items():
                found[item].append(agreement)
        return found

    def _of_view(
        self,
        record: ViewRecord,
        query: NDArray[np.float32],
        items: Mapping[int, NDArray[np.float32]],
        squares: Mapping[int, Floats],
    ) -> dict[int, Agreement]:
        extractor = self._version.loaded.extractor(record)
        if isinstance(extractor, TextExtractor):
            return self._of_words(record.name, extractor, items)
        parts = extractor.parts()
        if not parts:
            return {}
        groups = np.zeros(record.dim, np.intp)
        for number, part in enumerate(parts):
            groups[list(part.columns)] = number
        places = self._places(record.name, extractor, items)
        made = {}
        for item, row in items.items():
            checkpoint()
            first, second = _shares(query), _shares(row)
            common = np.minimum(first, second)
            columns = [_summed(groups, values, len(parts)) for values in (first, second, common)]
            apart = _summed(groups, squares[item], len(parts)) if item in squares else None
            of_both = places.get(None, {}), places.get(item, {})
            made[item] = self._agreement(record.name, parts, columns, apart, of_both)
        return made

    def _agreement(
        self,
        view: str,
        parts: Sequence[Part],
        columns: Sequence[Floats],
        apart: Floats | None,
        places: Sequence[Mapping[int, tuple[Place, ...]]],
    ) -> Agreement:
        """Return the agreement of one item; ``columns`` are the shares of the query, of the item, and of both."""
        order = np.argsort(-columns[2], kind="stable")
        chosen = order[: self._most]
        listed = []
        for number in chosen.tolist():
            part, (first, second) = parts[number], [of_one.get(number, ()) for of_one in places]
            take_room(_BYTES * (1 + len(first) + len(second)))
            listed.append(
                AgreeingPart(
                    name=part.name,
                    query=float(columns[0][number]),
                    item=float(columns[1][number]),
                    agreement=float(columns[2][number]),
                    squared_distance=None if apart is None else float(apart[number]),
                    color=part.color,
                    box=part.box,
                    query_places=first,
                    item_places=second,
                )
            )
        return Agreement(
            view=view,
            agreement=float(columns[2].sum()),
            parts=tuple(listed),
            other_squared_distance=None if apart is None else float(apart[order[self._most :]].sum()),
        )

    def _of_words(self, view: str, extractor: TextExtractor, items: Mapping[int, Any]) -> dict[int, Agreement]:
        """Return the agreement of the words of texts; none without the text of the query, as for a vector."""
        with self._version.read() as tx:
            texts = tx.items.texts([*items, *(() if self._own is None else (self._own,))])
        asked = texts.get(self._own, "") if self._own is not None else extractor.query_text(self._query.text or "")
        first, made = extractor.word_weights(asked), {}
        for item in items if first else ():
            second = extractor.word_weights(texts.get(item, ""))
            words = [*first, *(word for word in second if word not in first)]
            shares = [np.array([one.get(word, 0.0) for word in words]) for one in (first, second)]
            parts = [Part(word, ()) for word in words]
            made[item] = self._agreement(view, parts, [*shares, np.minimum(*shares)], None, ({}, {}))
        return made

    def _places(
        self, view: str, extractor: Extractor, items: Mapping[int, Any]
    ) -> dict[int | None, dict[int, tuple[Place, ...]]]:
        """Return the key points in the pictures by item, None for the query, and by part; {} for other views."""
        if not isinstance(extractor, ImageExtractor) or type(extractor).points is ImageExtractor.points:
            return {}
        pictures: dict[int | None, bytes | None] = {None: self._query.image}
        with self._version.read() as tx:
            if self._own is not None:
                pictures[None] = tx.items.thumbnail(self._own)
            pictures |= {item: tx.items.thumbnail(item) for item in items}
        known = {one: picture for one, picture in pictures.items() if picture is not None}
        tasks = [PictureTask(picture, {view: extractor}) for picture in known.values()]
        found = self._version.loaded.pictures.run(read_points, tasks, checkpoint)
        return {
            one: _by_part(rows[view])
            for one, rows in zip(known, found, strict=True)
            if not isinstance(rows, ImageError)
        }


def _shares(row: NDArray[np.float32]) -> Floats:
    """Return the shares of a row without negative values, (d,), which sum to 1; zeros for zeros."""
    values = np.maximum(row.astype(np.float64), 0)
    return np.asarray(values / max(values.sum(), np.finfo(np.float64).tiny))


def _summed(groups: NDArray[np.intp], values: Floats, count: int) -> Floats:
    """Return the sums of values, (d,), over the columns of each of ``count`` groups."""
    return np.asarray(np.bincount(groups, values, count), np.float64)


def _by_part(rows: NDArray[np.float32]) -> dict[int, tuple[Place, ...]]:
    """Return the key points of each part, the largest first, from rows of x, y, diameter and part."""
    found: dict[int, list[Place]] = defaultdict(list)
    for x, y, size, part in rows[np.argsort(-rows[:, 2], kind="stable")].tolist():
        if len(found[int(part)]) < MOST_PLACES:
            found[int(part)].append(Place(x=x, y=y, size=size))
    return {part: tuple(places) for part, places in found.items()}
