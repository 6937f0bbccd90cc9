"""Work that others do between what a change of a collection has read and its commit."""

from collections.abc import Callable
from typing import Any

import pytest

from crossview.engine.collections.collection import Collection


def before_next_commit(monkeypatch: pytest.MonkeyPatch, collection: Collection, work: Callable[[], object]) -> None:
    """Do other work between what the next change of a collection has read and its commit."""
    catalog, left = collection._opened.catalog, [work]
    write = catalog.write

    def wrapped() -> Any:
        while left:
            left.pop()()
        return write()

    monkeypatch.setattr(catalog, "write", wrapped)
