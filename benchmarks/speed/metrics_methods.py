"""The data of the metric speed benchmark, and the learners that it compares."""

import resource
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from benchmarks import peers
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.registry import LEARNERS

RANK, CLASSES = 10, 20
FLIPPED = 0.05  # share of training comparisons that are wrong
TEST_ROWS, TEST_COUNT, NEIGHBORS = 2_000, 100_000, 3

Items = NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """One problem: rows of a width, and so many quadruplets or pairs; of classes the rows themselves are the count."""

    supervision: str
    width: int
    count: int
    rows: int
    _: KW_ONLY
    seed: int = 0


@dataclass(frozen=True)
class Problem:
    """The data of a cell; tuples are positions, of quadruplets the first two rows are the nearer ones.

    Attributes:
        rows, labels: (n, d) and (n,), to learn from.
        tuples: (m, 4) quadruplets or (m, 2) pairs; of classes (0, 4).
        similar: (m,) 1 or -1, of pairs.
        unseen, unseen_labels: (2,000, d) and (2,000,) other rows.
        test: quadruplets of unseen rows in the right order.
    """

    rows: Rows
    labels: Items
    tuples: Items
    similar: Items
    unseen: Rows
    unseen_labels: Items
    test: Items


@dataclass(frozen=True)
class Method:
    """A learner with settings: ours by its registered name, or a peer: "sklearn", or a class of metric-learn's."""

    supervision: str
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    peer: bool = False


def _ours(supervision: str, learner: str = "fantope", **settings: Any) -> Method:
    return Method(supervision, learner, {"n_components": RANK, **settings})


METHODS: Mapping[str, Method] = {
    "Fantope, 2 steps": _ours("quadruplets", max_iter=2),
    "Fantope, 5 steps": _ours("quadruplets", max_iter=5),
    "Fantope, 40 steps": _ours("quadruplets", max_iter=40),
    "Fantope": _ours("quadruplets"),
    "no regularisation": _ours("quadruplets", mu=0.0),
    "LSML": Method("quadruplets", "LSML", peer=True),
    "LSML, prior=covariance": Method("quadruplets", "LSML", {"prior": "covariance"}, peer=True),
    "Fantope of pairs, 5 steps": _ours("pairs", max_iter=5),
    "Fantope of pairs": _ours("pairs"),
    "ITML": Method("pairs", "ITML", peer=True),
    "Fantope of classes, 5 steps": _ours("classes", max_iter=5),
    "Fantope of classes": _ours("classes"),
    "our LMNN": _ours("classes", "lmnn"),
    "LMNN": Method("classes", "LMNN", {"n_neighbors": NEIGHBORS}, peer=True),
    "LMNN, learn_rate=1e-6": Method("classes", "LMNN", {"n_neighbors": NEIGHBORS, "learn_rate": 1e-6}, peer=True),
    "NCA": Method("classes", "NCA", peer=True),
    "NCA, rank 10": Method("classes", "NCA", {"n_components": RANK}, peer=True),
    "scikit-learn's NCA": Method("classes", "sklearn", {"random_state": 0}, peer=True),
    "scikit-learn's NCA, rank 10": Method("classes", "sklearn", {"n_components": RANK, "random_state": 0}, peer=True),
}
"""By supervision, ours first; learners that are not registered are left out."""


def methods(supervision: str) -> list[str]:
    """Return the names of the methods that learn from a kind of supervision and can be had here."""
    available = {name: method for name, method in METHODS.items() if method.peer or method.learner in LEARNERS}
    return [name for name, method in available.items() if method.supervision == supervision]


def draw(cell: Cell) -> Problem:
    """Return the data of a cell, the same every time.

    Rows of one of 20 classes lie in 10 hidden dimensions, standard normal around a centre that is standard normal too;
    the other dimensions are standard normal noise, and a random rotation hides which is which. The target metric is
    that of the hidden dimensions, weighted from 1 down to 0.1. It orders random quadruplets, of which 5 % are then
    turned round to be learned from. About half of the pairs are of one class.
    """
    generator = np.random.default_rng([cell.seed, cell.width])
    centers = generator.normal(size=(CLASSES, RANK))
    rotation = np.linalg.qr(generator.normal(size=(cell.width, cell.width)))[0]
    labels = generator.integers(CLASSES, size=cell.rows + TEST_ROWS)
    rows = generator.normal(size=(len(labels), cell.width))
    rows[:, :RANK] += centers[labels]
    hidden = rows[:, :RANK] * np.sqrt(np.linspace(1.0, 0.1, RANK))
    rows = rows @ rotation
    learned, unseen = slice(0, cell.rows), slice(cell.rows, None)
    tuples, similar = np.empty((0, 4), np.int64), np.empty(0, np.int64)
    if cell.supervision == "quadruplets":
        tuples = _ordered(hidden[learned], generator.integers(cell.rows, size=(cell.count, 4)))
        wrong = generator.random(len(tuples)) < FLIPPED
        tuples[wrong] = tuples[wrong][:, [2, 3, 0, 1]]
        test = _ordered(hidden[unseen], generator.integers(TEST_ROWS, size=(TEST_COUNT, 4)))
    else:
        tuples, similar = _pairs(labels[learned], cell.count if cell.supervision == "pairs" else 2, generator)
        pairs, alike = _pairs(labels[unseen], 2 * TEST_COUNT, generator)
        both = min((alike > 0).sum(), (alike < 0).sum())
        test = np.hstack([pairs[alike > 0][:both], pairs[alike < 0][:both]])
    return Problem(rows[learned], labels[learned], tuples, similar, rows[unseen], labels[unseen], test)


