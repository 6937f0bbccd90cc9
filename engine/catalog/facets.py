"""Facets of columns: the counts of values, and the histograms of numbers and times, of the items of a mask."""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.checks import MAX_INTEGER
from crossview.engine.catalog.column import Ids, Part, Typed
from crossview.engine.catalog.words import Mask
from crossview.engine.values.conditions.dates import NO_MOMENT
from crossview.engine.values.conditions.tree import Field
from crossview.engine.values.facet import Bin, Facet, Period
from crossview.engine.values.item import ValueCount

MOST_BINS = 20
"""Maximum number of bins of a histogram of numbers."""
MOST_PERIODS = 62
"""Maximum number of days, or else of months, between the first and the last time; otherwise the periods are years."""
_MICROSECONDS = "datetime64[us]"
_UNITS = ("D", "M", "Y")

_Tally = tuple[list[ValueCount], int]
"""The most frequent values of a type, and the number of its distinct values."""


def facet_of(field: Field, parts: Iterable[Part], mask: Mask, limit: int) -> Facet:
    """Return the facet of a field of the items of a mask over ids, with at most ``limit`` values."""
    all_parts = list(parts)
    ids, numbers = _chosen([part.distinct_numbers for part in all_parts], mask, np.float64)
    tallies = [
        *(_most_frequent_text(all_parts, mask, limit), _most_frequent_number(numbers, limit)),
        *_others(all_parts, mask),
    ]
    counts = [count for most_frequent, _ in tallies for count in most_frequent]
    return Facet(
        field=str(field),
        values=tuple(sorted(counts, key=_order)[:limit]),
        other_values=max(0, sum(distinct for _, distinct in tallies) - limit),
        missing=int((mask & ~_valued(all_parts, len(mask))).sum()),
        numbers=_bins(ids, numbers),
        times=_periods(*_moments(all_parts, mask)),
    )


def folders_of(field: Field, parts: Iterable[Part], mask: Mask, limit: int, below: str) -> Facet:
    """Return the folders of the next level below a folder [default: of the first level] with the number of items."""
    counted, prefix = Counter[str](), below if below.endswith("/") or not below else f"{below}/"
    for part in parts:
        words = np.bincount(part.texts.chosen(mask)[1], minlength=len(part.words))
        word_folders = part.words.folders(prefix)
        if words.max(initial=0) <= 1:  # keys are distinct
            counted.update(compress(word_folders, words.tolist()))
        else:
            for folder, count in zip(word_folders, words.tolist(), strict=True):
                counted[folder] += count
    missing = counted.pop(prefix, 0)
    counted.pop("", None)  # other folders
    folders = [ValueCount(name, count) for name, count in counted.items() if count]
    return Facet(
        field=str(field),
        values=tuple(sorted(folders, key=_order)[:limit]),
        other_values=max(0, len(folders) - limit),
        missing=missing,
    )


def _order(counted: ValueCount) -> tuple[Any, ...]:
    """Return the key of the order of values: the most items first, then by type and value."""
    return -counted.items, type(counted.value).__name__, 0 if counted.value is None else counted.value


def _most_frequent_text(parts: Sequence[Part], mask: Mask, limit: int) -> _Tally:
    """Count the texts of the part with the most words in arrays, and add the texts of the later, short parts."""
    if not parts:
        return [], 0
    first, *later = sorted(parts, key=lambda part: -len(part.words))
    counts, added = _text_counts(first, mask), Counter[str]()
    for part in later:
        of_part = _text_counts(part, mask)
        for place in np.flatnonzero(of_part).tolist():
            first_place, count = first.words.place(part.words[place]), int(of_part[place])
            if first_place is None:
                added[part.words[place]] += count
            else:
                counts[first_place] += count
    places, distinct = _greatest(counts, first.words.ranks, limit)
    values = [ValueCount(first.words[place], int(counts[place])) for place in places]
    return values + [ValueCount(word, count) for word, count in added.items()], distinct + len(added)


def _text_counts(part: Part, mask: Mask) -> NDArray[np.int64]:
    return np.bincount(part.distinct_texts.chosen(mask)[1], minlength=len(part.words))


def _most_frequent_number(numbers: NDArray[np.float64], limit: int) -> _Tally:
    distinct, counts = np.unique(numbers, return_counts=True)
    places, count = _greatest(counts, np.arange(len(distinct)), limit)
    return [ValueCount(_number(distinct[place].item()), int(counts[place])) for place in places], count


def _number(value: float) -> float:
    """Return a stored number as JSON had it: a whole number within the limits is an integer."""
    return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value


def _greatest(counts: NDArray[np.int64], ranks: NDArray[np.int64], limit: int) -> tuple[list[int], int]:
    """Return the places of the greatest counts, (n,), and the number of counts above 0; equal counts by their ranks."""
    having = np.flatnonzero(counts)
    sizes = counts[having] * len(counts) - ranks[having]
    greatest = np.argpartition(-sizes, limit - 1)[:limit] if len(having) > limit else np.arange(len(having))
    return having[greatest].tolist(), len(having)


