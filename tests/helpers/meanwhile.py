"""Work that others do between the read of a change of a collection and its commit."""

from collections.abc import Callable
from typing import Any

import pytest

from crossview.engine.collections.collection import Collection


def before_next_commit(monkeypatch: pytest.MonkeyPatch, collection: Collection, work: Callable[[], object]) -> None:
    """Do other work between the read of the next change of a collection and its commit."""
    catalog, left = collection._opened.catalog, [work]
    write = catalog.write

    def wrapped() -> Any:
        while left:
            left.pop()()
        return write()

    monkeypatch.setattr(catalog, "write", wrapped)
