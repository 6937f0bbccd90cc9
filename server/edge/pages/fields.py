"""The fields of a form or of an address."""

from collections.abc import Iterator
from urllib.parse import parse_qsl

from crossview.server.edge.pages.page_calls import PageError

_MOST_FIELDS = 2_000
_LONGEST = 100_000


class Fields:
    """The fields of a form or of an address, in order; a name can occur several times."""

    def __init__(self, text: str) -> None:
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace")
        except ValueError as error:
            raise PageError(400, f"the form has more than {_MOST_FIELDS:,} fields: send fewer at a time") from error
        self._pairs = [(name, value.replace("\0", "")[:_LONGEST]) for name, value in pairs]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a field, without spaces around it."""
        return next((value.strip() for field, value in reversed(self._pairs) if field == name), default)

    def raw(self, name: str) -> str:
        """Return the last value of a field with the spaces around it."""
        return next((value for field, value in reversed(self._pairs) if field == name), "")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all values of a field that are not empty, each once."""
        return tuple(dict.fromkeys(value for field, value in self._pairs if field == name and value))

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a whole number, the nearest in its range; the default for another text."""
        text = self.text(name)
        return min(most, max(least, int(text))) if text.isascii() and text.isdecimal() and len(text) < 10 else default
