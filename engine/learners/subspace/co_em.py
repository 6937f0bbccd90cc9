"""Co-EM: class posteriors from items whose classes are partly known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from crossview.engine.learners.base import MAX_ITEMS
from crossview.engine.learners.capabilities import Capabilities
from crossview.engine.learners.cost import FitCost, FitSize, regression_cost
from crossview.engine.learners.settings import Between, Count, Share
from crossview.engine.learners.subspace.evidence import Evidence, PredictionScore
from crossview.engine.learners.subspace.kernel_regression import Groups, KernelRegression, TargetedRows, drawn
from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.learners.subspace.row_kernel import Kernel, RowKernel, Scaling
from crossview.engine.learners.subspace.seeding import MOST_GROUPS, Seeding
from crossview.engine.learners.subspace.turns import Turn, Turns, log_ratios
from crossview.engine.learners.supervision import Supervision
from crossview.engine.learners.view_rows import Rows, slices
from crossview.engine.runtime.cancellation import checkpoint, report_progress

_NEW_CLASSES = (0, 2, 4, 8, 16, 32, 64)
"""Numbers of new classes to try."""
_PENALTIES_NEAR = 5
"""Number of penalties that most turns try."""
_FIRST_NOISE = 0.05
"""Assumed share of wrong labels before the first estimate."""
_LEAST_ROWS = 2
_HELD_OUT = 0.25
"""Share of the pairs to hold out, by which the number of classes is chosen."""
_ITEMS_OF_A_CLASS = 4
"""Minimum average number of items per class if the number of classes is chosen."""
_WORSE = 2
"""Number of successive trials without improvement after which no larger numbers of classes are tried."""


@dataclass(eq=False, repr=False)
class CoEM(ClassPosteriors):
    """Class posteriors from items whose classes are partly known, uncertain, or only known by pairs of similar items.

    Each item has one class, which all its views show, its label states, and similar items share; labels and pairs may
    be wrong. Turns (co-EM: Nigam and Ghani, CIKM 2000) alternate two steps. The kernel regression of each view, see
    ``ClassPosteriors``, learns the probabilities of all items' classes. Then a step of mean field updates these from
    the labels, the pairs, and the regressions of all views, each without the item. The start is groups of items that
    are similar in all views (``Seeding``).

    Items may have classes without any labelled item; without labels, all classes are such new classes. The learner
    chooses the smallest number of new classes that predicts as well, within one standard error, as the best number: it
    measures how well the views predict each other, the labels and held-out pairs, each item left out. If no item has
    two views and no pairs are given, there are no new classes, because no evidence shows them.

    Args:
        row_kernel: see ``ClassPosteriors``.
        scaling: see ``ClassPosteriors``.
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
        n_iter_: int, number of turns.
        scores_: (T, 2), the tried numbers of new classes, and how well views, labels and pairs were predicted.

    Raises:
        ValueError: from ``fit``, for parameters out of range, or without labels or pairs and with a single view.
    """

    name = "co-em"
    capabilities = Capabilities(cross_view=True, takes_neighbors=True, adds_views=True, main_parameter="new_classes")

    new_classes_: int = field(init=False)
    n_iter_: int = field(init=False)
    label_noise_: float = field(init=False)
    pair_noise_: float = field(init=False)
    scores_: NDArray[np.float64] = field(init=False)

    row_kernel: Kernel = "gaussian"
    scaling: Scaling = "both"
    new_classes: Annotated[int, Between(0, MOST_GROUPS)] | None = None
    label_noise: Share | None = None
    max_iter: Count = 8
    max_items: Annotated[int, Between(100, 100_000)] = MAX_ITEMS

    def fit_cost(self, size: FitSize) -> FitCost:
        """Return the cost of the regressions, with the turns of every number of new classes."""
        trials = len(_NEW_CLASSES) + 2 if self.new_classes is None else 0
        size = replace(size, items=min(size.items, self.max_items), classes=self.embedded_widths(size)[0])
        return regression_cost(size, self.n_landmarks, (trials + 1) * self.max_iter * _PENALTIES_NEAR)

    def embedded_widths(self, size: FitSize) -> tuple[int, ...]:
        """Return the number of classes, with new ones."""
        new = max(_NEW_CLASSES) if self.new_classes is None else self.new_classes
        return (size.classes + new,) * len(size.widths)

    def _needs_classes(self, given: Supervision) -> bool:
        super()._needs_classes(given)
        return given.classes is not None

    def _fit(self, views: list[Rows], given: Supervision) -> None:
        random = check_random_state(self.random_state)
        self.exclusive_ = True
        evidence = Evidence.of(given, len(given.mask), _FIRST_NOISE if self.label_noise is None else self.label_noise)
        self._check(evidence, len(views))
        self.classes_ = evidence.classes
        items = self._items(evidence, given.mask, random)
        turn = self._learned([rows[items] for rows in views], given, items, evidence.take(items), random)
        self.n_iter_ = turn.number
        self.label_noise_, self.pair_noise_ = turn.evidence.label_noise, turn.evidence.pair_noise
        fitted = [turn.fitted(view) for view in range(len(views))]
        for name in fitted[0]:
            setattr(self, name, [attributes[name] for attributes in fitted])
        if len(items) < len(given.mask):
            self.left_out_ = [self._all_left_out(views, given.mask, items, view) for view in range(len(views))]

    def _learned(
        self,
        views: list[Rows],
        given: Supervision,
        items: NDArray[np.intp],
        evidence: Evidence,
        random: np.random.RandomState,
    ) -> Turn:
        """Return the last turn over some items, given their rows and evidence."""
        mask = given.mask[items]
        for view, count in enumerate(mask.sum(axis=0)):
            if count < _LEAST_ROWS:
                known = f"{count} items of view {view} have a label, a pair or another view"
                raise ValueError(f"{known}; at least {_LEAST_ROWS} are needed")
        groups = None if given.groups is None else np.asarray(given.groups)[items]
        kernel = RowKernel(self.row_kernel, self.scaling)
        seeding = Seeding.of(views, mask, kernel, evidence, self.n_landmarks, random)
        undecided = [
            self._undecided(rows[present], None if groups is None else groups[present], random)
            for rows, present in zip(views, mask.T, strict=True)
        ]
        turns = Turns(undecided, mask, evidence, self.alpha, self.label_noise, self.max_iter)
        return self._best(turns, seeding, random)

    def _items(self, evidence: Evidence, mask: NDArray[np.bool_], random: np.random.RandomState) -> NDArray[np.intp]:
        """Return the items to learn from, ascending; items with a label or a pair have precedence.

        An item with a single view and without label and pair gives no evidence about its class, so it is left out,
        unless there are new classes, which may show in one view.
        """
        known = evidence.labelled_or_paired()
        items = np.flatnonzero(known | (mask.sum(axis=1) > 1))
        if self.new_classes:
            items = np.arange(len(mask))
        if len(items) > self.max_items:
            shuffled = random.permutation(items)
            items = np.sort(shuffled[np.argsort(~known[shuffled], kind="stable")][: self.max_items])
        return items

    def _all_left_out(
        self, views: list[Rows], mask: NDArray[np.bool_], items: NDArray[np.intp], view: int
    ) -> NDArray[np.float32]:
        """Return the embeddings of all rows of a view; rows that were not learned from are embedded like new rows."""
        learned = np.isin(np.arange(len(mask)), items)
        found = np.empty((len(mask), self.left_out_[view].shape[1]), np.float32)
        found[learned & mask[:, view]] = self.left_out_[view]
        others = np.flatnonzero(~learned & mask[:, view])
        for part in slices(len(others), self.n_landmarks):
            found[others[part]] = self._project(views[view][others[part]], view)
        return found[mask[:, view]]

    def _add_view(self, views: list[Rows], given: Supervision) -> None:
        """Fit the view to the classes that the other views, the labels and the pairs show."""
        evidence = Evidence.of(given, len(given.mask), self.label_noise_)
        positions = {name: position for position, name in enumerate(self.classes_.tolist())}
        codes = [positions.get(evidence.classes[code], -1) if code >= 0 else -1 for code in evidence.codes]
        evidence = replace(evidence, classes=self.classes_, codes=np.array(codes), pair_noise=self.pair_noise_)
        count = len(self.offsets_[0])
        probabilities = np.full((len(given.mask), count), 1 / count)
        ratios = np.zeros_like(probabilities)
        for view, present in enumerate(given.mask[:, :-1].T):
            ratios[present] += log_ratios(self._project(views[view][present], view))
        for _ in range(self.max_iter if evidence.similar is not None else 1):
            probabilities = evidence.probabilities(ratios, probabilities)
        random = check_random_state(self.random_state)
        present = given.mask[:, -1]
        groups = None if given.groups is None else np.asarray(given.groups)[present]
        undecided = self._undecided(views[-1][present], groups, random)
        found = Turns([undecided], given.mask[:, -1:], evidence, self.alpha, self.label_noise, 1).learned(probabilities)
        for name, value in found.fitted(0).items():
            setattr(self, name, [*getattr(self, name), value])

    def _check(self, evidence: Evidence, views: int) -> None:
        if len(evidence.classes) + (self.new_classes or 0) < 2 and self.new_classes is not None:
            raise ValueError(f"new_classes={self.new_classes} and {len(evidence.classes)} known classes: 2 are needed")
        if self.new_classes is None and views < 2 and len(evidence.classes) < 2 and evidence.similar is None:
            raise ValueError(
                "one view does not determine the number of classes: give labels of two classes, pairs, or new_classes"
            )

    def _undecided(self, rows: Rows, groups: Groups | None, random: np.random.RandomState) -> KernelRegression:
        """Return the decomposed regression of a view's rows, whose targets are not known yet."""
        checkpoint()
        learned = TargetedRows(rows, np.zeros((len(rows), 1)), groups)
        landmarks = drawn(len(rows), self.n_landmarks, random)
        return KernelRegression.of(RowKernel(self.row_kernel, self.scaling), learned, landmarks, 1.0)

    def _best(self, turns: Turns, seeding: Seeding, random: np.random.RandomState) -> Turn:
        """Return the last turn with the number of new classes that predicts best."""
        known, free = len(seeding.evidence.classes), int((seeding.evidence.codes < 0).sum())
        most = min(MOST_GROUPS, seeding.coordinates.shape[1], len(seeding.coordinates) // _ITEMS_OF_A_CLASS) - known
        most = min(most, free // _ITEMS_OF_A_CLASS)
        trial = replace(turns, evidence=turns.evidence.holding_out(_HELD_OUT, random))
        tried: dict[int, PredictionScore] = {}

        def score(new: int) -> float:
            if new not in tried:
                tried[new] = trial.run(seeding.probabilities(known + new, random)).prediction_score
                report_progress(len(tried), len(_NEW_CLASSES) + 2)  # at most two more numbers, between the others
            return tried[new].score

        connected = turns.evidence.similar is not None or bool((turns.mask.sum(axis=1) > 1).any())
        if self.new_classes is not None or not free or (known > 1 and not connected):
            self.new_classes_ = self.new_classes or 0
        else:
            choices = [new for new in _NEW_CLASSES if new <= most and known + new > 1] or [max(2 - known, 0)]
            score(choices[0])
            best = tried[_highest(choices, score)]
            self.new_classes_ = min(new for new, found in tried.items() if found.is_as_good_as(best))
        self.scores_ = np.array([[new, found.score] for new, found in sorted(tried.items())]).reshape(-1, 2)
        return turns.run(seeding.probabilities(known + self.new_classes_, random))


def _highest(choices: Sequence[int], score: Callable[[int], float]) -> int:
    """Return the number with the highest score: first among ascending choices until scores fall, then between the
    neighbours of the best choice."""
    best, behind = choices[0], 0
    for choice in choices[1:]:
        better = score(choice) > score(best)
        best, behind = (choice, 0) if better else (best, behind + 1)
        if behind == _WORSE:
            break
    position = choices.index(best)
    beside = choices[max(position - 1, 0)], choices[min(position + 1, len(choices) - 1)]
    between = {round(np.sqrt(best * other)) if best * other else max(best, other) // 2 for other in beside}
    return max([best, *sorted(between - {best})], key=score)
