"""Evidence about the items' classes besides their rows: labels, and pairs of similar items."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from crossview.engine.learners.frame.supervision import Supervision, neighbor_matrix
from crossview.engine.learners.frame.view_rows import Rows

_LEAST = 1e-3
"""Number added to probabilities before their logarithms are averaged, so that no single item dominates the mean."""
_PAIR_NOISE = 0.1, 0.01, 0.5
"""Assumed share of wrong pairs: the first value, and the minimum and maximum of later estimates."""
_TINY = 1e-9
_HELD_OUT = 0.25
"""Share of the labels and pairs to hold out."""
_STEPS = 30
"""Number of EM steps to estimate the share of wrong evidence."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The known classes and pairs of n items.

    Attributes:
        classes: (C,) the classes of items with a known class, sorted.
        codes: (n,) positions of the items' classes in ``classes``; -1 for an unknown class.
        similar: sparse (n, n), symmetric, 1 for two items that are given as similar; None: no pairs are given.
        label_noise: assumed share of wrong labels.
        pair_noise: assumed share of wrong pairs.
        held_out_labels: (L, 2) items, and the positions of their classes, which are not in ``codes``, to be predicted.
        held_out_pairs: (P, 2) pairs that are not in ``similar``, to be predicted.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    similar: Any
    label_noise: float
    pair_noise: float = _PAIR_NOISE[0]
    held_out_labels: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    held_out_pairs: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))

    @classmethod
    def of(cls, supervision: Supervision, count: int, label_noise: float) -> "Evidence":
        """Return the evidence that supervision gives for ``count`` items.

        An item's class is known if ``supervision.labelled`` contains the item; without ``labelled``, if another item
        shares the class.
        """
        classes, codes = np.empty(0), np.full(count, -1)
        if supervision.classes is not None:
            names, numbers, counts = np.unique(supervision.classes, return_inverse=True, return_counts=True)
            labelled = counts[numbers] > 1 if supervision.labelled is None else np.asarray(supervision.labelled, bool)
            places = np.unique(numbers[labelled])
            classes = names[places]
            codes[labelled] = np.searchsorted(places, numbers[labelled])
        return cls(classes, codes, _symmetric(supervision.neighbors, count), label_noise)

    @property
    def known(self) -> NDArray[np.intp]:
        """The positions of the items with known classes."""
        return np.flatnonzero(self.codes >= 0)

    def take(self, items: NDArray[np.intp]) -> "Evidence":
        """Return the evidence for some of the items, by position."""
        similar = None if self.similar is None else sp.csr_array(self.similar[items][:, items])
        return replace(self, codes=self.codes[items], similar=similar)

    def sample(self, most: int, random: np.random.RandomState) -> NDArray[np.intp]:
        """Return the positions of at most ``most`` randomly drawn items, ascending.

        Labels of each class in turn, and both items of pairs, have precedence.
        """
        order = random.permutation(len(self.codes))
        places = np.full(len(order), np.inf)
        if self.similar is not None:
            pairs = sp.triu(self.similar).tocoo()
            shuffled = random.permutation(pairs.nnz)
            for ends in (pairs.row, pairs.col):
                np.minimum.at(places, ends[shuffled], 2.0 * np.arange(pairs.nnz))
        labelled = order[self.codes[order] >= 0]
        turns = np.lexsort((self.codes[labelled], _ranks(self.codes[labelled])))
        places[labelled[turns]] = np.minimum(places[labelled[turns]], np.arange(len(turns)))
        return np.sort(order[np.argsort(places[order], kind="stable")][:most])

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
        items = self.known
        scores[items] += self._log_labels(before.shape[1])
        return np.asarray(softmax(scores, axis=1))

    def _log_labels(self, count: int) -> Rows:
        """Return the logarithms of the likelihoods of the known items' labels under ``count`` classes."""
        odds = np.full((len(self.known), count), self.label_noise / count)
        odds[np.arange(len(odds)), self.codes[self.known]] += 1 - self.label_noise
        return np.asarray(np.log(odds + 1e-12))  # without noise, the odds of other classes are 0

    def learned(self, probabilities: Rows, label_noise: float | None) -> "Evidence":
        """Return the evidence with the shares of wrong labels and pairs that (n, K) probabilities imply.

        ``label_noise``: a fixed share; None: estimate it.
        """
        pair_noise = self.pair_noise
        if self.similar is not None and self.similar.nnz:
            pairs = self.similar.tocoo()
            agreeing = (probabilities[pairs.row] * probabilities[pairs.col]).sum(axis=1).mean()
            pair_noise = float(np.clip(1 - agreeing, *_PAIR_NOISE[1:]))
        if label_noise is None:
            items = self.known
            missed = 1 - probabilities[items, self.codes[items]]
            label_noise = float(missed.mean()) if len(items) else 0.0
        return replace(self, label_noise=label_noise, pair_noise=pair_noise)

    def holding_out(self, random: np.random.RandomState) -> "Evidence":
        """Return the evidence with a quarter of the pairs and of each class's labels, randomly drawn, held out.

        At least one label of a class is held out, and at least one is kept.
        """
        order = random.permutation(self.known)
        codes, labelled = np.full_like(self.codes, -1), self.codes[order]
        counts = np.bincount(labelled, minlength=len(self.classes))
        least = np.where(counts > 1, np.maximum(1, np.round(_HELD_OUT * counts)), 0)
        mask = _ranks(labelled) >= least[labelled]
        codes[order[mask]], labels = labelled[mask], order[~mask]
        held = replace(self, codes=codes, held_out_labels=np.column_stack([labels, self.codes[labels]]))
        if self.similar is None:
            return held
        pairs = sp.triu(self.similar).tocoo()
        mask = random.random_sample(pairs.nnz) >= _HELD_OUT
        rest = sp.coo_array((pairs.data[mask], (pairs.row[mask], pairs.col[mask])), shape=pairs.shape)
        held_out = np.column_stack([pairs.row[~mask], pairs.col[~mask]]).astype(np.intp)
        return replace(held, similar=sp.csr_array(rest + rest.T), held_out_pairs=held_out)

    def prediction_score(
        self,
        probabilities: Rows,
        posteriors: Sequence[Rows],
        present: NDArray[np.bool_],
    ) -> "PredictionScore":
        """Return how well the views predict each other, held-out labels and held-out pairs, as log probabilities.

        Args:
            probabilities: (n, K) probabilities of the items' classes.
            posteriors: for each view (n, K), by regressions that leave the items out; the prior for items without the
                view.
            present: (n, V), whether each item has each view.
        """
        prior = priors(probabilities)
        agreements = [
            _agreement(posteriors[a], posteriors[b], present[:, a] & present[:, b])
            for a in range(len(posteriors))
            for b in range(a)
        ]
        ratios = [np.log(posterior + _TINY) - np.log(prior) for posterior in posteriors]
        by_views = softmax(np.log(prior) + np.sum(ratios, axis=0), axis=1)
        items, codes = self.held_out_labels.T
        labels = _log_likelihoods(by_views[items, codes], 1 / len(prior))
        first, second = self.held_out_pairs.T
        pairs = _log_likelihoods((probabilities[first] * probabilities[second] / prior).sum(axis=1), 1.0)
        return PredictionScore((np.concatenate([np.empty(0), *agreements]), labels, pairs))


