"""Supervision by notion: comparisons with the names of their notions, or class labels by name."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import AnyComparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.joint.compared import Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, learn
from crossview.engine.learners.papers.joint.objectives import Inputs
from crossview.engine.learners.papers.losses.constraints import Bounds, constraints_of

ONE = [""]
"""The names of notions if all supervision is in one notion."""


def notions_of(given: Supervision) -> list[str]:
    """Return the names of the notions of the supervision, sorted; ``ONE`` if it names no notions."""
    if given.comparisons is not None:
        return names_of(given.comparisons)
    return sorted(map(str, given.notion_classes)) if given.notion_classes else ONE


def names_of(comparisons: AnyComparisons) -> list[str]:
    """Return the names of the notions of comparisons, sorted; ``ONE`` if they have none."""
    notions = comparisons.notions
    return ONE if notions is None else sorted(set(np.asarray(notions).astype(str).tolist()))


def labels_of(given: Supervision) -> dict[str, NDArray[Any]]:
    """Return class labels, (n,), by notion."""
    if given.notion_classes:
        return {str(name): np.asarray(labels) for name, labels in given.notion_classes.items()}
    return {ONE[0]: np.asarray(given.classes)}


@dataclass(frozen=True, eq=False)
class Listed:
    """Comparisons, as constraints in some notions."""

    notions: Notions

    @classmethod
    def of(cls, comparisons: AnyComparisons, names: Sequence[str], bounds: Bounds, whose: str = "items") -> Self:
        """Return the comparisons in the notions of some names.

        Args:
            whose: what the comparisons compare, for messages.

        Raises:
            ValueError: if a notion has no comparisons.
        """
        own = comparisons.notions
        given = np.full(len(comparisons), names[0]) if own is None else np.asarray(own).astype(str)
        codes = np.array([list(names).index(name) if name in names else -1 for name in given], np.int64)
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        if not counts.all():
            missing = names[int(np.argmin(counts))]
            where = f"notion {missing!r} has no comparison" if missing else "there is no comparison"
            raise ValueError(f"{where} of {whose}: give some, or leave out the notion")
        chosen = np.flatnonzero(codes >= 0)
        return cls(Notions(constraints_of(comparisons.take(chosen), *astuple(bounds)), codes[chosen], len(names)))

    @property
    def totals(self) -> NDArray[np.float64]:
        """(T,) sums of the weights of each notion."""
        return self.notions.sums

    def learn(self, inputs: Inputs, how: JointSettings) -> Learned:
        """Return the metrics learned from the comparisons."""
        return learn(inputs, self.notions, how)
