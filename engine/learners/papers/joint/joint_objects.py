"""Embeddings of objects without features, from comparisons alone."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import AnyComparisons, Comparisons, folds_of
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.joint.comparison_loss import Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, Sharing, learn
from crossview.engine.learners.papers.joint.losses import LossName
from crossview.engine.learners.papers.joint.objectives import Inputs, Objects
from crossview.engine.learners.papers.losses.constraints import Bounds, constraints_of
from crossview.engine.runtime.threads import one_blas_thread

ONE = [""]
"""The names of notions if all supervision is in one notion."""
TRIED: Sequence[tuple[LossName, Sharing]] = (
    ("tste", "independent"),
    ("crowd", "independent"),
    ("tste", "joint"),
    ("crowd", "joint"),
    ("hinge", "joint"),
)
"""Losses and penalties to choose from: tr K for an independent metric K, 2 tr K^1/2 for a joint one."""
ALPHAS = (3e-3, 3e-2, 3e-4)
FOLDS, FEWEST, ENOUGH = 5, 50, 2_000
"""Folds of the comparisons; the fewest that can choose; and held-out ones that suffice: of many comparisons, not every
fold is fitted."""


def notions_of(supervision: Supervision) -> list[str]:
    """Return the names of the notions of the supervision, sorted; ``ONE`` if it names no notions."""
    if supervision.comparisons is not None:
        return names_of(supervision.comparisons)
    return sorted(map(str, supervision.notion_classes)) if supervision.notion_classes else ONE


def names_of(comparisons: AnyComparisons) -> list[str]:
    """Return the names of the notions of comparisons, sorted; ``ONE`` if they have none."""
    notions = comparisons.notions
    return ONE if notions is None else sorted(set(np.asarray(notions).astype(str).tolist()))


def labels_of(supervision: Supervision) -> dict[str, NDArray[Any]]:
    """Return class labels, (n,), by notion."""
    if supervision.notion_classes:
        return {str(name): np.asarray(labels) for name, labels in supervision.notion_classes.items()}
    return {ONE[0]: np.asarray(supervision.classes)}


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
        notions = np.full(len(comparisons), names[0]) if own is None else np.asarray(own).astype(str)
        codes = np.array([list(names).index(name) if name in names else -1 for name in notions], np.int64)
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        if not counts.all():
            missing = names[int(np.argmin(counts))]
            where = f"notion {missing!r} has no comparison" if missing else "there is no comparison"
            raise ValueError(f"{where} of {whose}: give some, or leave out the notion")
        places = np.flatnonzero(codes >= 0)
        return cls(Notions(constraints_of(comparisons.take(places), *astuple(bounds)), codes[places], len(names)))

    @property
    def totals(self) -> NDArray[np.float64]:
        """(T,) sums of the weights of each notion."""
        return self.notions.sums

    def learn(self, inputs: Inputs, how: JointSettings) -> Learned:
        """Return the metrics learned from the comparisons."""
        return learn(inputs, self.notions, how)


@dataclass(eq=False)
class JointObjects:
    """Embeddings of N objects in each notion, all linear maps of one common embedding.

    The result is that of :class:`~engine.learners.papers.joint.joint.JointMetrics` on the rows of the identity, without
    making these rows. The fit learns the places of the objects themselves, so it cannot place a further object.

    Args:
        how: the settings.
        bounds: the bounds of comparisons on squared distances, if the loss is the hinge.

    Attributes:
        names_: the notions, sorted; one empty name without notions, or if they are pooled.
        common_: (N, D) the common embedding; (N, 0) if notions share none.
        embeddings_: the (N, w_t) embedding of each notion, by name.
        learned_: the result of the fit, with objective, steps and convergence.
    """

    how: JointSettings = field(default_factory=JointSettings)
    bounds: Bounds = field(default_factory=Bounds)
    names_: list[str] = field(init=False)
    common_: NDArray[np.float64] = field(init=False)
    embeddings_: dict[str, NDArray[np.float64]] = field(init=False)
    learned_: Learned = field(init=False)

    def fit(self, comparisons: Comparisons, count: int) -> Self:
        """Place ``count`` objects by comparisons of their positions, in the notions of the comparisons.

        Raises:
            ValueError: for an object that does not exist, or no comparisons.
        """
        self.names_ = names_of(comparisons)
        source = self._source(comparisons, self.names_, count)
        inputs = Objects(count)
        with one_blas_thread():
            self.learned_ = source.learn(inputs, self.how)
        if self.how.sharing == "pooled":
            self.names_ = [""]
        self.common_ = inputs.project(self.learned_.common)
        factors = zip(self.names_, self.learned_.factors, strict=True)
        self.embeddings_ = {name: inputs.project(factor) for name, factor in factors}
        return self

    def agreement(self, comparisons: Comparisons) -> float:
        """Return the mean share, over known notions, of the comparisons that the embedding of their notion orders."""
        given = [""] * len(comparisons) if comparisons.notions is None else comparisons.notions
        notions = np.asarray(given).astype(str)
        known = [(comparisons.take(notions == name), embedded) for name, embedded in self.embeddings_.items()]
        return float(np.mean([own.agreement(embedded) for own, embedded in known if len(own)]))

    def _source(self, comparisons: Comparisons, names: list[str], count: int) -> Listed:
        bounds = self.bounds if self.how.loss == "hinge" else self.bounds.of_validation()
        return Listed.of(comparisons.among(np.ones(count, bool), count), names, bounds, "objects")


def tuned(how: JointSettings, comparisons: Comparisons, count: int) -> JointSettings:
    """Return the settings of the loss, alpha and sharing that order held-out comparisons of ``count`` objects best.

    Several notions are joint. After each fold, only the better half of the settings stays, so that all fits together
    take a few times as long as one. Fewer than ``FEWEST`` comparisons get the first settings.
    """
    if comparisons.weights is not None:
        comparisons = comparisons.take(comparisons.weights > 0)
    one = len(names_of(comparisons)) == 1
    kept = [
        replace(how, loss=loss, sharing=sharing, alpha=alpha)
        for (loss, sharing), alpha in product(TRIED, ALPHAS)
        if one or sharing == "joint"
    ]
    agreements = dict.fromkeys(kept, 0.0)
    fold_of = folds_of(comparisons, FOLDS, how.random_state)
    looked_at = min(FOLDS - 1, -(-ENOUGH * FOLDS // len(comparisons))) if len(comparisons) >= FEWEST else 0
    for fold in range(looked_at):
        learned, held_out = comparisons.take(fold_of != fold), comparisons.take(fold_of == fold)
        for each in kept:
            agreements[each] += JointObjects(each).fit(learned, count).agreement(held_out)
        kept = sorted(kept, key=lambda each: -agreements[each])[: -(-len(kept) // 2)]
    return kept[0]
