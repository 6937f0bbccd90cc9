"""Rows of items that are computed only from comparisons by people."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import KINDS
from crossview.engine.learners.papers.joint.joint_fit import JointSettings
from crossview.engine.learners.papers.joint.joint_objects import JointObjects
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError

DIM = 10


def places(given: ItemComparisons, dim: int = DIM, seed: int = 0) -> NDArray[np.float32]:
    """Return a row for each key of the comparisons, (n, dim): the embedding that all their notions share.

    Items without comparisons cannot get such a row. Raises InvalidInputError for pairs, or for too many dimensions.
    """
    if given.comparisons.similar is not None or given.others:
        raise InvalidInputError(
            f"placing items needs {KINDS[3]} or {KINDS[4]}, not {given.kind} in {len(given.sets)} sets"
        )
    if not 1 <= dim < len(given.keys):
        raise InvalidInputError(
            f"{len(given.keys)} compared items can have 1 to {len(given.keys) - 1} dimensions, not {dim}"
        )
    learned = JointObjects(JointSettings(n_components=dim, random_state=seed)).fit(given.comparisons, len(given.keys))
    return learned.common_.astype(np.float32)
