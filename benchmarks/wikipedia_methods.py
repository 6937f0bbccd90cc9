"""The methods of the Wikipedia benchmark, and the settings that cross-validation may give them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STEPS = ("l1,sqrt", "l1,sqrt,standardize", "l1,standardize", "l1")
UNSCALED = ("l1,sqrt", "l1")  # for learners that standardise the columns themselves
ALPHAS = (0.1, 0.01, 1.0)
_SHAPES: Mapping[str, Sequence[Any]] = {"normalize": [True, False], "center": [True, False]}


def _specs(learner: str, steps: Sequence[str] = STEPS) -> list[str]:
    """The chains of a learner after each of the steps, with embeddings of unit length first, and as they are."""
    return [f"{before},{learner}{after}" for after in (",l2", "") for before in steps]


def _semantic(steps: Sequence[str]) -> list[str]:
    """The chains of semantic matching, which gives its embeddings unit length by a parameter of its own."""
    return [f"{before},semantic" for before in steps]


@dataclass(frozen=True)
class Method:
    """A line of the table."""

    name: str
    grid: Mapping[str, Sequence[Any]]
    """Values to try by parameter, the likeliest first; "spec" is the chain."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    exhaustive: bool = True
    """Whether every combination is tried; or else the parameters are chosen one after another."""


METHODS: tuple[Method, ...] = (
    Method(
        "cca",
        {
            "spec": _specs("cca"),
            "power": [1.0, 0.5, 0.0, 2.0],
            "shrinkage": ["auto", 0.03, 0.1, 0.3],
        },
        {"n_components": 10},
        exhaustive=False,
    ),
    Method(
        "multi-npp",
        {"spec": _specs("multi-npp", STEPS[:2]), "max_iter": [2, 1], "eta": [1e-6, 1e-2], "gamma": [1e-6, 1e-2]},
        {"n_components": 10, "random_state": 0},
        exhaustive=False,
    ),
    Method("pls", {"spec": _specs("pls", UNSCALED), "n_components": [10, 7, 5]}),
    Method(
        "semantic, ridge",
        {"spec": _semantic(UNSCALED), "alpha": ALPHAS, **_SHAPES},
        {"regression": "ridge"},
        exhaustive=False,
    ),
    Method(
        "semantic, logistic",
        {"spec": _semantic(UNSCALED), "alpha": ALPHAS, **_SHAPES},
        {"regression": "logistic"},
        exhaustive=False,
    ),
    Method(
        "scm",
        {
            "spec": _semantic([f"{steps},cca:10" for steps in STEPS]),
            "regression": ["logistic", "ridge"],
            "alpha": ALPHAS,
            **_SHAPES,
        },
        exhaustive=False,
    ),
)
