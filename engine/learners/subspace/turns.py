"""Turns and plan of co-EM: regressions learn the items' classes in turns, and held-out evidence chooses their start."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.subspace.evidence import Evidence, PredictionScore, priors
from crossview.engine.learners.subspace.kernel_regression import KernelRegression
from crossview.engine.learners.subspace.posteriors import fitted_view
from crossview.engine.learners.subspace.seeding import MOST_GROUPS, Seeding, Starts
from crossview.engine.learners.subspace.temperature import best_factor, log_losses, posteriors
from crossview.engine.runtime.cancellation import checkpoint, report_progress
from crossview.engine.runtime.threads import over

_SETTLED = 1e-3
"""Mean, over items, of the summed change of an item's probabilities below which the turns have converged."""
_TINY = 1e-9
NEW_CLASSES = (0, 2, 4, 8, 16, 32, 64)
"""Numbers of new classes to try."""
TRIALS = len(NEW_CLASSES) + 2
"""Maximum number of tried numbers: at most two more, between the others."""
FOLDS = 4
"""Maximum number of times that evidence is held out."""
_ENOUGH = 100
"""Number of held-out labels and pairs for which one fold is enough."""
TURNS = 4
"""Maximum number of turns in a trial; more follow if the last turn is the best."""
_ITEMS_OF_A_CLASS = 4
"""Minimum average number of items per class if the number of classes is chosen."""
_WORSE = 2
"""Number of successive trials without improvement after which no larger numbers of classes are tried."""
_MEAN = -1
"""Position of the start that is least often bad, for labels of which none can be held out."""


@dataclass(frozen=True, eq=False)
class Turn:
    """One turn: the views' regressions, learned from the probabilities of the items' classes.

    Attributes:
        regressions: one per view.
        factors: inverse temperatures of the regressions.
        posteriors: (n_v, K) posteriors of the rows of each view, each by a regression that leaves the row out.
        probabilities: (n, K) probabilities that the regressions learned.
        evidence: the evidence, with the current estimates of the shares of wrong labels and pairs.
        mask: (n, V), whether each item has each view.
        number: number of the turn, from 1.
    """

    regressions: Sequence[KernelRegression]
    factors: Sequence[float]
    posteriors: Sequence[Rows]
    probabilities: Rows
    evidence: Evidence
    mask: NDArray[np.bool_]
    number: int

    @property
    def ratios(self) -> Rows:
        """(n, K) sums over the views of the logarithms of posteriors divided by priors."""
        total = np.zeros_like(self.probabilities)
        for present, posterior in zip(self.mask.T, self.posteriors, strict=True):
            total[present] += log_ratios(posterior)
        return total

    @property
    def prediction_score(self) -> PredictionScore:
        """How well the views predict each other, held-out labels and held-out pairs."""
        prior, every = priors(self.probabilities), []
        for present, posterior in zip(self.mask.T, self.posteriors, strict=True):
            rows = np.tile(prior, (len(self.mask), 1))
            rows[present] = posterior
            every.append(rows)
        return self.evidence.prediction_score(self.probabilities, every, self.mask)

    def fitted(self, view: int) -> dict[str, Any]:
        """Return the fitted attributes of a view, which are those of class posteriors."""
        regression, factor = self.regressions[view], self.factors[view]
        targets = self.probabilities[self.mask[:, view]]
        loss = float(log_losses(regression.left_out, targets, factor, True).mean())
        return fitted_view(regression, factor, loss, self.posteriors[view])


@dataclass(frozen=True, eq=False)
class Turns:
    """The inputs that all turns share: the views' decomposed regressions, the evidence, and settings of ``CoEM``."""

    regressions: Sequence[KernelRegression]
    mask: NDArray[np.bool_]
    evidence: Evidence
    alpha: float | None
    label_noise: float | None
    max_iter: int

    def after(self, probabilities: Rows) -> Iterator[Turn]:
        """Yield the turns that begin with (n, K) probabilities, until they converge or have their maximum number."""
        turn = self.learned(probabilities)
        yield turn
        for _ in range(self.max_iter - 1):
            after = turn.evidence.probabilities(turn.ratios, turn.probabilities)
            change = np.abs(after - turn.probabilities).sum(axis=1).mean()
            turn = self.learned(after, turn)
            yield turn
            if change < _SETTLED:
                break

    def learned(self, probabilities: Rows, before: Turn | None = None) -> Turn:
        """Return the turn that learns (n, K) probabilities, as the first turn or after another."""
        checkpoint()
        evidence = self.evidence if before is None else before.evidence.learned(probabilities, self.label_noise)
        regressions, factors, predictions = [], [], []
        for regression, present in zip((before or self).regressions, self.mask.T, strict=True):
            targets = probabilities[present]
            regressions.append(regression.with_targets(targets, self.alpha))
            factors.append(best_factor(regressions[-1].left_out, targets, True))
            predictions.append(posteriors(regressions[-1].left_out, factors[-1], True))
        number = 1 if before is None else before.number + 1
        return Turn(regressions, factors, predictions, probabilities, evidence, self.mask, number)


