"""Evidence about the items' classes besides their rows: labels, and pairs of similar items."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from crossview.engine.learners.supervision import Supervision, neighbor_matrix
from crossview.engine.learners.view_rows import Rows

_LEAST = 1e-3
"""Number added to probabilities before their logarithms are averaged, so that no single item dominates the mean."""
_PAIR_NOISE = 0.1, 0.01, 0.5
"""Assumed share of wrong pairs: the first value, and the minimum and maximum of later estimates."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Evidence:
    """The known classes and pairs of n items.

    Attributes:
        classes: (C,) the classes of items with a known class, sorted.
        codes: (n,) positions of the items' classes in ``classes``; -1 for an unknown class.
        similar: sparse (n, n), symmetric, 1 for two items that are given as similar; None: no pairs are given.
        label_noise: assumed share of wrong labels.
        pair_noise: assumed share of wrong pairs.
        held_out: (P, 2) pairs that are not in ``similar``, to be predicted.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    similar: Any
    label_noise: float
    pair_noise: float = _PAIR_NOISE[0]
    held_out: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))

    @classmethod
    def of(cls, given: Supervision, count: int, label_noise: float) -> "Evidence":
        """Return the evidence that supervision gives for ``count`` items.

        An item's class is known if ``given.labelled`` contains the item; without ``labelled``, if another item shares
        the class.
        """
        classes, codes = np.empty(0), np.full(count, -1)
        if given.classes is not None:
            names, numbers, counts = np.unique(given.classes, return_inverse=True, return_counts=True)
            known = counts[numbers] > 1 if given.labelled is None else np.asarray(given.labelled, bool)
            kept = np.unique(numbers[known])
            classes = names[kept]
            codes[known] = np.searchsorted(kept, numbers[known])
        return cls(classes, codes, _symmetric(given.neighbors, count), label_noise)

    @property
    def known(self) -> NDArray[np.intp]:
        """The positions of the items with known classes."""
        return np.flatnonzero(self.codes >= 0)

    def take(self, items: NDArray[np.intp]) -> "Evidence":
        """Return the evidence for some of the items, by position."""
        similar = None if self.similar is None else sp.csr_array(self.similar[items][:, items])
        return replace(self, codes=self.codes[items], similar=similar)

    def labelled_or_paired(self) -> NDArray[np.bool_]:
        """Return whether each item has a known class or is in a pair, (n,)."""
        paired = np.zeros(len(self.codes), bool) if self.similar is None else self.similar.sum(axis=1) > 0
        return np.asarray(paired | (self.codes >= 0))

    def probabilities(self, ratios: Rows, before: Rows) -> Rows:
        """Return the (n, K) probabilities of the items' classes, by a step of mean field.

        Args:
            ratios: (n, K), the sums over an item's views of the logarithms of its class posteriors divided by the
                priors.
            before: (n, K) probabilities of the previous step, whose mean is the prior.
        """
        prior = priors(before)
        scores = np.log(prior) + ratios
        if self.similar is not None:
            scores += self.similar @ np.log((1 - self.pair_noise) * before / prior + self.pair_noise)
        known = self.known
        scores[known] += self._log_labels(before.shape[1])
        return np.asarray(softmax(scores, axis=1))

    def _log_labels(self, count: int) -> Rows:
        """Return the logarithms of the likelihoods of the known items' labels under ``count`` classes."""
        odds = np.full((len(self.known), count), self.label_noise / count)
        odds[np.arange(len(odds)), self.codes[self.known]] += 1 - self.label_noise
        return np.asarray(np.log(odds + 1e-12))

    def learned(self, probabilities: Rows, label_noise: float | None) -> "Evidence":
        """Return the evidence with the shares of wrong labels and pairs that (n, K) probabilities imply.

        ``label_noise``: a fixed share; None: estimate it.
        """
        pair_noise = self.pair_noise
        if self.similar is not None:
            pairs = self.similar.tocoo()
            agreeing = (probabilities[pairs.row] * probabilities[pairs.col]).sum(axis=1).mean()
            pair_noise = float(np.clip(1 - agreeing, *_PAIR_NOISE[1:]))
        if label_noise is None:
            known = self.known
            missed = 1 - probabilities[known, self.codes[known]]
            label_noise = float(missed.mean()) if len(known) else 0.0
        return replace(self, label_noise=label_noise, pair_noise=pair_noise)

    def holding_out(self, share: float, random: np.random.RandomState) -> "Evidence":
        """Return the evidence with a randomly drawn share of the pairs moved to the held-out pairs."""
        if self.similar is None:
            return self
        pairs = sp.triu(self.similar).tocoo()
        kept = random.random_sample(pairs.nnz) >= share
        rest = sp.coo_array((pairs.data[kept], (pairs.row[kept], pairs.col[kept])), shape=pairs.shape)
        held_out = np.column_stack([pairs.row[~kept], pairs.col[~kept]]).astype(np.intp)
        return replace(self, similar=sp.csr_array(rest + rest.T), held_out=held_out)

    def prediction_score(
        self,
        probabilities: Rows,
        posteriors: Sequence[Rows],
        present: NDArray[np.bool_],
    ) -> "PredictionScore":
        """Return how well the views predict each other, the labels and held-out pairs, as log probabilities.

        Args:
            probabilities: (n, K) probabilities of the items' classes.
            posteriors: for each view (n, K), by regressions that leave the items out; the prior for items without the
                view.
            present: (n, V), whether each item has each view.
        """
        prior, known = priors(probabilities), self.known
        agreements = [
            _agreement(posteriors[a], posteriors[b], present[:, a] & present[:, b])
            for a in range(len(posteriors))
            for b in range(a)
        ]
        ratios = [np.log(one + _TINY) - np.log(prior) for one in posteriors]
        by_views = softmax(np.log(prior) + np.sum(ratios, axis=0), axis=1)
        labels = np.log(by_views[known, self.codes[known]] + _LEAST)
        first, second = self.held_out.T
        pairs = np.log((probabilities[first] * probabilities[second] / prior).sum(axis=1) + _LEAST)
        return PredictionScore((np.concatenate([np.empty(0), *agreements]), labels, pairs))


