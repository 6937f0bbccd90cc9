"""Items with ready rows in two views, drawn about the centre of their class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

WIDTHS = {"color": 64, "gist": 512}
GROUPS = ("cat", "dog", "owl")


def row(view: str, group: str, number: int) -> NDArray[np.float32]:
    """Return a row that is nearer to its group's centre than to the others'; positive, as histograms are."""
    centre = np.random.default_rng([GROUPS.index(group), len(view)]).uniform(1, 2, WIDTHS[view])
    noise = np.random.default_rng([number, GROUPS.index(group), len(view), 7]).uniform(0, 1, WIDTHS[view])
    return (centre + noise).astype(np.float32)


def item(
    group: str, number: int, views: Sequence[str] = ("color", "gist"), labels: Sequence[str] | None = None
) -> NewItem:
    """Return GROUP/NUMBER with rows of some views, labelled with its group unless ``labels`` are given."""
    rows = {view: row(view, group, number) for view in views}
    return NewItem(f"{group}/{number:02}", rows=rows, labels=tuple([group] if labels is None else labels))


def fill(home: Home, name: str, items: Sequence[NewItem]) -> Collection:
    """Return a collection of the two views with these items."""
    made = home.create(name, tuple(WIDTHS))
    report = made.items.put(items)
    assert not report.failures
    return made


def each(count: int = 8) -> list[tuple[str, int]]:
    """Return (group, number) of so many items in every group."""
    return [(group, number) for group in GROUPS for number in range(count)]
