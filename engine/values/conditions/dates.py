"""Dates and date-times (RFC 3339) that conditions compare."""

import re
from calendar import monthrange
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from crossview.engine.values.errors import InvalidInputError

DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([Tt]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:\d{2})?)?)?")
"""A month, a day or a time. A time without an offset is in UTC; an attribute can have a blank instead of the T."""
NO_MOMENT = -(2**63)
_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Date:
    """A period of a condition: a month, a day, or the moment of a date-time.

    A moment equals the period if it is in the period; it is less if it is before the period, greater if it is after.
    """

    text: str
    period: tuple[int, int] = field(init=False, compare=False, repr=False)
    """The first and last microsecond since 1970."""

    def __post_init__(self) -> None:
        """Raise InvalidInputError for an impossible date."""
        vars(self)["period"] = _period(self.text)

    @classmethod
    def of(cls, value: date) -> "Date":
        """Return the period of a ``datetime.date`` or ``datetime.datetime``."""
        return cls(value.isoformat())


def moment(text: str) -> int:
    """Return the microseconds since 1970 of a day (its beginning) or a date-time; ``NO_MOMENT`` for any other text."""
    if text[:4].isdecimal() and DATE.fullmatch(text.replace(" ", "T", 1)) and len(text) > len("2021-05"):
        try:
            return _micros(text)
        except (ValueError, OverflowError):
            pass
    return NO_MOMENT


def _period(text: str) -> tuple[int, int]:
    if not DATE.fullmatch(text):
        raise InvalidInputError(f"{text!r} is not a date: write 2021-05, 2021-05-31 or 2021-05-31T10:00:00Z")
    try:
        if len(text) == len("2021-05"):
            year, month = map(int, text.split("-"))
            return _micros(f"{text}-01"), _last(f"{text}-{monthrange(year, month)[1]:02}")
        if len(text) == len("2021-05-31"):
            return _micros(text), _last(text)
        return (instant := _micros(text)), instant
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{text!r} is not a date of the calendar: {error}") from None


def _micros(text: str) -> int:
    instant = datetime.fromisoformat(text.upper())
    return ((instant if instant.tzinfo else instant.replace(tzinfo=UTC)) - _START) // _MICROSECOND


def _last(day: str) -> int:
    return (datetime.combine(date.fromisoformat(day), time.max, UTC) - _START) // _MICROSECOND