def _others(parts: Sequence[Part], mask: Mask) -> Iterator[_Tally]:
    """Yield the counts of null, true and false."""
    nulls = sum(int(mask[part.distinct_nulls].sum()) for part in parts)
    yield ([ValueCount(None, nulls)], 1) if nulls else ([], 0)
    _, values = _chosen([part.distinct_booleans for part in parts], mask, np.bool_)
    for value in (True, False):
        if count := int((values == value).sum()):
            yield [ValueCount(value, count)], 1


def _valued(parts: Sequence[Part], count: int) -> Mask:
    """Return the mask over ids of the items with a value; an object and a list without elements do not count."""
    mask = np.zeros(count, bool)
    for part in parts:
        for ids in (part.nulls, part.booleans.ids, part.numbers.ids, part.texts.ids):
            mask[ids] = True
    return mask


def _moments(parts: Sequence[Part], mask: Mask) -> tuple[Ids, NDArray[np.int64]]:
    texts = [part.distinct_texts.chosen(mask) for part in parts]
    moments = [part.words.moments[places] for part, (_, places) in zip(parts, texts, strict=True)]
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *(ids for ids, _ in texts)]), np.concatenate([empty, *moments])


def _chosen(columns: Sequence[Typed], mask: Mask, dtype: type) -> tuple[Ids, NDArray[Any]]:
    pairs = [column.chosen(mask) for column in columns]
    values = np.concatenate([np.empty(0, dtype), *(values for _, values in pairs)])
    return np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in pairs)]), values


def _bins(ids: Ids, numbers: NDArray[np.float64]) -> tuple[Bin, ...]:
    """Return the histogram of numbers, (n,), of items, in at most ``MOST_BINS`` bins of a round width."""
    if not len(numbers):
        return ()
    edges = bin_edges(float(numbers.min()), float(numbers.max()), bool((numbers == np.floor(numbers)).all()))
    # the largest finite number is its own upper edge
    places = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, len(edges) - 2)
    counts = np.bincount(_once(ids, places, len(edges)), minlength=len(edges) - 1)
    return tuple(
        Bin(start, end, count)
        for start, end, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    )


def bin_edges(least: float, most: float, whole: bool) -> NDArray[np.float64]:
    """Return the ascending finite edges, (b + 1,), of at most ``MOST_BINS`` bins that contain all numbers of a range.

    The width is 1, 2 or 5 times a power of ten, at least 1 for whole numbers. A range that such a width does not divide
    in floating point is one bin.
    """
    one_bin = np.array([least, min(math.nextafter(most, math.inf), sys.float_info.max)])
    span = most / 2 - least / 2  # half of the range, which does not overflow
    if span == 0 and not whole:
        return one_bin
    least_width = max(span / ((MOST_BINS - 1) / 2), 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(least_width)) if 1e-300 < least_width < 1e300 else 0.0
    width = next((step * power for step in (1, 2, 5, 10) if step * power >= least_width * (1 - 1e-9)), 0.0)
    if not width or not np.isfinite(width):
        return one_bin
    first = math.floor(least / width)
    with np.errstate(over="ignore"):  # an edge above all finite numbers makes one bin
        edges = (first + np.arange(math.floor(most / width) - first + 2, dtype=np.float64)) * width
    if not np.isfinite(edges).all():
        return one_bin
    edges = edges[np.searchsorted(edges, least, side="right") - 1 :]
    edges = edges[: np.searchsorted(edges, most, side="right") + 1]
    fits = 1 < len(edges) <= MOST_BINS + 2 and edges[0] <= least and edges[-1] > most and (np.diff(edges) > 0).all()
    return edges if fits else one_bin


def _periods(ids: Ids, moments: NDArray[np.int64]) -> tuple[Period, ...]:
    """Return the periods of times in microseconds since 1970, (n,); another text has none."""
    dated = moments != NO_MOMENT
    times, ids = moments[dated].view(_MICROSECONDS), ids[dated]
    if not len(times):
        return ()
    for unit in _UNITS:
        periods = times.astype(f"datetime64[{unit}]")
        if int((periods.max() - periods.min()).astype(np.int64)) < MOST_PERIODS:
            break
    starts, places = np.unique(periods, return_inverse=True)
    counts = np.bincount(_once(ids, places, len(starts)), minlength=len(starts))
    return tuple(map(Period, np.datetime_as_string(starts).tolist(), counts.tolist()))


def _once(ids: Ids, places: NDArray[np.intp], count: int) -> NDArray[np.int64]:
    """Return the places of values, (n,), below ``count``; equal places of one item once."""
    if len(ids) < 2 or bool((ids[1:] > ids[:-1]).all()):  # one value of each item
        return places
    return np.asarray(np.unique(ids * count + places) % count)
