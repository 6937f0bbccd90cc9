"""The methods of the Wikipedia benchmark, and the settings that cross-validation may give them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STEPS = ("l1,sqrt", "l1,sqrt,standardize", "l1,standardize", "l1")
UNSCALED = ("l1,sqrt", "l1")  # for learners that standardise the columns themselves
KERNELS = ("l1,kernel:chi2", "l1,sqrt,kernel:rbf")
ENDS = (",dot", ",l2", "")
ALPHAS = (0.1, 0.01, 1.0)
# One for the 128 visual words, one for the 10 topics: the more columns, the more regularisation.
PAIRS_OF_ALPHAS = tuple((image, text) for image in (0.1, 0.3, 0.03) for text in (0.001, 0.01, 0.1))
_CENTER: Mapping[str, Sequence[Any]] = {"center": [False, True]}
_PLAIN: Mapping[str, Any] = {"normalize": False}  # the chain says how embeddings end
_LANDMARKS: Mapping[str, Any] = {"kernel__random_state": 0}
_KERNEL: Mapping[str, Any] = {**_PLAIN, **_LANDMARKS, "standardize": False}


def _specs(learner: str, steps: Sequence[str] = STEPS, ends: Sequence[str] = ENDS) -> list[str]:
    """Return the chains of a learner after each step: embeddings compared by product, by cosine, and unchanged."""
    return [f"{before},{learner}{after}" for after in ends for before in steps]


def _kernel_specs(learner: str) -> list[str]:
    """Return the same on kernel maps; cosine for the first kernel only, as these take longest."""
    return [*_specs(learner, KERNELS, ENDS[:1]), *_specs(learner, KERNELS[:1], ENDS[1:2])]


@dataclass(frozen=True)
class Method:
    """A line of the table."""

    name: str
    grid: Mapping[str, Sequence[Any]]
    """Values to try by parameter, the likeliest first; "spec" is the chain."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    exhaustive: bool = True
    """Whether every combination is tried; or else the parameters are chosen one after another."""


_NPP: Mapping[str, Any] = {"n_components": 10, "random_state": 0}
_START: Mapping[str, Any] = {**_NPP, "max_iter": 0}
METHODS: tuple[Method, ...] = (
    Method(
        "cca",
        {"spec": _specs("cca"), "power": [1.0, 0.5, 0.0, 2.0], "shrinkage": ["auto", 0.03, 0.1, 0.3]},
        {"n_components": 10},
        exhaustive=False,
    ),
    Method("pls", {"spec": _specs("pls", UNSCALED), "n_components": [10, 7, 5]}),
    Method("multi-npp, start", {"spec": _specs("multi-npp", STEPS[:2])}, _START),
    Method(
        "multi-npp",
        {"spec": _specs("multi-npp", STEPS[:2]), "max_iter": [2, 1], "eta": [0.1, 1e-3], "gamma": [0.1, 1e-3]},
        _NPP,
        exhaustive=False,
    ),
    Method("kernel multi-npp, start", {"spec": _kernel_specs("multi-npp")}, {**_START, **_LANDMARKS}),
    Method(
        "kernel multi-npp",
        {"spec": _kernel_specs("multi-npp"), "max_iter": [1, 2], "eta": [0.3, 0.1], "gamma": [0.3, 0.1]},
        {**_NPP, **_LANDMARKS},
        exhaustive=False,
    ),
    Method(
        "scm",
        {
            "spec": _specs("semantic", [f"{steps},cca:10" for steps in STEPS]),
            "regression": ["logistic", "ridge"],
            "alpha": ALPHAS,
            **_CENTER,
        },
        _PLAIN,
        exhaustive=False,
    ),
    Method(
        "semantic, ridge",
        {"spec": _specs("semantic", UNSCALED), "alpha": [None, *ALPHAS], **_CENTER},
        {**_PLAIN, "regression": "ridge"},
        exhaustive=False,
    ),
    Method(
        "semantic, logistic",
        {"spec": _specs("semantic", UNSCALED), "alpha": PAIRS_OF_ALPHAS, **_CENTER},
        {**_PLAIN, "regression": "logistic"},
        exhaustive=False,
    ),
    Method(
        "kernel semantic, ridge",
        {"spec": _kernel_specs("semantic"), **_CENTER},
        {**_KERNEL, "regression": "ridge"},
        exhaustive=False,
    ),
    Method(
        "kernel semantic, logistic",
        {"spec": _kernel_specs("semantic"), "alpha": [0.3, 0.1, 1.0], **_CENTER},
        {**_KERNEL, "regression": "logistic"},
        exhaustive=False,
    ),
)
