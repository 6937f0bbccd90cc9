"""Every learner can be stopped in the middle of a fit."""

import contextvars
from types import SimpleNamespace

import numpy as np
import pytest
from brief import brief

from crossview.engine.learners.registry import LEARNERS
from crossview.engine.learners.selection import search
from crossview.engine.runtime import threads
from crossview.engine.runtime.cancellation import cancellable, checkpoint


class GoneError(RuntimeError):
    """The error that the tests' checks raise."""


class Countdown:
    """A check that raises from the ``left``-th call on; None: never."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.left is not None and self.calls >= self.left:
            raise GoneError


def examples():
    """Return two views of 40 rows in four classes that overlap."""
    generator = np.random.default_rng(0)
    labels = np.repeat(["ant", "bee", "cat", "dog"], 10)
    centers = generator.normal(size=(4, 6))
    return [np.repeat(centers, 10, axis=0) + generator.normal(size=(40, 6)) for _ in range(2)], labels


ITERATED = {
    "attributes": lambda fitted: 8,  # a Newton step at least for each of four classes in two views
    "fantope": lambda fitted: sum(fitted.steps_),
    "hybrid": lambda fitted: fitted.n_iter_,
    "itq": lambda fitted: 50,
    "lmnn": lambda fitted: sum(fitted.steps_),
    "mt-lmnn": lambda fitted: sum(fitted.steps_),
    "multi-npp": lambda fitted: fitted.n_iter_,
    "musl": lambda fitted: 8 * fitted.n_metrics_,
    "npp-hash": lambda fitted: fitted.n_iter_,
}
"""The least number of steps in which a fit must have checked, for the learners that iterate."""


@pytest.mark.parametrize("name", LEARNERS)
def test_no_learner_is_fitted_when_nobody_waits(name):
    """Every registered learner checks before it begins, alone and when it adds a view."""
    views, labels = examples()
    with cancellable(Countdown(1)), pytest.raises(GoneError):
        brief(name).fit(views, labels)
    fitted = brief(name).fit(views, labels)
    if fitted.capabilities.adds_views:
        with cancellable(Countdown(1)), pytest.raises(GoneError):
            fitted.add_view([*views, views[0]], labels)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_stops_at_any_checkpoint(monkeypatch, name):
    """At the first and in the middle, the caller gets the error as it is, and no work goes on.

    The test uses one thread: each of several would check once before it stops.
    """
    monkeypatch.setattr(threads, "_limit", SimpleNamespace(threads=1, enter=lambda: None, leave=lambda: None))
    views, labels = examples()
    whole = Countdown()
    with cancellable(whole):
        brief(name).fit(views, labels)
    for left in {1, 1 + whole.calls // 3, 1 + whole.calls // 2}:
        check = Countdown(left)
        with cancellable(check), pytest.raises(GoneError):
            brief(name).fit(views, labels)
        assert check.calls == left


@pytest.mark.parametrize("name", ITERATED)
def test_an_iterative_fit_looks_in_every_step(name):
    """It therefore stops within a step, for any number of steps."""
    views, labels = examples()
    check = Countdown()
    with cancellable(check):
        fitted = brief(name).fit(views, labels)
    assert check.calls > ITERATED[name](fitted) > 0


def test_the_multipliers_look_in_every_step():
    """Fantope's other solver does so in its inner problems as well."""
    views, labels = examples()
    check = Countdown()
    with cancellable(check):
        fitted = brief("fantope", solver="admm", max_iter=3).fit(views, labels)
    assert check.calls > 2 * sum(fitted.steps_)


def test_batches_look_in_every_step():
    """One fit is on batches, and one on neighbours in a view."""
    views, labels = examples()
    for settings in ({"batch_size": 20}, {"similar": "knn", "n_neighbors": 3}, {"nearest": 3}, {"penalty": "l1"}):
        check = Countdown()
        with cancellable(check):
            LEARNERS["multi-npp"](random_state=0).set_params(max_iter=3, inner_iter=5, **settings).fit(views, labels)
        assert check.calls > 3 * 5


def test_a_search_of_settings_looks_at_every_candidate():
    """The check comes before the candidate is scored."""
    scored = []
    check = Countdown(3)
    with cancellable(check), pytest.raises(GoneError):
        search({"a": range(5)}, lambda point: float(scored.append(point) or 0))
    assert len(scored) == 2


def test_a_check_holds_for_its_block_only():
    """Outside, after an error too, nothing is checked; an inner block has its own; a copied context has the check."""
    checkpoint()
    outer, inner = Countdown(), Countdown(1)
    with cancellable(outer):
        with pytest.raises(GoneError), cancellable(inner):
            checkpoint()
        checkpoint()
        contextvars.copy_context().run(checkpoint)
    checkpoint()
    assert (outer.calls, inner.calls) == (2, 1)
