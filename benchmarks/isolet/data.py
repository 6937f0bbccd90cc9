"""ISOLET by tasks, its divisions, and the error of nearest neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from benchmarks.frame.benchmark import read_arrays
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows

FILE = "isolet_g1_g5.npz"
VARIANCE = 0.99
SHARES = (0.6, 0.2, 0.2)
NEIGHBORS = 3

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Letters:
    """(n, d) rows, (n,) letters, and (n,) tasks from 0."""

    rows: Rows
    labels: Labels
    tasks: Labels

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return int(self.tasks.max()) + 1

    def take(self, places: Labels | NDArray[np.bool_]) -> "Letters":
        return Letters(self.rows[places], self.labels[places], self.tasks[places])

    def of(self, task: int) -> "Letters":
        return self.take(self.tasks == task)

    def supervision(self) -> Supervision:
        """Return the letters of each task as classes in a notion of its own."""
        names = self.labels.astype(str)
        return Supervision(
            notion_classes={f"task {task + 1}": np.where(self.tasks == task, names, "") for task in range(self.count)}
        )


@dataclass(frozen=True, eq=False)
class Division:
    """One division of every task into rows to train on, to choose settings by, and to test with."""

    train: Letters
    validation: Letters
    test: Letters


def read(folder: Path, parts: int) -> Letters:
    """Return the rows by the principal components that have 99 per cent of the variance.

    Each of the two groups of speakers is a task; with ``parts`` above 1 its speakers are ordered by the first principal
    component of their mean rows and cut into so many tasks of as many speakers. The components are those of all rows,
    as in the paper; no letter takes part in them. MissingDataError names what is missing.
    """
    arrays = read_arrays(folder, FILE, "X", "y", "group", "speaker")
    rows = arrays["X"].astype(np.float64)
    rows -= rows.mean(axis=0)
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    shares = np.cumsum(np.square(values)) / np.square(values).sum()
    rows = rows @ directions[: int(np.searchsorted(shares, VARIANCE)) + 1].T
    groups = np.unique(arrays["group"], return_inverse=True)[1]
    return Letters(rows, arrays["y"].astype(np.int64), _tasks(rows, groups, arrays["speaker"], parts))


def _tasks(rows: Rows, groups: Labels, speakers: Labels, parts: int) -> Labels:
    tasks = np.empty(len(rows), dtype=np.int64)
    for group in np.unique(groups):
        names = np.unique(speakers[groups == group])
        means = np.stack([rows[speakers == name].mean(axis=0) for name in names])
        axis = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][0]
        for part, members in enumerate(np.array_split(names[np.argsort(means @ axis, kind="stable")], parts)):
            tasks[np.isin(speakers, members)] = group * parts + part
    return tasks


def divide(letters: Letters, seed: int) -> Division:
    """Return a random division, 60, 20 and 20 per cent of every task."""
    generator = np.random.default_rng(seed)
    sets: list[list[Labels]] = [[], [], []]
    for task in range(letters.count):
        members = generator.permutation(np.flatnonzero(letters.tasks == task))
        cuts = (np.cumsum(SHARES[:2]) * len(members)).round().astype(int)
        for parts, part in zip(sets, np.split(members, cuts), strict=True):
            parts.append(part)
    return Division(*(letters.take(np.concatenate(parts)) for parts in sets))


def errors(factors: Mapping[int, Rows], train: Letters, queries: Letters) -> dict[str, list[float]]:
    """Return the share of each task's queries that their three nearest rows give another letter.

    Args:
        factors: by task the (r, d) factor of its metric.
        train: the rows among which neighbours are sought: "own", those of the query's task; "all", those of all tasks.
        queries: what to classify.
    """
    shares: dict[str, list[float]] = {"own": [], "all": []}
    for task, factor in sorted(factors.items()):
        own = queries.of(task)
        for name, among in (("own", train.of(task)), ("all", train)):
            predicted = vote(among.rows @ factor.T, among.labels, own.rows @ factor.T)
            shares[name].append(float(np.mean(predicted != own.labels)))
    return shares


def vote(rows: Rows, labels: Labels, queries: Rows) -> Labels:
    """Return the label of most of each query's three nearest rows, of the nearest where all differ."""
    search = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(rows)
    near = labels[search.kneighbors(queries, return_distance=False)]
    return np.asarray(np.where(near[:, 1] == near[:, 2], near[:, 1], near[:, 0]))
