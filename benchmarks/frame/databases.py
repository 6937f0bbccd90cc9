"""Databases: which items the queries of a figure were to find, the field "database" of a row."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.tables import Row
from crossview.engine.training.measures import ranking
from crossview.engine.values.evaluation import TRAINED, UNSEEN

TEST = "test"
"""All test items, the query's own among them, as some papers have it."""
__all__ = ["TEST", "TRAINED", "UNSEEN", "of_database", "ranking_of_others", "without_own"]


def of_database(rows: Iterable[Row], name: str, usual: str = TRAINED) -> list[Row]:
    """Return the rows of a database; those of earlier runs do not say theirs, which was the ``usual`` one."""
    return [row for row in rows if (row.get("database") or usual) == name]


def ranking_of_others(distances: NDArray[Any]) -> NDArray[np.intp]:
    """Return the (n, n - 1) rankings of items by their (n, n) distances to each other, each without itself."""
    masked = np.array(distances, dtype=float)
    np.fill_diagonal(masked, np.inf)
    return ranking(masked)[:, :-1]


def without_own(table: NDArray[Any]) -> NDArray[Any]:
    """Return an (n, n) table without its diagonal, (n, n - 1), the other columns in their order."""
    rest: NDArray[Any] = table[~np.eye(len(table), dtype=bool)].reshape(len(table), -1)
    return rest
