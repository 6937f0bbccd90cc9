"""Long work reads first and computes then: no transaction is open meanwhile, so that the log can be reset."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.findings.changes import important_changes
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.spaces import thresholds
from crossview.engine.training import by_comparisons, by_pairs, calibration, evaluator, trainer
from crossview.engine.values.changes import ChangesRequest
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe

KEYS = [f"{number:02}" for number in range(24)]


@pytest.fixture
def rows(home: Home):
    """Items on a line in three classes, and a space that learned from half of them."""
    values = np.random.default_rng(0).normal(size=(len(KEYS), 3)).astype(np.float32)
    with home.create("rows", ["v=vectors:dim=3"]) as made:
        made.items.put_vectors("v", KEYS, values + np.arange(len(KEYS), dtype=np.float32)[:, None] % 3)
        made.items.update([ItemUpdate(key, labels=(str(number % 3),)) for number, key in enumerate(KEYS)])
        made.train(Recipe(spec="lda", views=("v",), holdout=0.5))
        yield made


def pairs() -> ItemComparisons:
    positions = np.array([[number, (number + step) % len(KEYS)] for number in range(24) for step in (1, 3)])
    return ItemComparisons(tuple(KEYS), Comparisons(positions, similar=np.arange(len(positions)) % 2 == 0))


WORK: dict[str, tuple[Any, str, Callable[[Collection], object]]] = {
    "evaluation": (evaluator, "figures", lambda made: made.evaluate(EvaluationRequest(view="v"))),
    "refit": (evaluator, "figures", lambda made: made.evaluate(EvaluationRequest(view="v", refit=True))),
    "comparisons": (
        by_comparisons,
        "area_under_curve",
        lambda made: made.evaluate(EvaluationRequest(view="v", constraints=pairs())),
    ),
    "pairs": (
        by_pairs,
        "area_under_curve",
        lambda made: made.evaluate(EvaluationRequest(view="v", pairs=pairs())),
    ),
    "calibration": (
        thresholds,
        "fitted_cut",
        lambda made: made.spaces.calibrate(CalibrationRequest(view="v")),
    ),
    "calibration by refits": (
        calibration,
        "with_supervision",
        lambda made: made.spaces.calibrate(CalibrationRequest(view="v", refit=True)),
    ),
    "training": (trainer, "learn", lambda made: made.train(Recipe(spec="pca", views=("v",)))),
}


@pytest.mark.parametrize("name", WORK)
def test_the_log_can_be_reset_while_something_is_computed(rows: Collection, monkeypatch, name: str):
    """The work has read everything before it computes."""
    module, step, work = WORK[name]
    real, busy = getattr(module, step), []

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        busy.append(reset_log(rows))
        return real(*arguments, **options)

    monkeypatch.setattr(module, step, meanwhile)
    work(rows)
    assert busy
    assert not any(busy)


def test_the_log_can_be_reset_while_changes_are_learned(collection: Collection, monkeypatch):
    """The pictures are versions of a page."""
    real, busy = important_changes.region_distances, []

    def meanwhile(*arguments: Any) -> Any:
        busy.append(reset_log(collection))
        return real(*arguments)

    monkeypatch.setattr(important_changes, "region_distances", meanwhile)
    collection.views.add("regions=gist:grid=2:size=32")
    root = next(iter({item.source.rpartition("/")[0].rpartition("/")[0] for item in collection.items()}))
    collection.index([root])
    collection.changes(ChangesRequest(view="regions"))
    assert busy
    assert not any(busy)


def reset_log(collection: Collection) -> bool:
    """Try to reset the log; return whether a reader is in the way."""
    engine = collection._opened.catalog._database._engine
    with engine.connect().execution_options(crossview_alone=True) as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=0")
        return bool(connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0])
