"""The times of versions of a page: from the names of their files, their EXIF data, or the files' times."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.errors import InvalidInputError
from crossview.features.errors import ImageError
from crossview.features.metadata import metadata
from crossview.features.pictures import read_file

_NAME = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)[-_.]?(?P<month>\d\d)[-_.]?(?P<day>\d\d)"
    r"(?:[T _.-]*(?P<hour>\d\d)[-_:.h]?(?P<minute>\d\d)(?:[-_:.m]?(?P<second>\d\d))?)?(?!\d)"
)
_CLOCK = re.compile(r"\d\d[-_:.h]\d\d(?:[-_:.m]\d\d)?")
_SINCE_1970 = re.compile(r"[1-3]\d{9}(?:\d{3})?")  # seconds or milliseconds, from 2001 to 2096
_PERIOD = re.compile(r"(?P<amount>\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?P<unit>steps?|min|m|h|d|w)")
_UNITS = {"m": 1 / 60, "min": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}
_STEPS = ("step", "steps")
_USUAL_STEPS = 4
_LATE, _REGULAR = 0.1, 0.8  # most times between versions are the usual one, nearly
SOURCES = "names", "EXIF data", "times of the files"
LEAST_SHARE = 0.75
"""Minimum share of the pictures whose time a source must know; the other pictures are left out."""

Seconds = Callable[[int], float | None]
"""A function of a position that returns the picture's time in seconds since 1970; None if unknown."""


@dataclass(frozen=True)
class Period:
    """The time after which a page has probably changed: gamma of the paper.

    Attributes:
        amount: number of steps or hours.
        steps: whether only the order of versions counts, not the time between them.
    """

    amount: float
    steps: bool

    @classmethod
    def parse(cls, text: str) -> "Period":
        """Return the period of a text such as ``4h``, ``90min``, ``2d`` or ``4steps``.

        Raises InvalidInputError for anything else.
        """
        match = _PERIOD.fullmatch(text.strip())
        if not match or not float(match["amount"]) > 0:
            raise InvalidInputError(
                f"a period must be a number of steps, min, h, d or w, such as 4h or 4steps, not {text!r}"
            )
        unit = match["unit"]
        if unit in _STEPS:
            return cls(float(match["amount"]), steps=True)
        return cls(float(match["amount"]) * _UNITS[unit], steps=False)


@dataclass(frozen=True, eq=False)
class Timeline:
    """Versions in the order of time.

    Attributes:
        order: (n,) positions of the versions among the given pictures.
        times: (n,) times in this order.
        source: the source of the times, one of ``SOURCES``.
        notes: sentences about pictures without a time, and about better sources that could not be used.
    """

    order: NDArray[np.int64]
    times: Sequence[datetime]
    source: str
    notes: tuple[str, ...] = ()

    def hours(self) -> NDArray[np.float64]:
        """Return the (n,) hours since the first version."""
        return np.array([(time - self.times[0]) / timedelta(hours=1) for time in self.times])

    def usual_period(self) -> str:
        """Return four times the usual time between versions, as in the paper; in steps if times are irregular."""
        steps = np.diff(self.hours())
        usual = float(np.median(steps))
        regular = float(np.mean(np.abs(steps - usual) <= _LATE * usual))
        return f"{_USUAL_STEPS * usual:.3g}h" if regular >= _REGULAR else f"{_USUAL_STEPS}steps"

    def positions(self, period: Period) -> NDArray[np.float64]:
        """Return the (n,) times in the unit of a period: hours, or steps."""
        return np.arange(len(self.times), dtype=np.float64) if period.steps else self.hours()


def timeline(paths: Sequence[PurePath], taken: Seconds, modified: Seconds) -> Timeline:
    """Return picture files in the order of time, by the first of ``SOURCES`` that orders most of them.

    No file is opened: ``paths`` has their names, and ``taken`` and ``modified`` return their other times. A few
    pictures without a time are left out, because other pictures may lie beside the versions of a page.

    Raises InvalidInputError if times are missing or the same in every source.
    """
    readers: Sequence[Callable[[int], datetime | None]] = (
        lambda place: named_time(paths[place]),
        lambda place: _time(taken(place)),
        lambda place: _time(modified(place)),
    )
    reasons: list[str] = []
    doubts: list[str] = []
    for source, read in zip(SOURCES, readers, strict=True):
        times = {place: time for place in range(len(paths)) if (time := read(place)) is not None}
        untold = _untold(paths, times)
        if len(set(times.values())) == len(times) >= LEAST_SHARE * len(paths):
            order = sorted(times, key=lambda place: times[place])
            notes = [f"pictures are ordered by their {source}: {'; '.join(doubts)}"] if doubts else []
            notes += [f"left out: {untold} in their {source}"] if untold else []
            return Timeline(np.array(order, np.int64), tuple(times[place] for place in order), source, tuple(notes))
        reasons.append(f"{untold} in their {source}")
        doubts += reasons[-1:] if times else []
    raise InvalidInputError(
        f"the order of {len(paths)} pictures is not known: {'; '.join(reasons)}. Put the time into each name, "
        "such as 2026-03-09T15-30.png"
    )


def file_timeline(paths: Sequence[Path]) -> Timeline:
    """Return local picture files in the order of time; see ``timeline``."""
    return timeline(paths, lambda place: _taken(paths[place]), lambda place: _modified(paths[place]))


def _taken(path: Path) -> int | None:
    try:
        return metadata(read_file(path)).taken
    except (OSError, ImageError):
        return None


def _untold(paths: Sequence[PurePath], times: Mapping[int, datetime]) -> str:
    """Return the numbers of pictures without a time and with the time of another, with examples; "" for none."""
    missing = [path.name for place, path in enumerate(paths) if place not in times]
    first: dict[datetime, int] = {}
    same = [paths[place].name for place, time in times.items() if first.setdefault(time, place) != place]
    counts = ((missing, "without a time"), (same, "with the time of another"))
    parts = [f"{len(names):,} of {len(paths):,} {what} (such as {names[0]})" for names, what in counts if names]
    return " and ".join(parts)


def named_time(path: PurePath) -> datetime | None:
    """Return the time in the name of a file; None if the name has none.

    Examples: 2026-03-09T15-30-00, 20260309_1530, only seconds since 1970, or 15-30 in a folder 2026-03-09.
    """
    if _SINCE_1970.fullmatch(path.stem):
        return datetime.fromtimestamp(int(path.stem[:10]), UTC)
    return _dated(path.stem) or _dated(path.parent.name + (f" {path.stem}" if _CLOCK.fullmatch(path.stem) else ""))


def _dated(name: str) -> datetime | None:
    for match in _NAME.finditer(name):
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        try:
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError:
            continue
    return None


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
