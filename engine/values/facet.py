"""Facets: how many items have each value of a field, and how its numbers and times are distributed."""

from dataclasses import dataclass

from crossview.engine.values.item import ValueCount

FACET_VALUES, MOST_FACETS = 20, 100
"""Number of values of a facet by default, and maximum number of fields of one call."""


@dataclass(frozen=True)
class Bin:
    """The items with a number of at least ``start`` and less than ``end``; an item counts once."""

    start: float
    end: float
    items: int


@dataclass(frozen=True)
class Period:
    """The items with a time in a year, a month or a day, in UTC; an item counts once."""

    start: str
    """``2021``, ``2021-05`` or ``2021-05-31``: the period that a condition on a date compares with."""
    items: int


@dataclass(frozen=True, kw_only=True)
class Facet:
    """The values of a field among some items. An item with several values counts for each of them."""

    field: str
    """As in a condition."""
    values: tuple[ValueCount, ...] = ()
    """The most frequent values. Those of ``key`` and ``path`` are folders, which end with a slash."""
    other_values: int = 0
    """Number of further values."""
    missing: int = 0
    """Number of items without a value; for ``key`` and ``path``, of items that are directly in the folder."""
    numbers: tuple[Bin, ...] = ()
    """The numbers, in bins of one width in ascending order, without gaps; empty for a field without numbers."""
    times: tuple[Period, ...] = ()
    """The periods that contain a time, in ascending order: years, months or days, whichever are finest and few."""