def fit(name: str, cell: Cell, timeout: float) -> dict[str, float]:
    """Return seconds of the fit, steps, peak memory in MiB of the process that fitted, and the accuracy.

    Called in a fresh process: memory is all that it used. The time limit is that of metric-learn's own process; beyond
    it subprocess.TimeoutExpired is raised, and RuntimeError if metric-learn failed.
    """
    method, problem = METHODS[name], draw(cell)
    if method.peer and method.learner != "sklearn":
        examples: dict[str, Any] = {"labels": problem.labels}
        if cell.supervision != "classes":
            examples = {"tuples": problem.tuples, "similar": problem.similar if cell.supervision == "pairs" else None}
        peer = peers.fit(method.learner, problem.rows, method.settings, timeout=timeout, **examples)
        factor, seconds, steps, peak = peer.components, peer.seconds, peer.iterations, peer.peak_mib
    else:
        began = time.perf_counter()
        factor, steps = _fit_here(method, problem)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"seconds": seconds, "peak memory, MiB": peak, "accuracy": accuracy(factor, cell, problem)}
    return figures if steps is None else {**figures, "steps": steps}


def accuracy(factor: Rows, cell: Cell, problem: Problem) -> float:
    """Return how good a (r, d) factor L of a metric is on rows that it was not learned from.

    The share of quadruplets in the right order, which for pairs are of a similar and a dissimilar one; for classes the
    accuracy of the 3 nearest rows learned from.
    """
    if cell.supervision != "classes":
        features = Differences(problem.unseen)
        near, far = (features.distances(factor, problem.test[:, part]) for part in (slice(0, 2), slice(2, 4)))
        return float(np.mean(near < far))
    classifier = KNeighborsClassifier(NEIGHBORS).fit(problem.rows @ factor.T, problem.labels)
    return float(classifier.score(problem.unseen @ factor.T, problem.unseen_labels))


def _fit_here(method: Method, problem: Problem) -> tuple[Rows, int]:
    if method.learner == "sklearn":
        peer = NeighborhoodComponentsAnalysis(**method.settings).fit(problem.rows, problem.labels)
        return np.asarray(peer.components_), int(peer.n_iter_)
    learner: Any = LEARNERS[method.learner]().set_params(**method.settings)
    if method.supervision == "classes":
        learner.fit(problem.rows, problem.labels)
    else:
        similar = problem.similar if method.supervision == "pairs" else None
        learner.fit_tuples(problem.tuples, similar, preprocessor=problem.rows)
    return learner.weights_[0], learner.n_iter_


def _ordered(hidden: Rows, items: Items) -> Items:
    features, unit = Differences(hidden), np.eye(hidden.shape[1])
    near, far = (features.distances(unit, items[:, part]) for part in (slice(0, 2), slice(2, 4)))
    turned: Items = np.where((near > far)[:, None], items[:, [2, 3, 0, 1]], items)
    different: Items = turned[(near != far) & (items[:, 0] != items[:, 1]) & (items[:, 2] != items[:, 3])]
    return different


def _pairs(labels: Items, count: int, generator: np.random.Generator) -> tuple[Items, Items]:
    """Return about so many pairs of different rows, about half of them of one class."""
    order, sizes = np.argsort(labels), np.bincount(labels)
    anchors = generator.integers(len(labels), size=count)
    classes = labels[anchors]
    same = order[(np.cumsum(sizes) - sizes)[classes] + generator.integers(sizes[classes])]
    partners = np.where(np.arange(count) % 2 == 0, same, generator.integers(len(labels), size=count))
    items: Items = np.column_stack([anchors, partners])[anchors != partners]
    return items, np.where(labels[items[:, 0]] == labels[items[:, 1]], 1, -1)
