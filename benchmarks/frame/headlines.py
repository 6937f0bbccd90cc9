"""Headlines that name their rows: the task, our figure, and the figure that it is compared with."""

from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.tables import Row, rows_with

Headline = Callable[[Document], tuple[str, str, str]]


def stated(
    task: str,
    ours: str,
    compared: str,
    *wanted: Row,
    factor: float = 1,
    rows: Callable[[Document], Iterable[Row]] = lambda document: document["rows"],
) -> Headline:
    """Return a headline whose second and third text contain figures of rows.

    ``{0}`` stands for the mean of the rows that have all names of the first of ``wanted``, ``{1}`` for the second, and
    so on, with a format of Python behind a colon, as in ``{0:.1f}``; ``factor`` multiplies the means, such as 100 for
    per cent. A run that did not measure one of them has the figure "not measured".
    """

    def headline(document: Document) -> tuple[str, str, str]:
        values = [[row["value"] for row in rows_with(rows(document), **names)] for names in wanted]
        if not all(values):
            return task, "not measured", ""
        means = [factor * float(np.mean(group)) for group in values]
        return task, ours.format(*means), compared.format(*means)

    return headline
