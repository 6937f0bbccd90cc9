"""A view with a bug: some pictures take the process that describes them down."""

import os
import signal
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crossview.features.color import Color

FATAL = 201
"""The first pixel's blue of a picture that does."""


class Deadly(Color):
    """A histogram, or none ever."""

    name: ClassVar[str] = "deadly"

    def row(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the row of colours, unless the picture is fatal."""
        if image[0, 0, 0] == FATAL:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().row(image)
