"""Places of the artists, by what people answered, and by their genres."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.joint.methods import SOLVING
from benchmarks.joint.people import Triplets
from benchmarks.music.data import Music
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.joint import JointMetrics
from crossview.engine.learners.papers.joint.joint_fit import Sharing, Solving
from crossview.engine.learners.papers.joint.joint_objects import JointObjects
from crossview.engine.learners.papers.joint.losses import LossName

DIMENSIONS, BY_GENRES = 10, 10_000
"""Dimension of the embeddings; and triplets that genres order."""

Fit = Callable[[Music, Triplets, Triplets, float], Rows]
"""Takes the artists, people's triplets, those of the genres and a weight; return the artists' places, (n, D)."""


@dataclass(frozen=True)
class Way:
    """How artists are placed, and the weights that are tried."""

    fit: Fit
    grid: Sequence[float]


def alone(loss: LossName, music: Music, people: Triplets, by_genres: Triplets, alpha: float) -> Rows:
    """Return places by people's triplets alone."""
    how = replace(SOLVING, n_components=DIMENSIONS, alpha=alpha, sharing="independent", loss=loss)
    return JointObjects(how).fit(Comparisons(people), music.count).embeddings_[""]


def beside(sharing: Sharing, music: Music, people: Triplets, by_genres: Triplets, alpha: float) -> Rows:
    """Return places by people's triplets, learned beside those of the genres, another notion of the same weight."""
    notions = np.repeat(["people", "genres"], [len(people), len(by_genres)])
    comparisons = Comparisons(np.concatenate([people, by_genres]), notions=notions)
    how = replace(SOLVING, n_components=DIMENSIONS, alpha=alpha, sharing=sharing, balance=1.0)
    embeddings = JointObjects(how).fit(comparisons, music.count).embeddings_
    return embeddings["" if sharing == "pooled" else "people"]


def over_genres(music: Music, people: Triplets, by_genres: Triplets, alpha: float) -> Rows:
    """Return places by a metric over the genres, learned from people's triplets."""
    solving = Solving(tol=SOLVING.tol, max_iter=SOLVING.max_iter)
    learner = JointMetrics(n_components=DIMENSIONS, alpha=alpha, sharing="independent", solving=solving)
    learner.fit([music.genres], Supervision(comparisons=Comparisons(people)))
    return np.asarray(learner.transform([music.genres])[0], np.float64)


WAYS: Mapping[str, Way] = {
    "joint with genres": Way(partial(beside, "joint"), (3e-2, 1e-2, 3e-3)),
    "people alone": Way(partial(alone, "hinge"), (1e-1, 1e-2, 1e-3)),
    "pooled with genres": Way(partial(beside, "pooled"), (1e-1, 1e-2, 1e-3)),
    "people alone, logistic loss": Way(partial(alone, "logistic"), (1e-1, 1e-2, 1e-3)),
    "people alone, t-STE": Way(partial(alone, "tste"), (1e-1, 1e-2, 1e-3)),
    "metric over genres": Way(over_genres, (1e-1, 1e-2, 1e-3)),
}