def log_ratios(rows: Rows) -> Rows:
    """Return the logarithms of (n, K) posteriors divided by their means."""
    shares = rows.mean(axis=0) + _TINY
    return np.asarray(np.log(rows + _TINY) - np.log(shares / shares.sum()))


@dataclass(frozen=True)
class Plan:
    """A number of new classes, the position of a start, and a number of turns; None: until the turns converge."""

    new: int
    start: int
    turns: int | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """Turns in which a part of the labels and pairs is held out.

    Attributes:
        folds: turns and starts of each fold.
        random: draws the groups of the starts.
        scores: how well plans predict what is held out, and the views each other.
    """

    folds: Sequence[tuple[Turns, Starts]]
    random: np.random.RandomState
    scores: dict[Plan, PredictionScore] = field(default_factory=dict)

    @classmethod
    def of(cls, turns: Turns, seeding: Seeding, random: np.random.RandomState) -> "Trials":
        """Return trials with held-out evidence: other evidence in each of several folds if it is little."""
        held = [turns.evidence.holding_out(random)]
        if 0 < len(held[0].held_out_labels) + len(held[0].held_out_pairs) < _ENOUGH:
            held += [turns.evidence.holding_out(random) for _ in range(FOLDS - 1)]
        short = replace(turns, max_iter=min(turns.max_iter, TURNS))
        return cls([(replace(short, evidence=evidence), Starts(seeding, evidence)) for evidence in held], random)

    def plan(self, new: int | None) -> Plan:
        """Return the best plan; ``new``: the number of new classes, None: the best number."""
        turns, _ = self.folds[0]
        classes, free = len(turns.evidence.classes), int((turns.evidence.codes < 0).sum())
        free -= len(turns.evidence.held_out_labels)
        connected = turns.evidence.similar is not None or bool((turns.mask.sum(axis=1) > 1).any())
        if not free or (classes > 1 and not connected):
            new = new or 0
        if classes > 1 and not len(turns.evidence.held_out_labels) + len(turns.evidence.held_out_pairs):
            return Plan(new or 0, _MEAN)
        if new is not None:
            return self._best(new)
        most = min(MOST_GROUPS, len(turns.mask) // _ITEMS_OF_A_CLASS) - classes
        most = min(most, free // _ITEMS_OF_A_CLASS)
        choices = [new for new in NEW_CLASSES if new <= most and classes + new > 1] or [max(2 - classes, 0)]
        best = self._best(_highest(choices, lambda new: self.scores[self._best(new)].score))
        least = self._best(choices[0])
        return least if classes > 1 and self.scores[least].is_as_good_as(self.scores[best]) else best

    def best_scores(self) -> NDArray[np.float64]:
        """Return (T, 2) tried numbers of new classes, ascending, and the score of the best plan with each."""
        numbers = sorted({plan.new for plan in self.scores})
        return np.array([[new, self.scores[self._best(new)].score] for new in numbers]).reshape(-1, 2)

    def _best(self, new: int) -> Plan:
        """Return the best plan with a number of new classes; among equal ones, the first."""
        if not any(plan.new == new for plan in self.scores):
            self._try(new)
            report_progress(len({plan.new for plan in self.scores}), TRIALS)
        return max((plan for plan in self.scores if plan.new == new), key=lambda plan: self.scores[plan].score)

    def _try(self, new: int) -> None:
        groups = len(self.folds[0][0].evidence.classes) + new
        trials = [
            (turns, position, start)
            for turns, starts in self.folds
            for position, start in enumerate(starts.of(groups, self.random))
        ]
        different = {id(start): (turns, start) for turns, _, start in trials}
        runs = over(list(different.values()), lambda run: [turn.prediction_score for turn in run[0].after(run[1])])
        scores_of = dict(zip(different, runs, strict=True))
        for turns, position, start in trials:
            scores = list(scores_of[id(start)])
            scores += scores[-1:] * (turns.max_iter - len(scores))  # the turns converged
            for number, score in enumerate(scores, start=1):
                plan = Plan(new, position, number if number < turns.max_iter else None)
                self.scores[plan] = self.scores[plan] + score if plan in self.scores else score


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
