"""Plots of figures, in one style."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def panels(path: Path, rows: int, columns: int, size: tuple[float, float], **options: Any) -> Iterator[Any]:
    """Give a figure with a grid of panels to draw on, and then writes it to the path.

    The size is width and height in inches; options are those of ``pyplot.subplots``, such as ``sharey``. An ImportError
    has the remedy where matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plot needs matplotlib: pip install "crossview[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, _ = pyplot.subplots(rows, columns, figsize=size, layout="constrained", **options)
    yield figure
    for axis in figure.axes:
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
