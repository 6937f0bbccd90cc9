"""Items that are alike in two ways, and the answers of people about them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

COUNT = 60
NOTIONS = {"color": slice(0, 2), "shape": slice(2, 4)}
"""The columns of a row that each notion depends on; the last two columns are noise."""


def rows() -> NDArray[np.float32]:
    """Return the items' rows, (COUNT, 6)."""
    return np.random.default_rng(0).uniform(-1, 1, (COUNT, 6)).astype(np.float32)


def key(number: int) -> str:
    return f"item/{number:02}"


def fill_things(home: Home, name: str = "things") -> None:
    """Make a collection of the items, without labels."""
    with home.create(name, ("view=vectors:dim=6",)) as made:
        made.items.put([NewItem(key(number), rows={"view": row}) for number, row in enumerate(rows())])


def gap(notion: str, one: str, other: str) -> float:
    """Return the distance of two items in a notion."""
    columns = rows()[:, NOTIONS[notion]]
    first, second = (columns[int(name.removeprefix("item/"))] for name in (one, other))
    return float(np.linalg.norm(first - second))


def triplets(notion: str, count: int = 300, seed: int = 1) -> list[tuple[str, str, str]]:
    """Return comparisons (anchor, near, far) of a person who is never wrong."""
    drawn = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        anchor, one, other = map(key, drawn.choice(COUNT, 3, replace=False).tolist())
        nearer = gap(notion, anchor, one) < gap(notion, anchor, other)
        found.append((anchor, one, other) if nearer else (anchor, other, one))
    return found


def write_triplets(path: Path) -> Path:
    """Write comparisons in both notions."""
    lines = [",".join((*one, notion)) for notion in NOTIONS for one in triplets(notion)]
    path.write_text("\n".join(["anchor,near,far,notion", *lines]) + "\n")
    return path


def nearest(notion: str, item: str, count: int = 5) -> list[str]:
    """Return the items that are truly nearest to an item in a notion."""
    others = [key(number) for number in range(COUNT) if key(number) != item]
    return sorted(others, key=lambda other: gap(notion, item, other))[:count]
