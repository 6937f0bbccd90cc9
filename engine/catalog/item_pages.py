"""The content of hits, by item id, in memory: read on first use, and kept in pages."""

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.items import Changes
from crossview.engine.values.query import Hit

ITEMS_A_PAGE, READ_AT_ONCE = 256, 4
_parsed = json.JSONDecoder().raw_decode
"""Skips the search for blanks around the value, which takes as long as decoding it."""
MOST_BYTES = 400 << 20
"""Maximum memory for items: enough for a million without long texts and attributes. The oldest pages are dropped
first."""
_ITEM = 300
"""Bytes of an item in Python without its characters."""
_HIT = 64
"""Bytes of a hit without the content of its item."""
_OF_LIST: Mapping[str, Any] = {
    "scores": {},
    "targets": (),
    **dict.fromkeys(("match", "similarity", "probability", "base_rate")),
}
"""The fields of a hit that its list determines, without values."""


class Shown(NamedTuple):
    """The content of an item that a hit shows."""

    key: str
    labels: tuple[str, ...]
    attributes: str
    """JSON."""
    source: str
    text: str
    """The beginning of the text."""
    missing: bool = False
    """Whether the file is missing."""

    @property
    def size(self) -> int:
        """Approximate bytes of a hit that shows the item."""
        labels = sum(map(len, self.labels)) if self.labels else 0
        return _HIT + len(self.key) + labels + len(self.attributes) + len(self.source) + len(self.text)

    def hit(self, distance: float, target: str, **of_list: Any) -> Hit:
        """Return the item as a hit; ``of_list`` are the fields of a hit that its list determines."""
        # the constructor of a frozen dataclass sets fields one by one, which takes four times as long
        hit = object.__new__(Hit)
        attributes = {} if self.attributes == "{}" else _parsed(self.attributes)[0]
        vars(hit).update(_OF_LIST, key=self.key, labels=self.labels, attributes=attributes, text=self.text, stored=self)
        vars(hit).update(source=self.source, missing=bool(self.missing), distance=distance, target=target, **of_list)
        return hit


Page = dict[int, Shown]


class ItemPages:
    """The live items of one state of the catalog that searches have read so far.

    Later states share the pages without a change: an item read in one state is known in all. Several threads may call
    the methods at once.
    """

    def __init__(self, pages: Mapping[int, Page] | None = None, held: int = 0) -> None:
        self._pages = dict(pages or {})
        self._held = held
        self._changing = threading.Lock()

    def known(self, ids: Iterable[int]) -> dict[int, Shown]:
        """Return those of the items that have been read."""
        pages = self._pages
        return {
            item: shown
            for item in ids
            if (page := pages.get(item // ITEMS_A_PAGE)) is not None and (shown := page.get(item)) is not None
        }

    def read(self, tx: Transaction, ids: Iterable[int]) -> dict[int, Shown]:
        """Read items and some of their neighbours in a transaction that sees this state; keep and return them."""
        firsts = {item // READ_AT_ONCE * READ_AT_ONCE for item in ids}
        nearby = [item for first in sorted(firsts) for item in range(first, first + READ_AT_ONCE)]
        contents = {item: Shown(*columns) for item, columns in tx.items.shown(nearby).items()}
        with self._changing:
            # replace the page, because a later state may share it
            for number in {item // ITEMS_A_PAGE for item in contents}:
                page = self._pages.get(number, {})
                new = {item: shown for item, shown in contents.items() if item // ITEMS_A_PAGE == number}
                self._pages[number] = page | new
                self._held += _bytes(shown for item, shown in new.items() if item not in page)
            while self._held > MOST_BYTES and self._pages:
                self._held -= _bytes(self._pages.pop(next(iter(self._pages))).values())
        return contents

    def after(self, changes: Changes) -> "ItemPages":
        """Return the pages of the next state, without the changed items."""
        with self._changing:
            pages, copied, held = dict(self._pages), set[int](), self._held
        for item in (*changes.live, *changes.deleted):
            number = item // ITEMS_A_PAGE
            if item not in pages.get(number, ()):
                continue
            if number not in copied:
                copied.add(number)
                pages[number] = dict(pages[number])
            held -= _bytes((pages[number].pop(item),))
        return ItemPages(pages, held)


def _bytes(items: Iterable[Shown]) -> int:
    """Return the approximate memory of items in bytes."""
    return sum(_ITEM + shown.size for shown in items)
