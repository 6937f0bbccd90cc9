"""Orderings of the eight scene classes of Oliva and Torralba (2001) by six attributes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDERINGS = {
    "natural": "tallbuilding < insidecity ~ street < highway < coast ~ opencountry ~ mountain ~ forest",
    "open": "tallbuilding < forest < insidecity ~ street < mountain < highway ~ coast ~ opencountry",
    "perspective": "opencountry < coast < mountain ~ forest < highway < insidecity < street < tallbuilding",
    "large-objects": "forest < opencountry < mountain < insidecity ~ street < highway ~ coast < tallbuilding",
    "diagonal-plane": "forest < opencountry < mountain < coast < insidecity ~ street < highway < tallbuilding",
    "close-depth": "coast < mountain < opencountry < tallbuilding ~ insidecity ~ street ~ highway ~ forest",
}
"""Table 7 of Law, Thome and Cord, "Learning a distance metric from relative comparisons between quadruplets of images"
(IJCV 2017), after Parikh and Grauman (2011): ``<`` has less than, ``~`` has as much as."""
ATTRIBUTES = tuple(ORDERINGS)


def ranks_of_classes() -> dict[str, list[int]]:
    """Return each class's rank in every attribute, from 0."""
    ranks: dict[str, list[int]] = {}
    for text in ORDERINGS.values():
        for rank, group in enumerate(text.split("<")):
            for name in group.split("~"):
                ranks.setdefault(name.strip(), []).append(rank)
    return ranks


def ranks_of(labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the ranks of items by their classes, (n, attributes)."""
    ranks = ranks_of_classes()
    return np.array([ranks[label] for label in labels])
