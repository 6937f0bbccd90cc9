"""Texts of items that are the words of their labels, so that words find items that nobody has described."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.values.item import Item, ItemUpdate, NewItem

LABELS = "labels"
"""The word that users give instead of a file of captions."""
_GAPS = re.compile(r"[\s_-]+")
_NUMBERS = re.compile(r"^(?:\d+\.? )+(?=.*[^\W\d_])")

Entry = TypeVar("Entry", NewItem, ItemUpdate)


def words_of_labels(labels: Iterable[str]) -> str:
    """Return the words of labels, such as "buses, double deckers" of ``3_buses`` and ``double-deckers``.

    Underscores and hyphens are spaces, and numbers before a name with a letter are left out.
    """
    words = (_NUMBERS.sub("", _GAPS.sub(" ", label).strip()) for label in sorted(labels))
    return ", ".join(dict.fromkeys(filter(None, words)))


def with_text(entry: Entry, item: Item | None, chosen: bool) -> Entry:
    """Return an entry with the text that its item (None for a new one) gets, if the text is to come from labels.

    It is the words of the labels that the item has after the entry, ``chosen`` if a person chose the present ones. A
    text that a person gave, now or before, stays, and the entry is then one like any other.
    """
    if not entry.text_from_labels:
        return entry
    before = "" if item is None or item.text_from_labels else item.text
    if before if entry.text is None else entry.text:
        return replace(entry, text_from_labels=False)
    keeps = entry.labels is None or (chosen and not entry.labels_given)
    labels = (() if item is None else item.labels) if keeps else entry.labels
    return replace(entry, text=words_of_labels(labels or ()))


def with_texts(tx: Transaction, entries: Sequence[Entry]) -> list[Entry]:
    """Return entries with the texts that their items get; see ``with_text``."""
    if not any(entry.text_from_labels for entry in entries):
        return list(entries)
    ids = tx.items.ids_of(entry.key for entry in entries if entry.text_from_labels)
    stored, by_hand = tx.items.by_id(list(ids.values())), tx.items.with_given_labels(list(ids.values()))
    numbers = [ids.get(entry.key, 0) for entry in entries]
    return [with_text(entry, stored.get(item), item in by_hand) for entry, item in zip(entries, numbers, strict=True)]
