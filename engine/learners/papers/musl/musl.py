"""Multiple similarity learning: a few binary embeddings, each for a group of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Arrays, Between, Bits, Seed
from crossview.engine.learners.frame.supervision import Supervision, rows_of_classes, shared_classes
from crossview.engine.learners.frame.traits import SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows, present_rows, slices
from crossview.engine.learners.papers.musl.boosting import (
    BitRows,
    Chosen,
    Codes,
    Pairs,
    Sample,
    Stumps,
    Training,
    boost,
    boost_assigned,
    hamming,
    likelihoods_under,
)

NEIGHBORS = 5
"""Number of neighbours that vote, as in the paper."""
_PAIRS_AT_ONCE = 1 << 21
LEARNED: Final = "learned"
KMEANS: Final = "kmeans"
RANDOM: Final = "random"
Metric = Annotated[int, Between(0, 4095)]
Assignment = (
    Literal["learned", "kmeans", "random"]
    | Annotated[Mapping[Any, int], Arrays(0, "an object of classes, each with its metric")]
    | Sequence[Metric]
)
PER_CLASS = "class"
RS = (500.0, 1000.0, 2000.0)
"""Accuracies r to try."""
BALANCED: Final = "balanced"
PAPER: Final = "paper"
_MOST_BITS = 65_536  # maximum number of bits of all metrics together
Odds = Annotated[float, Between(0, 100, above=True)]


def voted_classes(bits: BitRows, references: BitRows, codes: Codes, metrics: Codes, n_bits: int) -> Codes:
    """Return the (n,) classes with the most votes of the five nearest known rows of each row.

    Args:
        bits: (n, K T) bits under all metrics.
        references: (m, K T) bits of the known rows.
        codes: (m,) classes of the known rows, from 0.
        metrics: (m,) metrics of these classes, under which the rows are compared.
        n_bits: T.
    """
    classes = np.empty(len(bits), np.intp)
    for part in slices(len(bits), len(references), _PAIRS_AT_ONCE):
        classes[part] = votes(distances(bits[part], references, metrics, n_bits), codes, NEIGHBORS).argmax(axis=1)
    return classes


def distances(bits: BitRows, references: BitRows, metrics: Codes, n_bits: int) -> NDArray[np.float64]:
    """Return the (n, m) Hamming distances to known rows, each under its own metric; arguments as in
    ``voted_classes``."""
    by_metric = np.zeros((len(bits), len(references)))
    for metric in np.unique(metrics):
        columns, own = slice(metric * n_bits, (metric + 1) * n_bits), metrics == metric
        by_metric[:, own] = hamming(bits[:, columns], references[own, columns])
    return by_metric


def votes(distances: Rows, codes: Codes, k: int) -> Rows:
    """Return the (n, C) votes of the k nearest of m known rows for their classes, from (n, m) distances.

    Hamming distances have many ties: all rows at the k-th distance share the remaining votes equally. Among classes
    with equal votes, the one with the smaller mean distance of its voters is first.
    """
    k = min(k, distances.shape[1])
    kth = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < kth, distances == kth
    shares = nearer + tied * ((k - nearer.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True))
    members = np.eye(codes.max() + 1)[codes]
    counts = shares @ members
    mean = np.divide((shares * distances) @ members, counts, out=np.zeros_like(counts), where=counts > 0)
    return np.asarray(
        counts - 1e-6 * mean
    )  # votes are whole or equal shares: so small a part only decides between ties


def by_means(rows: Rows, codes: Codes, metrics: int, generator: np.random.RandomState) -> Codes:
    """Return the (C,) metrics of classes by k-means on the means of their rows, as in the paper's heuristic."""
    means = np.array([rows[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    groups = KMeans(min(metrics, len(means)), n_init=10, random_state=generator).fit(means).labels_
    return np.asarray(groups, dtype=np.intp)


def at_random(count: int, metrics: int, generator: np.random.RandomState) -> Codes:
    """Return the (C,) metrics of classes in K random groups, whose sizes differ by at most one."""
    return np.asarray(generator.permutation(np.arange(count) % metrics))


def stated_metrics(assignment: Mapping[Any, int] | Sequence[int], classes: NDArray[Any]) -> Codes:
    """Return the (C,) metrics that ``assignment`` gives the classes: by their text, or in sorted order.

    Raises:
        ValueError: if a class has no metric, or a metric is not a whole number from 0 on.
    """
    if isinstance(assignment, Mapping):
        by_name = {str(name): metric for name, metric in assignment.items()}
        missing = [str(name) for name in classes if str(name) not in by_name]
        if missing:
            raise ValueError(f"the assignment has no metric for: {', '.join(missing)}; give one for every class")
        assignment = [by_name[str(name)] for name in classes]
    metrics = np.asarray(assignment)
    if metrics.shape != classes.shape:
        raise ValueError(f"the assignment has shape {metrics.shape}, but there are {len(classes)} classes")
    if not np.issubdtype(metrics.dtype, np.integer) or metrics.min() < 0:
        raise ValueError(f"an assignment's metrics must be whole numbers from 0 on, got {metrics.tolist()}")
    return metrics.astype(np.intp)


@dataclass(eq=False, repr=False)
class MuSL(SeparateLearner, MultiViewLearner):
    """K metrics of T bits each, and the metric of each class; the embedding of a row is its bits under all metrics.

    Babenko, Branson and Belongie, "Similarity Metrics for Categorization: From Monolithic to Category Specific" (ICCV
    2009). A bit is a threshold on one column, and a metric is the Hamming distance of T bits. Boosting learns the
    metrics together to maximise sum_c max_k L_c^k, the log likelihoods of each class's pairs under its best metric,
    with a soft maximum (8); then it learns each metric again for its classes alone (2.3.2). Compare a row of a class c
    with others only by the bits of c's metric: see ``metric_of_class``. The learner leaves out rows that are alone in
    their class, as unlabelled rows are. Embeddings of two views are not comparable.

    Args:
        n_bits: T, bits of each metric.
        n_metrics: K; at most the number of classes. 1: one metric for all classes; "class": one for each class.
        assignment: the metric of each class: "learned"; "kmeans", by the means of their rows; "random"; or {class:
            metric}, with classes matched by their text; or the metrics of the classes in sorted order. Metrics count
            from 0.
        objective: "balanced" gives the positive and the negative pairs of a class the same total weight, and half of
            the bits learned so far as the offset in (3); "paper" gives all pairs the same weight, and T/2 as the
            offset.
        alpha: the change of the log odds that a pair is of one class (3), per bit.
        joint_alpha: the same while metrics are learned together, when likelihoods must differ to distinguish groups.
        r: accuracy of the soft maximum (8), for weights of all pairs that add up to 1, so it is the paper's r times
            their sum. None: of 500, 1000 and 2000, the value with the highest objective (7).
        retrain: boost each metric again after the assignment is learned.
        n_thresholds: number of candidate thresholds of each column, at its quantiles. With ``retrain``, groups are
            learned with the medians alone.
        max_rows: maximum number of rows for the pairs of a round; with more rows, each round draws this number, in
            proportion to the classes.
        random_state: seed of draws and of k-means.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        classes_: (C,) the classes.
        n_metrics_: int, K.
        categories_: list, per view, of the classes learned in it and those given to ``assign``.
        assignments_: list, per view, of the metrics of the categories.
        likelihoods_: list of (K, C_v) log likelihoods of the classes learned in a view; the weight of each class is its
            share of the rows, so that an objective is the sum over classes.
        columns_: list of (K T,) columns of the bits.
        thresholds_: list of (K T,) values from which on a bit is 1.
        references_: list of (m, ceil(K T / 8)) packed bits of training rows, at most ``max_rows``.
        reference_codes_: list of (m,) positions of the classes of these rows in ``categories_``; states of earlier
            versions lack them.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes of two rows, a
            class without a metric, or a view whose rows are all equal.
    """

    name = "musl"
    capabilities: ClassVar[Capabilities] = Capabilities(
        needs_labels=True, adds_views=True, binary=True, main_parameter="n_bits"
    )

    categories_: list[NDArray[Any]] = field(init=False)
    assignments_: list[Codes] = field(init=False)
    likelihoods_: list[NDArray[np.float64]] = field(init=False)
    columns_: list[NDArray[np.intp]] = field(init=False)
    thresholds_: list[NDArray[np.float64]] = field(init=False)
    references_: list[NDArray[np.uint8]] = field(init=False)
    reference_codes_: list[Codes] = field(init=False)

    n_bits: Bits = 32
    n_metrics: Annotated[int, Between(1, 4096)] | Literal["class"] = 5
    assignment: Assignment = LEARNED
    objective: Literal["balanced", "paper"] = BALANCED
    alpha: Odds = 0.6
    joint_alpha: Odds = 1.0
    r: Annotated[float, Between(0, 1e6, above=True)] | None = None
    retrain: bool = True
    n_thresholds: Annotated[int, Between(1, 1000)] = 1
    max_rows: Annotated[int, Between(4, 16_384)] = 2000
    random_state: Seed = None
    view_slices: Sequence[int] | None = None

    def metric_of_class(self, labels: ArrayLike, view: int = 0) -> Codes:
        """Return the metrics of (n,) classes in a view; -1 for a class without a metric there."""
        check_is_fitted(self)
        by_class = {
            str(name): metric for name, metric in zip(self.categories_[view], self.assignments_[view], strict=True)
        }
        return np.array([by_class.get(str(name), -1) for name in np.asarray(labels)], dtype=np.intp)

    def metric_of_rows(self, embeddings: ArrayLike, view: int = 0) -> Codes:
        """Return the metrics of the likeliest classes of rows, from their (n, K T) bits in a view.

        The five nearest references vote, each compared under the metric of its class, as the paper classifies queries.
        All results are -1 for a state of an earlier version, which lacks the classes of the references.
        """
        bits = np.asarray(embeddings, dtype=np.float32)
        if not hasattr(self, "reference_codes_"):
            return super().metric_of_rows(bits, view)
        codes, metrics = self.reference_codes_[view], self.assignments_[view]
        references = np.unpackbits(self.references_[view], axis=1, count=bits.shape[1]).astype(np.float32)
        return np.asarray(metrics[voted_classes(bits, references, codes, metrics[codes], self.n_bits)])

    def assign(self, X: ArrayLike, category: Any = None, view: int = 0) -> int:
        """Find the metric for a category that was not learned, from a few examples and without training (2.3.1).

        It is the metric under which the pairs of the category are likeliest: pairs of the examples with each other, and
        with training rows.

        Args:
            X: (m, d_view) examples, two or more.
            category: the name under which to remember the metric, matched by its text; it replaces an earlier metric.
                None: do not remember it.
            view: the view of the examples.

        Returns:
            The metric, 0 to K - 1.

        Raises:
            sklearn.exceptions.NotFittedError: before ``fit``.
            ValueError: for fewer than two examples, a category that was learned, or as ``transform`` does.
        """
        bits = self.transform(X, view=view)
        if len(bits) < 2:
            raise ValueError(f"a category needs at least 2 examples to find its metric, got {len(bits)}")
        learned = self.categories_[view][: self.likelihoods_[view].shape[1]]
        if category is not None and str(category) in learned.astype(str):
            raise ValueError(f"{category!r} was learned; only categories that were not can be assigned a metric")
        metric = self._likeliest(bits, view)
        if category is not None:
            names, metrics = self.categories_[view].astype(str), self.assignments_[view]
            rest = names != str(category)
            self.categories_[view] = np.append(names[rest], str(category))
            self.assignments_[view] = np.append(metrics[rest], metric)
        return metric

    def _likeliest(self, bits: Rows, view: int) -> int:
        width = bits.shape[1]
        references = np.unpackbits(self.references_[view], axis=1, count=width)
        pairs = Pairs(np.repeat([0, 1], [len(references), len(bits)]), 2, self.alpha, self._total())
        sample = Sample(pairs, np.vstack([references, bits]).astype(np.float32))
        return int(likelihoods_under(sample, np.arange(width).reshape(self.n_metrics_, -1))[:, 1].argmax())

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.classes_: NDArray[Any] = shared_classes(supervision.classes)
        stated = self._known()
        self.n_metrics_: int = min(int(self.n_metrics), len(self.classes_)) if stated is None else int(stated.max()) + 1
        if self.n_metrics_ * self.n_bits > _MOST_BITS:
            raise ValueError(f"n_metrics={self.n_metrics_} times n_bits={self.n_bits} is more than {_MOST_BITS:,} bits")
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        rows, labels = present_rows(views, supervision, view)
        rows, codes = rows_of_classes(rows, np.asarray(labels), self.classes_)
        present, codes = np.unique(codes, return_inverse=True)
        stumps, generator = Stumps.candidates(rows, self.n_thresholds), check_random_state(self.random_state)
        training = Training(rows, codes, stumps, self.alpha, self._total(), self.max_rows, generator)
        samples, groups = training.samples(), self._grouped(training, present)
        picks, assignment = self._learned(training) if groups is None else (None, groups)
        if picks is None or self.retrain:
            picks = boost_assigned(samples, assignment, self.n_metrics_, self.n_bits)
        learned, drawn = stumps.take(picks.ravel()), training.draw()
        return {
            "categories_": self.classes_[present],
            "assignments_": assignment,
            "likelihoods_": likelihoods_under(next(samples), picks),
            "columns_": learned.columns,
            "thresholds_": learned.thresholds,
            "references_": np.packbits(learned.bits(rows[drawn]).astype(bool), axis=1),
            "reference_codes_": codes[drawn],
        }

    def _learned(self, training: Training) -> tuple[Chosen, Codes]:
        """Return the metrics with the highest objective (7), and the metric of each class (10)."""
        if self.retrain:  # medians lead to better groups than many thresholds, in a fraction of the time
            training = replace(training, stumps=Stumps.candidates(training.rows, 1))
        samples = replace(training, alpha=self.joint_alpha).samples()
        tried = [boost(samples, self.n_metrics_, self.n_bits, r) for r in (RS if self.r is None else (self.r,))]
        picks, likelihoods = max(tried, key=lambda trial: trial[1].max(axis=0).sum())
        return picks, likelihoods.argmax(axis=0)

    def _known(self) -> Codes | None:
        """Return the metrics of ``classes_`` that the parameters give; None if they depend on rows."""
        count = len(self.classes_)
        if not isinstance(self.assignment, str):
            return stated_metrics(self.assignment, self.classes_)
        if self.n_metrics == PER_CLASS:
            return np.arange(count)
        return np.zeros(count, dtype=np.intp) if self.n_metrics == 1 else None

    def _grouped(self, training: Training, present: Codes) -> Codes | None:
        """Return the metrics of the classes of a view; None if they are to be learned."""
        stated = self._known()
        if stated is not None:
            return stated[present]
        if self.assignment == KMEANS:
            return by_means(training.rows, training.codes, self.n_metrics_, training.generator)
        if self.assignment == RANDOM:
            return at_random(len(present), self.n_metrics_, training.generator)
        return None

    def _total(self) -> int | None:
        return self.n_bits if self.objective == PAPER else None

    def _project(self, rows: Rows, view: int) -> Rows:
        return np.asarray(Stumps(self.columns_[view], self.thresholds_[view]).bits(rows).astype(np.float64))
