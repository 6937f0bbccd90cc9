"""Co-EM: class posteriors from items whose classes are partly known."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.frame.base import MAX_ITEMS
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.cost import FitCost, FitSize, regression_cost
from crossview.engine.learners.frame.settings import Between, Count, Share
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.subspace.evidence import Evidence
from crossview.engine.learners.subspace.kernel_regression import KernelRegression, TargetedRows, drawn
from crossview.engine.learners.subspace.posteriors import Choice, ClassPosteriors
from crossview.engine.learners.subspace.row_kernel import RowKernel, usual_scaling
from crossview.engine.learners.subspace.seeding import MOST_GROUPS, STARTS, Seeding, Starts
from crossview.engine.learners.subspace.turns import (
    FOLDS,
    NEW_CLASSES,
    TRIALS,
    TURNS,
    Plan,
    Trials,
    Turn,
    Turns,
    log_ratios,
)
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import over

_PENALTIES_NEAR = 3
"""Number of penalties that most turns try."""
_FIRST_NOISE = 0.05
"""Assumed share of wrong labels before the first estimate."""
_LEAST_ROWS = 2
_USUAL_PENALTY = 1e-2
"""From which the search of a penalty descends if nothing tells a better one."""
_TO_CHOOSE = 600
"""Maximum number of items by which the plan is chosen."""


@dataclass(frozen=True, eq=False)
class _Problem:
    """Items to learn from: (n, d_v) rows of each view, a (n, V) mask, (n,) groups or None, and evidence."""

    views: Sequence[Rows]
    mask: NDArray[np.bool_]
    groups: NDArray[np.intp] | None
    evidence: Evidence

    def of(self, view: int, targets: Rows) -> TargetedRows:
        """Return the rows of a view with the (n, K) targets of all items."""
        present = self.mask[:, view]
        return TargetedRows(
            self.views[view][present], targets[present], None if self.groups is None else self.groups[present]
        )

    def sample(self, random: np.random.RandomState) -> "_Problem":
        """Return at most 600 of the items; all if a view has nearly no rows among these."""
        items = self.evidence.sample(_TO_CHOOSE, random)
        if len(items) == len(self.mask) or (self.mask[items].sum(axis=0) < _LEAST_ROWS).any():
            return self
        groups = None if self.groups is None else self.groups[items]
        rows = [view[items] for view in self.views]
        return _Problem(rows, self.mask[items], groups, self.evidence.take(items))


@dataclass(eq=False, repr=False)
class CoEM(ClassPosteriors):
    """Class posteriors from items whose classes are partly known, uncertain, or only known by pairs of similar items.

    Each item has one class, which all its views show, its label states, and similar items share; labels and pairs may
    be wrong. The labels -1, None and NaN mark unlabelled items. Turns (co-EM: Nigam and Ghani, CIKM 2000) alternate two
    steps. The kernel regression of each view, see ``ClassPosteriors``, learns the probabilities of all items' classes.
    Then a step of mean field updates these from the labels, the pairs, and the regressions of all views, each without
    the item.

    The turns start from groups of items that are similar in all views, or from labels that spread along the graph of
    nearest neighbours (``Starts``). Items may have classes without any labelled item; without labels, all classes are
    such new classes. The number of new classes, the start and the number of turns are those that predict best what is
    held out, a quarter of the labels and pairs, and the views each other (``Trials``); no new classes are preferred
    within one standard error. If no item has two views and no pairs are given, there are no new classes, because no
    evidence shows them.

    Args:
        row_kernel: see ``ClassPosteriors``; None: "gaussian" unless another kernel predicts the labels that spread
            along the graph of nearest neighbours better, by more than one standard error of the log loss.
        scaling: see ``RowKernel``; None: in the same way, "both", or "unit" for counts of which nearly all are 0.
        new_classes: number of classes besides those of the labels; None: chosen from 0, 2, 4, 8, ... 64, and numbers
            between.
        label_noise: assumed share of wrong labels; None: it is estimated.
        max_iter: maximum number of turns.
        max_items: maximum number of items to learn from; items with labels and pairs come first, and the others are
            drawn at random.

    Attributes:
        classes_: (C,) the known classes; their columns come first, those of new classes follow.
        new_classes_: number of new classes.
        label_noise_, pair_noise_: estimated shares of wrong labels and of wrong pairs.
        start_: position of the start among those of ``Starts.of``; -1 for the last.
        n_iter_: int, number of turns.
        scores_: (T, 2), the tried numbers of new classes, and how well each predicts views, held-out labels and pairs.

    Raises:
        ValueError: from ``fit``, for parameters out of range, or without labels or pairs and with a single view.
    """

    name = "co-em"
    capabilities: ClassVar[Capabilities] = Capabilities(
        cross_view=True, takes_neighbors=True, adds_views=True, main_parameter="new_classes"
    )

    new_classes_: int = field(init=False)
    start_: int = field(init=False)
    n_iter_: int = field(init=False)
    label_noise_: float = field(init=False)
    pair_noise_: float = field(init=False)
    scores_: NDArray[np.float64] = field(init=False)

    new_classes: Annotated[int, Between(0, MOST_GROUPS)] | None = None
    label_noise: Share | None = None
    max_iter: Count = 8
    max_items: Annotated[int, Between(100, 100_000)] = MAX_ITEMS

    _kept: Plan | None = field(init=False, default=None)

    def again(self) -> Self:
        """Return an unfitted copy that keeps the number of new classes, the start and the number of turns."""
        learner = super().again()
        learner._kept = Plan(self.new_classes_, self.start_, self.n_iter_)
        return learner

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the regressions, and of the trials of kernels and of plans on few items: half of the
        numbers of new classes, and half of the folds, as many labels need fewer."""
        size = replace(size, items=min(size.items, self.max_items), classes=self.embedded_widths(size)[0])
        trials = FOLDS // 2 * STARTS * TURNS * (TRIALS // 2 if self.new_classes is None else 1)
        few = replace(size, items=min(size.items, _TO_CHOOSE))
        tried = regression_cost(few, self.n_landmarks, trials * _PENALTIES_NEAR)
        cost = regression_cost(size, self.n_landmarks, self.max_iter * _PENALTIES_NEAR)
        operations = cost.operations + tried.operations + self._operations_of_trials(size)
        return FitCost(max(cost.bytes, tried.bytes), operations)

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the number of classes, with new ones."""
        new = max(NEW_CLASSES) if self.new_classes is None else self.new_classes
        return (size.classes + new,) * len(size.widths)

    def _needs_classes(self, supervision: Supervision) -> bool:
        super()._needs_classes(supervision)
        return supervision.classes is not None

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        random = check_random_state(self.random_state)
        self.exclusive_, self.scores_ = True, np.empty((0, 2))
        noise = _FIRST_NOISE if self.label_noise is None else self.label_noise
        evidence = Evidence.of(supervision, len(supervision.mask), noise)
        self._check(evidence, len(views))
        self.classes_ = evidence.classes
        items = self._items(evidence, supervision.mask, random)
        turn = self._learned([rows[items] for rows in views], supervision, items, evidence.take(items), random)
        self.n_iter_ = turn.number
        self.label_noise_, self.pair_noise_ = turn.evidence.label_noise, turn.evidence.pair_noise
        fitted = [turn.fitted(view) for view in range(len(views))]
        for name in fitted[0]:
            setattr(self, name, [attributes[name] for attributes in fitted])
        if len(items) < len(supervision.mask):
            self.left_out_: list[NDArray[np.float32]] = [
                self._all_left_out(views, supervision.mask, items, view) for view in range(len(views))
            ]

    def _learned(
        self,
        views: list[Rows],
        supervision: Supervision,
        items: NDArray[np.intp],
        evidence: Evidence,
        random: np.random.RandomState,
    ) -> Turn:
        """Return the last turn over some items, given their rows and evidence."""
        mask = supervision.mask[items]
        for view, count in enumerate(mask.sum(axis=0)):
            if count < _LEAST_ROWS:
                shortage = f"{count} items of view {view} have a label, a pair or another view"
                raise ValueError(f"{shortage}; at least {_LEAST_ROWS} are needed")
        groups = None if supervision.groups is None else np.asarray(supervision.groups)[items]
        problem = _Problem(views, mask, groups, evidence)
        seeding = Seeding.of(views, mask, self.scaling, random)
        kernels = self._kernels(problem, seeding, random)
        turns = self._turns(problem, kernels, random)
        plan = self._kept or self._plan(problem, turns, seeding, kernels, random)
        self.new_classes_, self.start_ = plan.new, plan.start
        start = Starts(seeding, evidence).start(plan.start, len(evidence.classes) + plan.new, random)
        *_, last = islice(turns.after(start), plan.turns)
        return last

    def _plan(
        self,
        problem: "_Problem",
        turns: Turns,
        seeding: Seeding,
        kernels: Sequence[Choice],
        random: np.random.RandomState,
    ) -> Plan:
        """Return the plan that predicts best in trials on some of the items."""
        some = problem.sample(random)
        if some is not problem:
            turns = self._turns(some, kernels, random)
            seeding = seeding.again(some.views, some.mask, random)
        trials = Trials.of(turns, seeding, random)
        plan = trials.plan(self.new_classes)
        self.scores_ = trials.best_scores()
        return plan

    def _turns(self, problem: "_Problem", kernels: Sequence[Choice], random: np.random.RandomState) -> Turns:
        """Return what all turns share."""
        mask = problem.mask
        landmarks = [drawn(count, self.n_landmarks, random) for count in mask.sum(axis=0).tolist()]

        def decomposed(view: int) -> KernelRegression:
            return self._undecided(kernels[view], problem.of(view, np.zeros((len(mask), 1))), landmarks[view])

        undecided = over(range(len(kernels)), decomposed)
        return Turns(undecided, mask, problem.evidence, self.alpha, self.label_noise, self.max_iter)

    def _kernels(self, problem: "_Problem", seeding: Seeding, random: np.random.RandomState) -> Sequence[Choice]:
        """Return the kernel of each view, and a penalty near the best: with two known classes, the best ones for labels
        that spread to all items."""
        if self._choices:
            return self._choices
        evidence = problem.evidence
        usual = [
            RowKernel(self.row_kernel or "gaussian", self.scaling or usual_scaling(rows)) for rows in problem.views
        ]
        if len(evidence.classes) < 2:
            return [(kernel, None) for kernel in usual]
        spread = seeding.graph.with_pairs(evidence.similar).spread(evidence.codes, len(evidence.classes))
        spread[evidence.known] = np.eye(len(evidence.classes))[evidence.codes[evidence.known]]
        return [self._best_kernel(problem.of(view, spread), random, (own,)) for view, own in enumerate(usual)]

    def _undecided(self, choice: Choice, learned: TargetedRows, landmarks: NDArray[np.intp]) -> KernelRegression:
        """Return the decomposed regression of a view's rows, which takes other targets."""
        checkpoint()
        kernel, near = choice
        near = self.alpha or near or _USUAL_PENALTY
        return KernelRegression.of(kernel, learned, landmarks, near, near)

    def _items(self, evidence: Evidence, mask: NDArray[np.bool_], random: np.random.RandomState) -> NDArray[np.intp]:
        """Return the items to learn from, ascending; items with a label or a pair have precedence.

        An item with a single view and without label and pair gives no evidence about its class, so it is left out,
        unless there are new classes, which may show in one view.
        """
        supervised = evidence.labelled_or_paired()
        items = np.flatnonzero(supervised | (mask.sum(axis=1) > 1))
        if self.new_classes:
            items = np.arange(len(mask))
        if len(items) > self.max_items:
            items = items[evidence.take(items).sample(self.max_items, random)]
        return items

    def _all_left_out(
        self, views: list[Rows], mask: NDArray[np.bool_], items: NDArray[np.intp], view: int
    ) -> NDArray[np.float32]:
        """Return the embeddings of all rows of a view; rows that were not learned from are embedded like new rows."""
        learned = np.isin(np.arange(len(mask)), items)
        embedded = np.empty((len(mask), self.left_out_[view].shape[1]), np.float32)
        embedded[learned & mask[:, view]] = self.left_out_[view]
        new = np.flatnonzero(~learned & mask[:, view])
        for part in slices(len(new), self.n_landmarks):
            embedded[new[part]] = self._project(views[view][new[part]], view)
        return embedded[mask[:, view]]

    def _add_view(self, views: list[Rows], supervision: Supervision) -> None:
        """Fit the view to the classes that the other views, the labels and the pairs show."""
        evidence = Evidence.of(supervision, len(supervision.mask), self.label_noise_)
        positions = {name: position for position, name in enumerate(self.classes_.tolist())}
        codes = [positions.get(evidence.classes[code], -1) if code >= 0 else -1 for code in evidence.codes]
        evidence = replace(evidence, classes=self.classes_, codes=np.array(codes), pair_noise=self.pair_noise_)
        count = len(self.offsets_[0])
        probabilities = np.full((len(supervision.mask), count), 1 / count)
        ratios = np.zeros_like(probabilities)
        for view, present in enumerate(supervision.mask[:, :-1].T):
            ratios[present] += log_ratios(self._project(views[view][present], view))
        for _ in range(self.max_iter if evidence.similar is not None else 1):
            probabilities = evidence.probabilities(ratios, probabilities)
        present = supervision.mask[:, -1]
        groups = None if supervision.groups is None else np.asarray(supervision.groups)[present]
        random = check_random_state(self.random_state)
        landmarks = drawn(int(present.sum()), self.n_landmarks, random)
        learned = TargetedRows(views[-1][present], probabilities[present], groups)
        undecided = self._undecided(self._best_kernel(learned, random), learned, landmarks)
        turn = Turns([undecided], present[:, None], evidence, self.alpha, self.label_noise, 1).learned(probabilities)
        for name, value in turn.fitted(0).items():
            setattr(self, name, [*getattr(self, name), value])

    def _check(self, evidence: Evidence, views: int) -> None:
        if len(evidence.classes) + (self.new_classes or 0) < 2 and self.new_classes is not None:
            raise ValueError(f"new_classes={self.new_classes} and {len(evidence.classes)} known classes: 2 are needed")
        if self.new_classes is None and views < 2 and len(evidence.classes) < 2 and evidence.similar is None:
            raise ValueError(
                "one view does not determine the number of classes: give labels of two classes, pairs, or new_classes"
            )
