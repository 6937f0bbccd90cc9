"""The choice of the next question, among items by their positions."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Triplets = Sequence[tuple[int, int, int]]


def next_question(
    count: int, features: NDArray[np.float32] | None, answered: Triplets, size: int, rng: np.random.Generator
) -> tuple[int, tuple[int, ...]]:
    """Return an anchor and ``size`` candidates, all different, of ``count`` items.

    ``features`` are the items' vectors, (count, D), where any are known, and ``answered`` the triplets (anchor, near,
    far) of the notion so far.
    """
    anchor, *candidates = rng.choice(count, size + 1, replace=False).tolist()
    return anchor, tuple(candidates)
