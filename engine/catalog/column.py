"""A column: the values of one field of all items, typed and in memory, against which conditions are tested."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.words import COMPARED, Mask, Words
from crossview.engine.values.conditions.dates import NO_MOMENT, Date
from crossview.engine.values.conditions.tree import COMPARISONS, FieldTest, Value

Ids = NDArray[np.int64]
Values = Iterable[tuple[int, Any]]
"""Values of a field, each with the id of its item. An item can have several, or an object or list without elements."""
_MOST_PARTS = 8
"""Number of later parts after which they become one."""
_WORTH_JOINING = 0.1
"""Share of the first values that later ones may have before a column is read again."""
_PART = 1_400
"""Approximate bytes of a part without values."""


class Typed(NamedTuple):
    """Values of one type."""

    ids: Ids
    """(n,)"""
    values: NDArray[Any]
    """(n,): numbers, booleans, or places of texts in the words."""
    consecutive: bool
    """Whether the ids are consecutive numbers; a mask over ids is then several times as fast."""

    @classmethod
    def with_ids(cls, ids: Ids, values: NDArray[Any]) -> Self:
        """Return values, (n,), with the ids of their items."""
        return cls(ids, values, are_consecutive(ids))

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, Any]], dtype: type) -> Self:
        """Return pairs of an id and a value."""
        ids = np.fromiter((item for item, _ in pairs), np.int64, len(pairs))
        return cls.with_ids(ids, np.fromiter((value for _, value in pairs), dtype, len(pairs)))

    @classmethod
    def joined(cls, pieces: Sequence["Typed"]) -> "Typed":
        """Return several as one."""
        ids = np.concatenate([piece.ids for piece in pieces])
        return cls.with_ids(ids, np.concatenate([piece.values for piece in pieces]))

    def mark(self, mask: Mask, flags: Mask) -> None:
        """Add the items of the chosen values, (n,), to a mask over ids."""
        if self.consecutive:
            mask[self.ids[0] : self.ids[-1] + 1] |= flags
        else:
            mask[self.ids[flags]] = True

    def chosen(self, mask: Mask) -> tuple[Ids, NDArray[Any]]:
        """Return the ids, (n,), and the values, (n,), of the items of a mask over ids."""
        some = mask[self.ids]
        return self.ids[some], self.values[some]

    def among(self, mask: Mask) -> Iterator[tuple[int, Any]]:
        """Yield the id and the value of each value of the items of a mask over ids."""
        ids, values = self.chosen(mask)
        yield from zip(ids.tolist(), values.tolist(), strict=True)

    def once(self) -> Self:
        """Return the same values, each once for each item."""
        if len(self.ids) < 2 or bool((self.ids[1:] > self.ids[:-1]).all()):  # items with one value
            return self
        order = np.lexsort((self.values, self.ids))
        ids, values = self.ids[order], self.values[order]
        first = np.concatenate([[True], (ids[1:] != ids[:-1]) | (values[1:] != values[:-1])])
        return self.with_ids(ids[first], values[first])

    def without(self, gone: Mask) -> Self:
        """Return the values without those of the items of a mask over ids."""
        mask = ~gone[self.ids]
        return self if mask.all() else self.with_ids(self.ids[mask], self.values[mask])


def are_consecutive(ids: Ids) -> bool:
    """Return whether ids, (n,), are consecutive numbers; False without ids."""
    return len(ids) > 0 and bool((ids[1:] == ids[:-1] + 1).all())


class Part:
    """Values of some items, by type."""

    nulls: Ids
    booleans: Typed
    numbers: Typed
    texts: Typed
    words: Words

    def __init__(self, present: Ids, nulls: Ids, booleans: Typed, numbers: Typed, texts: Typed, words: Words) -> None:
        self.present = present
        """The items that have the field."""
        self.nulls, self.booleans, self.numbers, self.texts, self.words = nulls, booleans, numbers, texts, words

    @classmethod
    def of(cls, values: Values) -> "Part":
        """Return the part of some values."""
        present, nulls = list[int](), list[int]()
        booleans, numbers, texts = (list[tuple[int, Any]]() for _ in range(3))
        places: dict[str, int] = {}
        for item, value in values:
            present.append(item)
            for element in value if isinstance(value, list) else (value,):
                if isinstance(element, str):
                    texts.append((item, places.setdefault(element, len(places))))
                elif element is None:
                    nulls.append(item)
                elif isinstance(element, bool):
                    booleans.append((item, element))
                elif isinstance(element, int | float):
                    numbers.append((item, element))
        return cls(
            np.array(present, np.int64),
            np.array(nulls, np.int64),
            Typed.of(booleans, np.bool_),
            Typed.of(numbers, np.float64),
            Typed.of(texts, np.int32),
            Words(places),
        )

    @classmethod
    def of_text(cls, ids: Ids, text: str) -> "Part":
        """Return the part of items, (n,), that all have one text."""
        none, texts = cls.of(()), Typed.with_ids(ids, np.zeros(len(ids), np.int32))
        return cls(ids, none.nulls, none.booleans, none.numbers, texts, Words((text,)))

    @classmethod
    def joined(cls, parts: Sequence["Part"]) -> "Part":
        """Return parts as one."""
        firsts = np.cumsum([0, *(len(part.words) for part in parts)])
        texts = [part.texts._replace(values=part.texts.values + at) for part, at in zip(parts, firsts, strict=False)]
        return cls(
            np.concatenate([part.present for part in parts]),
            np.concatenate([part.nulls for part in parts]),
            Typed.joined([part.booleans for part in parts]),
            Typed.joined([part.numbers for part in parts]),
            Typed.joined(texts),
            Words(word for part in parts for word in part.words),
        )

    @cached_property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        typed = (self.booleans, self.numbers, self.texts)
        arrays = (self.present, self.nulls, *(array for column in typed for array in (column.ids, column.values)))
        return _PART + sum(array.nbytes for array in arrays) + self.words.nbytes

    def without(self, gone: Mask) -> "Part":
        """Return the part without the items of a mask over ids."""
        return Part(
            self.present[~gone[self.present]],
            self.nulls[~gone[self.nulls]],
            self.booleans.without(gone),
            self.numbers.without(gone),
            self.texts.without(gone),
            self.words,
        )

    def mark(self, mask: Mask, test: FieldTest) -> None:
        """Add the items with a value that passes a test to a mask over ids."""
        if test.operator == "exists":
            self.mark_present(mask)
        elif test.operator == "in":
            self._mark_equal(mask, test.values)
        else:
            (value,) = test.values
            if isinstance(value, int | float):
                self.numbers.mark(mask, COMPARED[test.operator](self.numbers.values, value))
            else:
                self._mark_texts(mask, self._words_passing(test.operator, value))

    def mark_present(self, mask: Mask) -> None:
        """Add the items that have the field to a mask over ids."""
        if self._consecutive:
            mask[self.present[0] : self.present[-1] + 1] = True
        else:
            mask[self.present] = True

    @cached_property
    def _consecutive(self) -> bool:
        return are_consecutive(self.present)

    @cached_property
    def distinct_nulls(self) -> Ids:
        """The items with null."""
        return np.unique(self.nulls)

    @cached_property
    def distinct_booleans(self) -> Typed:
        """The booleans, each once for each item."""
        return self.booleans.once()

    @cached_property
    def distinct_numbers(self) -> Typed:
        """The numbers, each once for each item."""
        return self.numbers.once()

    @cached_property
    def distinct_texts(self) -> Typed:
        """The texts, each once for each item, as the first of their places in the words."""
        return self.texts._replace(values=self.words.first_places[self.texts.values]).once()

    def values(self, mask: Mask) -> Iterator[tuple[int, Value]]:
        """Yield the id and the value of each value, except null, of the items of a mask over ids."""
        yield from self.booleans.among(mask)
        yield from self.numbers.among(mask)
        yield from ((item, self.words[place]) for item, place in self.texts.among(mask))

    def _mark_equal(self, mask: Mask, values: Sequence[Any]) -> None:
        texts = [value for value in values if isinstance(value, str)]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if texts:
            self._mark_texts(mask, self.words.among(texts))
        for date in values:
            if isinstance(date, Date):
                self._mark_texts(mask, self.words.dates_compared("=", date))
        if numbers:
            equal = self.numbers.values == numbers[0] if len(numbers) == 1 else np.isin(self.numbers.values, numbers)
            self.numbers.mark(mask, equal)
        for boolean in {value for value in values if isinstance(value, bool)}:
            self.booleans.mark(mask, self.booleans.values == boolean)
        if None in values:
            mask[self.nulls] = True

    def _words_passing(self, operator: str, value: Any) -> Mask:
        if isinstance(value, Date):
            return self.words.dates_compared(operator, value)
        if operator in COMPARISONS:
            return self.words.compared(operator, value)
        of_text: Mapping[str, Callable[[str], Mask]] = {
            "prefix": self.words.beginning,
            "contains": self.words.containing,
            "like": self.words.like,
        }
        return of_text[operator](value)

    def _mark_texts(self, mask: Mask, words: Mask) -> None:
        self.texts.mark(mask, words[self.texts.values])


class Column(NamedTuple):
    """The values of a field of all items: those of a first state, and of the items that changed since."""

    first: tuple[Part, ...]
    later: tuple[Part, ...] = ()

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        return sum(part.nbytes for part in (*self.first, *self.later))

    def after(self, gone: Mask, changed: Part) -> "Column":
        """Return the column without the items of a mask over ids, and with the values of changed items."""
        first, later = (tuple(part.without(gone) for part in parts) for parts in self)
        if not len(changed.present):
            return Column(first, later)
        return Column(first, (*later, changed) if len(later) < _MOST_PARTS else (Part.joined((*later, changed)),))

    def has_room(self, changed: int) -> bool:
        """Return whether the column can follow so many changes; otherwise it is better to read it again."""
        first, later = (sum(len(part.present) for part in parts) for parts in self)
        return later + changed <= _WORTH_JOINING * first + 1_000


def order_of(parts: Iterable[Part], ids: Ids, greatest_first: bool) -> NDArray[np.intp]:
    """Return the places of distinct items, (n,), in the order of their values of a field.

    Items with a number come first (true is 1), then those with a date, then those with another text, and last those
    without a value. Dates are moments, as in conditions. If an item has several values, the first of them in this order
    counts. Items with equal values keep their order.
    """
    place_of = np.full(int(ids.max(initial=-1)) + 1, -1)
    place_of[ids] = np.arange(len(ids))
    first, sign = (np.fmax, -1) if greatest_first else (np.fmin, 1)
    numbers, moments, ranks = keys = np.full((3, len(ids)), np.nan)
    texts: list[tuple[Ids, list[str]]] = []
    for part in parts:
        for typed in (part.booleans, part.numbers):
            places, values = _placed(typed, place_of)
            first.at(numbers, places, values.astype(np.float64))
        places, values = _placed(part.texts, place_of)
        of_date = part.words.moments[values]
        dated = of_date != NO_MOMENT
        first.at(moments, places[dated], of_date[dated].astype(np.float64))
        texts.append((places[~dated], [part.words[value] for value in values[~dated].tolist()]))
    rank_of = {word: rank for rank, word in enumerate(sorted({word for _, words in texts for word in words}))}
    for places, words in texts:
        first.at(ranks, places, np.array([rank_of[word] for word in words], np.float64))
    present = ~np.isnan(keys)
    kinds = np.where(present.any(axis=0), present.argmax(axis=0), len(keys))
    values = sign * np.append(keys, np.zeros((1, len(ids))), axis=0)[kinds, np.arange(len(ids))]
    return np.lexsort((values, kinds))


def _placed(typed: Typed, place_of: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the places of the values of some items, and the values; a place of -1 means another item."""
    places = place_of[typed.ids[typed.ids < len(place_of)]]
    values = typed.values[typed.ids < len(place_of)]
    return places[places >= 0], values[places >= 0]