@dataclass(frozen=True, eq=False)
class PredictionScore:
    """Log probabilities of left-out evidence; its kinds have equal weights, independent of their sizes.

    Attributes:
        kinds: (m,) arrays with the same meaning for all numbers of classes: of items in two views, of labels, of pairs.
    """

    kinds: Sequence[NDArray[np.float64]]

    def __add__(self, other: "PredictionScore") -> "PredictionScore":
        """Return the score of both scores' evidence."""
        both = zip(self.kinds, other.kinds, strict=True)
        return PredictionScore(tuple(np.concatenate(pair) for pair in both))

    @property
    def score(self) -> float:
        """The sum of the means of the kinds."""
        return float(sum(kind.mean() for kind in self.kinds if len(kind)))

    def is_as_good_as(self, other: "PredictionScore") -> bool:
        """Return whether the score is at most one standard error of the paired difference below another score."""
        behind = [theirs - ours for ours, theirs in zip(self.kinds, other.kinds, strict=True) if len(ours)]
        variance = sum(gap.var() / len(gap) for gap in behind)
        return float(sum(gap.mean() for gap in behind)) <= float(np.sqrt(variance))


def priors(probabilities: Rows) -> NDArray[np.float64]:
    """Return the (K,) mean probabilities of the classes, from (n, K) probabilities, none of them 0."""
    shares = probabilities.mean(axis=0) + _TINY
    return np.asarray(shares / shares.sum())


def _agreement(first: Rows, second: Rows, both: NDArray[np.bool_]) -> Rows:
    """Return, for the items that have two views, the log ratio of the probability that both views have one class to
    chance."""
    first, second = first[both], second[both]
    if not len(first):
        return np.empty(0)
    shares = np.sqrt(first.mean(axis=0) * second.mean(axis=0)) + _TINY
    return np.asarray(np.log((first * second / shares).sum(axis=1) + _LEAST))


def _ranks(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how often each of (n,) codes came before, (n,)."""
    order = np.argsort(codes, kind="stable")
    _, first, counts = np.unique(codes[order], return_index=True, return_counts=True)
    ranks = np.empty(len(codes), np.intp)
    ranks[order] = np.arange(len(codes)) - np.repeat(first, counts)
    return ranks


def _log_likelihoods(likely: Rows, chance: float) -> Rows:
    """Return the logarithms of (m,) likelihoods, some of which are those of wrong evidence, which chance explains.

    The share of wrong evidence is the most likely one, found by EM.
    """
    share = _PAIR_NOISE[0]
    for _ in range(_STEPS if len(likely) else 0):
        wrong = share * chance / ((1 - share) * likely + share * chance)
        share = float(np.clip(wrong.mean(), _LEAST, 1 - _LEAST))
    return np.asarray(np.log((1 - share) * likely + share * chance))


def _symmetric(neighbors: Any, count: int) -> Any:
    """Return the pairs in both directions, without pairs of an item with itself; None if no pairs remain."""
    if neighbors is None:
        return None
    pairs = sp.csr_array(neighbor_matrix(neighbors, count) != 0).astype(np.float64)
    both = sp.csr_array(((pairs + pairs.T) > 0).astype(np.float64))
    both = sp.csr_array(both - sp.diags_array(both.diagonal()))
    both.eliminate_zeros()
    return both if both.nnz else None
