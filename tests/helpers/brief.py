"""Learners that take few steps, for promises that hold after any number of them."""

from typing import Any

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.registry import LEARNERS

BRIEF: dict[str, dict[str, Any]] = {
    "fantope": {"max_iter": 5, "n_constraints": 200},
    "lmnn": {"max_iter": 5},
    "mt-lmnn": {"max_iter": 5},
    "musl": {"n_bits": 8},
    "npp-hash": {"n_bits": 16, "max_iter": 3},
    "posteriors": {"scaling": "both"},
    "qwise": {"max_iter": 5, "n_constraints": 200},
}
"""By the names of the learners that take long; the others keep their defaults."""


def brief(name: str, **settings: Any) -> MultiViewLearner:
    """Return a learner with settings, and with few steps; seeded, if it draws."""
    learner = LEARNERS[name]()
    seed = {"random_state": 0} if "random_state" in learner.get_params() else {}
    chosen: MultiViewLearner = learner.set_params(**seed | BRIEF.get(name, {}) | settings)
    return chosen
