"""A view of pictures: how strong their edges are in each direction, in the cells of a grid."""

from typing import Any

import numpy as np

from crossview.extractors import FeatureRows, Image, ImageExtractor, Part, check_image, grey


class Edges(ImageExtractor):
    """Histograms of edge directions: the mean strength of edges by cell and direction, grid x grid x directions."""

    name = "edges"
    steps = ("l1",)
    robust = True

    def __init__(self, *, grid: int = 4, directions: int = 8) -> None:
        for value, name, most in ((grid, "grid", 16), (directions, "directions", 64)):
            if not isinstance(value, int) or not 1 <= value <= most:
                raise ValueError(f"edges: {name} must be a whole number from 1 to {most}, not {value!r}")
        self.grid, self.directions = grid, directions

    @property
    def dim(self) -> int:
        """The length of a row, 128 by default."""
        return self.grid * self.grid * self.directions

    def params(self) -> dict[str, Any]:
        """Return the parameters, as a collection stores them."""
        return {"grid": self.grid, "directions": self.directions}

    def row(self, image: Image) -> FeatureRows:
        """Return the strengths, (dim,) float32."""
        luma = np.pad(grey(check_image(image)).astype(np.float64), 1, mode="edge")
        across, down = luma[1:-1, 2:] - luma[1:-1, :-2], luma[2:, 1:-1] - luma[:-2, 1:-1]
        height, width = across.shape
        turns = np.arctan2(down, across) / np.pi % 1.0  # opposite directions are the same edge
        direction = np.minimum((turns * self.directions).astype(int), self.directions - 1)
        rows, columns = np.arange(height) * self.grid // height, np.arange(width) * self.grid // width
        cell = rows[:, None] * self.grid + columns
        strength = np.hypot(across, down) / (255 * height * width)
        found = np.bincount((cell * self.directions + direction).ravel(), strength.ravel(), self.dim)
        return found.astype(np.float32)

    def parts(self) -> tuple[Part, ...]:
        """Return the cells, which ``crossview explain`` draws."""
        return tuple(
            Part(
                f"row {i + 1}, column {j + 1}",
                tuple(range((i * self.grid + j) * self.directions, (i * self.grid + j + 1) * self.directions)),
                box=(j / self.grid, i / self.grid, (j + 1) / self.grid, (i + 1) / self.grid),
            )
            for i in range(self.grid)
            for j in range(self.grid)
        )
