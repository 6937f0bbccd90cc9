"""The shapes of changes and explanations on pages and in reports: places of a time line, and regions of pictures."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from crossview.engine.values.changes import Change
from crossview.engine.values.explanation import AgreeingPart, Agreement, Contribution, Explanation

_MOST_MOMENTS, _MOST_TICKS = 600, 9
_STEPS = tuple(timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 168, 336, 720, 1440, 4320, 8760))
"""Times between the ticks of a time line."""
_LEAST = 0.02
"""Share of the strongest region below which a region is not drawn."""
_WORDS, _BINS = 8, 8
"""Maximum number of visual words that are drawn, and of bars."""
_SMALLEST = 0.005
"""Least agreement of a part that gets a bar."""


class Cell(NamedTuple):
    """A rectangle over a picture, as percentages, and its strength from 0 to 1."""

    x: float
    y: float
    width: float
    height: float
    strength: float


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


def added(explanation: Explanation) -> list[tuple[Contribution, float]]:
    """Return the contributions to the place of an item with their shares, the greatest first."""
    return sorted(
        zip(explanation.contributions, explanation.shares(), strict=True), key=lambda pair: abs(pair[1]), reverse=True
    )


def words(agreement: Agreement) -> list[AgreeingPart]:
    """Return the visual words with key points in both pictures."""
    return [part for part in agreement.parts if part.query_places and part.item_places][:_WORDS]


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