@dataclass(frozen=True, eq=False)
class PredictionScore:
    """Log probabilities of left-out evidence; its kinds have equal weights, independent of their sizes.

    Attributes:
        kinds: (m,) arrays with the same meaning for all numbers of classes: of items in two views, of labels, of pairs.
    """

    kinds: Sequence[NDArray[np.float64]]

    @property
    def score(self) -> float:
        """The sum of the means of the kinds."""
        return float(sum(one.mean() for one in self.kinds if len(one)))

    def is_as_good_as(self, other: "PredictionScore") -> bool:
        """Return whether the score is at most one standard error of the paired difference below another score."""
        behind = [theirs - ours for ours, theirs in zip(self.kinds, other.kinds, strict=True) if len(ours)]
        variance = sum(one.var() / len(one) for one in behind)
        return float(sum(one.mean() for one in behind)) <= float(np.sqrt(variance))


def priors(probabilities: Rows) -> NDArray[np.float64]:
    """Return the (K,) mean probabilities of the classes, from (n, K) probabilities, none of them 0."""
    shares = probabilities.mean(axis=0) + _TINY
    return np.asarray(shares / shares.sum())


def _agreement(first: Rows, second: Rows, both: NDArray[np.bool_]) -> Rows:
    """Return, for the items that have two views, the log ratio of the probability that both views have one class to
    chance."""
    one, two = first[both], second[both]
    if not len(one):
        return np.empty(0)
    shares = np.sqrt(one.mean(axis=0) * two.mean(axis=0)) + _TINY
    return np.asarray(np.log((one * two / shares).sum(axis=1) + _LEAST))


def _symmetric(neighbors: Any, count: int) -> Any:
    """Return the pairs in both directions, without pairs of an item with itself; None if no pairs remain."""
    if neighbors is None:
        return None
    given = sp.csr_array(neighbor_matrix(neighbors, count) != 0).astype(np.float64)
    both = sp.csr_array(((given + given.T) > 0).astype(np.float64))
    both = sp.csr_array(both - sp.diags_array(both.diagonal()))
    both.eliminate_zeros()
    return both if both.nnz else None
