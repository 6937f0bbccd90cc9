"""Entries: what a program or a file names of items, checked before anything is written."""

from dataclasses import replace
from typing import TypeVar

from engine.catalog.checks import MAX_LABEL, check_attributes, check_characters, check_labels, check_text
from engine.catalog.writing import check_key
from engine.errors import InvalidInputError
from engine.item import Failure, ItemUpdate, NewItem

Entry = TypeVar("Entry", NewItem, ItemUpdate)


def check_entry(entry: Entry) -> Entry | Failure:
    """Return an entry with its attributes as plain JSON, or why it cannot be stored; pictures and rows may be bad."""
    try:
        if isinstance(entry, NewItem):
            check_key(entry.key)
        else:
            for name in entry.removed_attributes:
                check_characters(name, "the name of an attribute", MAX_LABEL)
        if entry.text is not None:
            check_text(entry.text)
        labels = None if entry.labels is None else check_labels(entry.labels)
        attributes = None if entry.attributes is None else check_attributes(entry.attributes)
    except InvalidInputError as error:
        return Failure(entry.key, str(error))
    return replace(entry, labels=labels, attributes=attributes)
