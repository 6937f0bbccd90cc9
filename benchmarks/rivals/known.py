"""Knowledge of items: their classes or pairs, and which views they have, in the form that each method takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.training.examples import Examples

Classes = NDArray[np.int64]
Rows = NDArray[np.floating[Any]]
UNKNOWN = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """The supervision of n items."""

    classes: Classes
    """(n,), -1 where the class of an item is not known."""
    pairs: Any = None
    """Sparse (n, n), symmetric, 1 for items stated to be similar; None without statements."""
    mask: NDArray[np.bool_]
    """(n, V), which items have which views."""
    groups: NDArray[np.int64] | None
    """(n,), of items that are alike for other reasons than their classes; None: of none."""

    def supervision(self) -> Supervision:
        """Return labels and pairs as they are; each item is similar to itself."""
        pairs = None if self.pairs is None else sp.csr_array(self.pairs + sp.eye_array(len(self.classes)))
        labelled = self.classes != UNKNOWN
        return Supervision(
            classes=_alone(self.classes), neighbors=pairs, labelled=labelled, mask=self.mask, groups=self.groups
        )

    def by_classes(self) -> Supervision:
        """Return all as classes: items that pairs join, directly or by others, are of one."""
        classes = _alone(self.classes)
        if self.pairs is not None:
            links = self.pairs + _joined(self.classes)
            classes = connected_components(links, directed=False)[1].astype(np.int64)
        return Supervision(classes=classes, mask=self.mask, groups=self.groups)

    def by_pairs(self) -> Supervision:
        """Return all pairs of similar items: items of one class, stated pairs, and each item with itself."""
        if self.pairs is None:
            return Supervision(classes=_alone(self.classes), mask=self.mask, groups=self.groups)
        links = sp.csr_array(self.pairs + _joined(self.classes) + sp.eye_array(len(self.classes)))
        return Supervision(neighbors=links, mask=self.mask, groups=self.groups)

    def grouped(self) -> Classes:
        """Return the class of each item, (n,), where pairs give it to others, too; -1 where it is not known."""
        if self.pairs is None:
            return self.classes
        _, numbers, counts = np.unique(self.by_classes().classes, return_inverse=True, return_counts=True)
        classes = np.full(len(numbers), UNKNOWN)
        shared = counts[numbers] > 1
        classes[shared] = np.unique(numbers[shared], return_inverse=True)[1]
        return classes

    def examples(self, views: Sequence[Rows], pairs: bool = False) -> Examples:
        """Return the items, rows (n, d_v) by view, as the product's training has them: with their pairs, or the classes
        that follow from these."""
        count = len(self.classes)
        paired = pairs and self.pairs is not None
        labels = np.full(count, UNKNOWN) if paired else self.grouped()
        return Examples(
            ids=np.arange(count),
            keys=tuple(map(str, range(count))),
            rows={str(number): rows for number, rows in enumerate(views)},
            mask=self.mask,
            labels=tuple((str(label),) if label != UNKNOWN else () for label in labels.tolist()),
            similar=self.by_pairs().neighbors if paired else None,
            groups=None if self.groups is None else np.unique(self.groups, return_inverse=True)[1],
        )


def _alone(classes: Classes) -> Classes:
    """Return the classes with one of its own for each item of unknown class."""
    own = classes.max(initial=0) + 1 + np.arange(len(classes))
    return np.where(classes == UNKNOWN, own, classes)


def _joined(classes: Classes) -> Any:
    """Return which items are of one known class, sparse (n, n)."""
    labelled = np.flatnonzero(classes != UNKNOWN)
    count = int(classes.max(initial=0)) + 1
    members = sp.csr_array((np.ones(len(labelled)), (labelled, classes[labelled])), shape=(len(classes), count))
    return members @ members.T
