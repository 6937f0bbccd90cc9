"""What pages and reports draw of changes and explanations: regions and key points over pictures, and bars."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from crossview.engine.values.changes import Change
from crossview.engine.values.explanation import AgreeingPart, Agreement, Explanation, Place

_MOST_MOMENTS, _MOST_TICKS = 600, 9
_STEPS = tuple(timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 168, 336, 720, 1440, 4320, 8760))
"""Times between the ticks of a time line."""
_LEAST = 0.02
"""Share of the strongest region below which a region is not drawn."""
_WORDS, _POINTS, _BINS = 8, 6, 8
"""Maximum number of visual words that are drawn, of key points of each in a picture, and of bars."""
_SMALLEST = 0.005
"""Least agreement of a part that gets a bar."""


class Cell(NamedTuple):
    """A rectangle over a picture, as percentages, and its strength from 0 to 1."""

    x: float
    y: float
    width: float
    height: float
    strength: float


class Mark(NamedTuple):
    """A key point over a picture: its place and size as percentages, and the number of its word."""

    x: float
    y: float
    radius: float
    word: int


class Added(NamedTuple):
    """The contribution of a view and a target to the place of an item."""

    name: str
    share: float
    """Its part of the whole, below 0 if it counts against the item."""
    note: str


class Measured(NamedTuple):
    """What one space has of a figure."""

    name: str
    """The space."""
    share: float
    """The length of its bar, from 0 to 1."""
    value: str
    leads: bool
    """Whether it is the space to look at: the new one, or the best."""
    difference: str = ""
    """The difference to the first space, with its standard error."""
    verdict: str = "faint"
    """Whether the difference is better or worse beyond chance; otherwise faint."""


class Figure(NamedTuple):
    """A figure of several spaces."""

    name: str
    views: str
    spaces: Sequence[Measured]


def verdict(difference: float, error: float | None) -> str:
    """Return whether a difference is at least two standard errors; above 0 is better."""
    if not error or abs(difference) < 2 * error:
        return "faint"
    return "better" if difference > 0 else "worse"


def regions(shares: Sequence[float]) -> list[Cell]:
    """Return the regions of a square grid that matter, as strong as their share of the strongest."""
    side = round(len(shares) ** 0.5)
    most = max(shares, default=0.0) or 1.0
    return [
        Cell(100 * (place % side) / side, 100 * (place // side) / side, 100 / side, 100 / side, share / most)
        for place, share in enumerate(shares)
        if share > _LEAST * most
    ]


class TimeLine:
    """The places of times and of importances, as shares; a square root separates small importances.

    Attributes:
        moments: numbers of changes: all, or the most important one of each of ``_MOST_MOMENTS`` moments.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes
        self._first, self._last = changes[0].time, changes[-1].time
        self._most = max(1.5, *(change.importance for change in changes))
        step = -(-len(changes) // _MOST_MOMENTS)
        moments = (range(first, min(first + step, len(changes))) for first in range(0, len(changes), step))
        self.moments = [max(moment, key=lambda number: changes[number].importance) for moment in moments]

    def across(self, time: datetime) -> float:
        """Return the place of a time, from left to right."""
        return (time - self._first).total_seconds() / ((self._last - self._first).total_seconds() or 1.0)

    def up(self, importance: float) -> float:
        """Return the place of an importance, from the bottom up."""
        return math.sqrt(max(importance, 0.0) / self._most)

    @property
    def levels(self) -> list[int]:
        """The importances with a line: 0, the threshold and powers of 2."""
        return [0, 1, *(level for level in (2, 4, 8, 16, 64, 256, 1024) if level < self._most)]

    @property
    def ticks(self) -> list[tuple[datetime, str]]:
        """The times with a line, and their words."""
        whole = self._last - self._first
        step = next(
            (interval for interval in _STEPS if whole / interval <= _MOST_TICKS),
            whole / _MOST_TICKS or timedelta(hours=1),
        )
        start = self._first.replace(hour=0, minute=0, second=0, microsecond=0)
        start += step * -((start - self._first) // step)
        form = "%Y-%m-%d" if whole > timedelta(days=3) else "%m-%d %H:%M"
        times = [start + number * step for number in range(int((self._last - start) / step) + 1)]
        return [(time, time.strftime(form)) for time in times]


def match(explanation: Explanation) -> float | None:
    """Return the match of an item; None without a calibration."""
    if explanation.measure != "match":
        return None
    return 1 / (1 + math.exp(-explanation.total)) if explanation.total > -700 else 0.0


def added(explanation: Explanation) -> list[Added]:
    """Return the contributions to the place of an item, the greatest first."""
    rows = []
    for part, share in sorted(
        zip(explanation.contributions, explanation.shares(), strict=True), key=lambda pair: -abs(pair[1])
    ):
        notes = [f"rank {part.rank:,} of {part.items:,}"] if part.rank is not None else []
        if part.copy:
            notes = ["a near copy of the query"]
        elif part.match is not None:
            notes.append(f"match {100 * part.match:.0f} %")
        if part.differing_bits is not None:
            notes.append(f"{len(part.differing_bits)} of {part.bits} bits differ")
        rows.append(
            Added(part.view if part.view == part.target else f"{part.view} → {part.target}", share, ", ".join(notes))
        )
    return rows


def words(agreement: Agreement) -> list[AgreeingPart]:
    """Return the visual words with key points in both pictures."""
    return [part for part in agreement.parts if part.query_places and part.item_places][:_WORDS]


def marks(places: Sequence[Sequence[Place]]) -> list[Mark]:
    """Return the largest key points of each word in a picture."""
    return [
        Mark(100 * place.x, 100 * place.y, min(max(50 * place.size, 2.2), 9), word)
        for word, several in enumerate(places)
        for place in several[:_POINTS]
    ]


def cells(agreement: Agreement) -> list[Cell]:
    """Return the places of the picture that agree, as strong as they agree relative to what each picture has there."""
    parts = [part for part in agreement.parts if len(part.box) == 4]
    ratios = [part.agreement / max(part.query, part.item, 1e-9) for part in parts]
    least, most = min(ratios, default=0.0), max(ratios, default=0.0)
    return [
        Cell(100 * x, 100 * y, 100 * (z - x), 100 * (w - y), ((ratio - least) / ((most - least) or 1.0)) ** 2)
        for (x, y, z, w), ratio in zip((part.box for part in parts), ratios, strict=True)
    ]


def bins(agreement: Agreement) -> list[AgreeingPart]:
    """Return the parts that agree most, as bars show them."""
    return [part for part in agreement.parts if part.agreement >= _SMALLEST][:_BINS]
