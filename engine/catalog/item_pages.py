"""What hits show of items, by id, in memory: pages of items that are read when first needed."""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from engine.catalog.catalog import Transaction
from engine.catalog.items import Changes
from engine.query import Hit

ITEMS_A_PAGE = 256
_parsed = json.JSONDecoder().raw_decode
"""Without the search for blanks around it, which takes as long."""
MOST_ITEMS = 1 << 20
"""Items in memory at most, about 400 bytes each beside their texts and attributes; the pages read first go first."""


class Shown(NamedTuple):
    """What a hit shows of an item."""

    key: str
    labels: tuple[str, ...]
    attributes: str
    """JSON."""
    source: str
    text: str
    """How it begins."""

    def hit(self, distance: float, target: str) -> Hit:
        """Return the item as a hit."""
        return Hit(
            key=self.key,
            distance=distance,
            target=target,
            labels=self.labels,
            attributes={} if self.attributes == "{}" else _parsed(self.attributes)[0],
            text=self.text,
            source=self.source,
        )


Page = Mapping[int, Shown]


class ItemPages:
    """The live items of one state of the catalog, as far as they have been read; pages are shared with later states.

    Methods may be called from several threads.
    """

    def __init__(self, pages: Mapping[int, Page] | None = None) -> None:
        self._pages = dict(pages or {})

    def lacking(self, ids: Iterable[int]) -> set[int]:
        """Return the numbers of the pages that some ids are on and that have not been read."""
        return {item // ITEMS_A_PAGE for item in ids} - self._pages.keys()

    def read(self, tx: Transaction, numbers: Iterable[int]) -> None:
        """Read pages in a transaction that sees this state."""
        for number in numbers:
            first = number * ITEMS_A_PAGE
            found = tx.items.shown(range(first, first + ITEMS_A_PAGE))
            self._pages[number] = {item: Shown(*columns) for item, columns in found.items()}
        while len(self._pages) > MOST_ITEMS // ITEMS_A_PAGE:
            self._pages.pop(next(iter(self._pages)), None)

    def known(self, ids: Iterable[int]) -> dict[int, Shown]:
        """Return those of some items whose pages have been read."""
        pages = self._pages
        return {
            item: shown
            for item in ids
            if (page := pages.get(item // ITEMS_A_PAGE)) is not None and (shown := page.get(item)) is not None
        }

    def after(self, tx: Transaction, changes: Changes) -> "ItemPages":
        """Return the pages of the state that a transaction sees, which these changes lead to."""
        pages = dict(self._pages)
        changed: dict[int, list[int]] = {}
        for item in (*changes.live, *changes.deleted):
            if item // ITEMS_A_PAGE in pages:
                changed.setdefault(item // ITEMS_A_PAGE, []).append(item)
        live = set(changes.live)
        for number, ids in changed.items():
            if len(ids) > ITEMS_A_PAGE // 4:
                del pages[number]
                continue
            page = {item: shown for item, shown in pages[number].items() if item not in ids}
            found = tx.items.shown([item for item in ids if item in live])
            pages[number] = page | {item: Shown(*columns) for item, columns in found.items()}
        return ItemPages(pages)
