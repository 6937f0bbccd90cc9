"""The Fantope through the product: a collection is filled, trained by pairs, calibrated, and measured by others."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.verification import methods
from benchmarks.verification.data import Pairs, Split, Trial
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.spaces.pipeline import own_learners
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Grouping, Recipe

REFIT = f"{methods.FANTOPE}, through the product"
OWN = f"{REFIT}, threshold of the pairs it learned from"
ALL = f"{REFIT}, all items indexed before"
NAMES = (REFIT, OWN, ALL)
_FOLD = Grouping("fold")


def through_the_product(trial: Trial, settings: Mapping[str, Any], variance: float) -> dict[str, dict[str, Any]]:
    """Return the figures of the settings that were chosen for the Fantope, by a collection's own methods.

    The collection holds the items of the training pairs when it learns from these, and the others are added then; or it
    holds all before, so that the rows of the others, of which nothing is known, take part in the principal components
    and the scale. Its threshold is that of the validation pairs, by which the settings were chosen: at distances that
    the learner gives without their third of the classes. Or it is that of the training pairs, at distances of the
    metric that learned from them.
    """
    split, views = trial.outer, {f"view{number}": rows for number, rows in enumerate(_ready(trial.outer))}
    folds = _folds(trial)
    checked = np.setdiff1d(np.concatenate([split.check.items, _pooled(trial).items]), split.known_items)
    figures = {}
    for before, later, thresholds in (
        (split.known_items, checked, {REFIT: True, OWN: False}),
        (np.union1d(split.known_items, checked), checked[:0], {ALL: True}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            dims = [f"{name}=vectors:dim={rows.shape[1]}" for name, rows in views.items()]
            with Home(Path(folder)).create("verification", dims) as collection:
                _add(collection, views, folds, before)
                began = time.perf_counter()
                collection.train(_recipe(tuple(views), settings, variance, _stated(split.fit)))
                seconds = time.perf_counter() - began
                _add(collection, views, folds, later)
                for name, refit in thresholds.items():
                    figures[name] = _calibrated(collection, trial, refit) | {"seconds": seconds}
                    figures[name]["settings"] = dict(settings)
    return figures


def _calibrated(collection: Collection, trial: Trial, refit: bool) -> dict[str, Any]:
    """Return the figures of the test pairs at the threshold of the validation pairs, or of the training pairs."""
    (view,) = collection.spaces.get("fantope").views
    began = time.perf_counter()
    pairs = _pooled(trial) if refit else trial.outer.fit
    request = CalibrationRequest(view=view, pairs=_stated(pairs), refit=refit, group_by=_FOLD if refit else None)
    error = collection.spaces.calibrate(request).error_rate
    tuning = time.perf_counter() - began
    evaluation = collection.evaluate(EvaluationRequest(view=view, pairs=_stated(trial.outer.check)))
    values = {row.metric: row.value for row in evaluation.rows}
    return {
        "accuracy": values["accuracy"],
        "fixed": None,
        "auc": values["auc"],
        "equal error rate": values["equal_error_rate"],
        "rank": collection.spaces.get("fantope").dim[view],
        "full rank": None,
        "taken": None,
        "validation": None if error is None else 1 - error,
        "tuning": tuning,
    }


def _pooled(trial: Trial) -> Pairs:
    """Return the validation pairs of all inner splits."""
    checks = [split.check for split in trial.inner]
    return Pairs(np.concatenate([check.items for check in checks]), np.concatenate([check.alike for check in checks]))


def _folds(trial: Trial) -> NDArray[np.int64]:
    """Return for each item the inner split whose validation pairs contain its class; -1 for items of the test."""
    if trial.classes is None:
        raise ValueError(f"{trial.name} has no classes to divide the pairs by")
    folds = np.full(len(trial.classes), -1, np.int64)
    for number, split in enumerate(trial.inner):
        folds[np.isin(trial.classes, trial.classes[split.check.items])] = number
    return folds


def _ready(split: Split) -> list[NDArray[np.float32]]:
    """Return the rows of each view after its own steps, which vectors from outside have none of."""
    ends = np.cumsum([part.width for part in split.parts])[:-1]
    columns = zip(split.parts, np.split(split.rows, ends, axis=1), strict=True)
    return [
        Chain(own_learners([[part]])).fit([rows]).transform(rows, view=0).astype(np.float32) for part, rows in columns
    ]


def _add(
    collection: Collection,
    views: Mapping[str, NDArray[np.float32]],
    folds: NDArray[np.int64],
    items: NDArray[np.int64],
) -> None:
    new = []
    for item in items.tolist():
        rows = {name: matrix[item] for name, matrix in views.items()}
        new.append(NewItem(_key(item), rows=rows, attributes={"fold": int(folds[item])}))
    report = collection.items.put(new)
    if report.failures:
        raise ValueError(f"an item was refused: {report.failures[0]}")


def _recipe(views: tuple[str, ...], point: Mapping[str, Any], variance: float, pairs: ItemComparisons) -> Recipe:
    settings = {name: value for name, value in point.items() if name not in ("rank", "steps")}
    settings |= {"max_iter": point["steps"], "upper": methods.UPPER, "lower": methods.LOWER}
    return Recipe(
        spec=f"pca:{variance},scale,fantope",
        views=("+".join(views),),
        dim=point["rank"],
        settings=settings,
        constraints=pairs,
    )


def _stated(pairs: Pairs) -> ItemComparisons:
    names, places = np.unique(pairs.items, return_inverse=True)
    comparisons = Comparisons(places.reshape(pairs.items.shape), pairs.alike)
    return ItemComparisons(tuple(map(_key, names.tolist())), comparisons)


def _key(item: int) -> str:
    return f"item/{item:05}"
