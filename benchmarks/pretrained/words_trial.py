"""One artist and one division of the concepts into folds: the names of unseen concepts ask for their drawings."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from benchmarks.pretrained.drawings import NAMES, PICTURES, WORDS, Concepts, drawn, home_with_models, unit_rows
from crossview.engine.collections.collection import Collection
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import DEFAULT, Recipe, Tune

FOLDS, LENGTH = 5, 10
CONSE, CCA, CSA, RIDGE, LEARNED, FUSED = "ConSE", "CCA", "CSA", "ridge", "default, pairs", "default, pairs and ConSE"
METHODS = (CONSE, CCA, CSA, RIDGE, LEARNED, FUSED)
_PENALTIES = tuple(10.0**power for power in np.arange(-2, 3.5, 0.5))


class _Way(NamedTuple):
    """A training and a search."""

    recipe: Recipe | None
    """None: the views as they are."""
    view: str
    """The view by which a name asks; "" for every view."""
    targets: tuple[str, ...]


_PAIR = (PICTURES, WORDS)
CCA_GRID = {"n_components": (50, 100, 200), "shrinkage": (0.1, 0.3, 0.6, 0.9), "power": (0.0, 1.0, 2.0)}
_WAYS: Mapping[str, _Way] = {
    CONSE: _Way(None, NAMES, (NAMES,)),
    CCA: _Way(Recipe(spec="cca,l2", views=_PAIR, tune=Tune(CCA_GRID)), WORDS, (PICTURES,)),
    CSA: _Way(Recipe(spec="csa,dot", views=_PAIR), WORDS, (PICTURES,)),
    LEARNED: _Way(Recipe(spec=DEFAULT, views=_PAIR), WORDS, (PICTURES,)),
    FUSED: _Way(Recipe(spec=DEFAULT, views=(*_PAIR, NAMES)), "", (PICTURES, NAMES)),
}


def run(task: tuple[str, int], data: Path, models: Path, cache: Path) -> dict[str, Any]:
    """Return the place of each concept's drawing in the list of its name, by method; 0 if it is not in the list."""
    artist, seed = task
    began, concepts = time.monotonic(), Concepts(data)
    folds = np.random.default_rng(seed).permutation(len(concepts.keys)) % FOLDS
    ranks = {method: np.zeros(len(folds), int) for method in METHODS}
    home = home_with_models(cache / "home", models)
    with drawn(home, f"drawings-{uuid.uuid4().hex[:8]}", concepts, artist, folds) as collection:
        for fold in range(FOLDS):
            unseen = np.flatnonzero(folds == fold)
            for method, way in _WAYS.items():
                ranks[method][unseen] = _ranks(collection, concepts, unseen, fold, way, seed)
            ranks[RIDGE][unseen] = _ridge(collection, concepts, unseen)
    return {
        "data": artist,
        "seed": seed,
        "candidates": np.bincount(folds).tolist(),
        "ranks": {method: places.tolist() for method, places in ranks.items()},
        "seconds": time.monotonic() - began,
    }


def _ranks(
    collection: Collection, concepts: Concepts, unseen: NDArray[np.int64], fold: int, way: _Way, seed: int
) -> list[int]:
    """Return the place of each unseen drawing among the unseen ones, by a space that learned from the others."""
    space, among = "raw", f"fold = {fold}"
    if way.recipe is not None:
        space = "learned"
        collection.train(replace(way.recipe, seed=seed, held_out=Filter(among)), space=space)
    queries = [Query(way.view, text=concepts.names[number]) for number in unseen]
    request = SearchRequest(queries, targets=way.targets, k=LENGTH, filter=among, space=space)
    lists = collection.search(request)
    keys = [[hit.key for hit in hits] for hits in lists]
    own_keys = [concepts.keys[number] for number in unseen]
    return [ranking.index(key) + 1 if key in ranking else 0 for key, ranking in zip(own_keys, keys, strict=True)]


def _ridge(collection: Collection, concepts: Concepts, unseen: NDArray[np.int64]) -> list[int]:
    """Return these places by scikit-learn: ridge regression from pictures to the vectors of their names."""
    pictures, words = (unit_rows(collection, view, concepts.keys) for view in _PAIR)
    learned = np.setdiff1d(np.arange(len(pictures)), unseen)
    mean = words[learned].mean(axis=0)
    model = RidgeCV(_PENALTIES).fit(pictures[learned], words[learned] - mean)
    predicted, targets = model.predict(pictures[unseen]), words[unseen] - mean
    predicted, targets = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (predicted, targets))
    scores = targets @ predicted.T
    places = (scores >= np.diag(scores)[:, None]).sum(axis=1)
    found_in: list[int] = np.where(places <= LENGTH, places, 0).tolist()
    return found_in
