"""Groupings of classes that are fixed before any metric is learned."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from crossview.engine.learners.frame.settings import Arrays, Between
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.musl.samples import Codes

LEARNED: Final = "learned"
KMEANS: Final = "kmeans"
RANDOM: Final = "random"
Metric = Annotated[int, Between(0, 4095)]
Assignment = (
    Literal["learned", "kmeans", "random"]
    | Annotated[Mapping[Any, int], Arrays(0, "an object of classes, each with its metric")]
    | Sequence[Metric]
)


def by_means(rows: Rows, codes: Codes, metrics: int, generator: np.random.RandomState) -> Codes:
    """Return the (C,) metrics of classes by k-means on the means of their rows, as in the paper's heuristic."""
    means = np.array([rows[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    found = KMeans(min(metrics, len(means)), n_init=10, random_state=generator).fit(means).labels_
    return np.asarray(found, dtype=np.intp)


def at_random(count: int, metrics: int, generator: np.random.RandomState) -> Codes:
    """Return the (C,) metrics of classes in K random groups, whose sizes differ by at most one."""
    return np.asarray(generator.permutation(np.arange(count) % metrics))


def given(assignment: Mapping[Any, int] | Sequence[int], classes: NDArray[Any]) -> Codes:
    """Return the (C,) metrics that ``assignment`` gives the classes: by their text, or in sorted order.

    Raises:
        ValueError: if a class has no metric, or a metric is not a whole number from 0 on.
    """
    if isinstance(assignment, Mapping):
        known = {str(name): metric for name, metric in assignment.items()}
        missing = [str(name) for name in classes if str(name) not in known]
        if missing:
            raise ValueError(f"the assignment has no metric for: {', '.join(missing)}; give one for every class")
        assignment = [known[str(name)] for name in classes]
    found = np.asarray(assignment)
    if found.shape != classes.shape:
        raise ValueError(f"the assignment has shape {found.shape}, but there are {len(classes)} classes")
    if not np.issubdtype(found.dtype, np.integer) or found.min() < 0:
        raise ValueError(f"an assignment's metrics must be whole numbers from 0 on, got {found.tolist()}")
    return found.astype(np.intp)
