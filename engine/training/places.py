"""Places: rows of items of which nothing is known but how people compared them."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.comparisons import ItemComparisons
from crossview.engine.errors import InvalidInputError
from crossview.engine.learners.comparisons import KINDS
from crossview.engine.learners.joint.fitting import JointSettings
from crossview.engine.learners.joint.objects import JointObjects

DIM = 10


def places(given: ItemComparisons, dim: int = DIM, seed: int = 0) -> NDArray[np.float32]:
    """Return a row for each of the keys of comparisons, (n, dim): the embedding that all their notions have in common.

    No other item can be given a row in it. Raises InvalidInputError for pairs, or more dimensions than items.
    """
    if given.comparisons.similar is not None or given.others:
        raise InvalidInputError(
            f"items are placed by {KINDS[3]} or {KINDS[4]}, not by {given.kind} in {len(given.sets)} sets"
        )
    if not 1 <= dim < len(given.keys):
        raise InvalidInputError(
            f"{len(given.keys)} compared items have 1 to {len(given.keys) - 1} dimensions, not {dim}"
        )
    learned = JointObjects(JointSettings(n_components=dim, random_state=seed)).fit(given.comparisons, len(given.keys))
    return learned.common_.astype(np.float32)
