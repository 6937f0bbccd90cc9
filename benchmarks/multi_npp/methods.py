"""The methods of the Multi-NPP benchmark, and the settings that cross-validation may give them."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import product
from typing import Any

VIEWS = ("color", "sift", "gist")
PAIR = VIEWS[:2]
"""The two views of the paper."""
DIMS = (10, 30, 50)
WIDEST = (50,)

STEPS = ("l1,sqrt", "l1,sqrt,standardize", "l1")
KERNELS = ("l1,sqrt@0,kernel:chi2", "l1,kernel:chi2", "l1,sqrt,kernel:chi2", "l1,sqrt,kernel:rbf")
KERNELS_3 = ("l1@0+1,sqrt@0,kernel:chi2", "l1@0+1,kernel:chi2", "l1@0+1,sqrt,kernel:chi2", "l1@0+1,sqrt,kernel:rbf")
"""The same with GIST, which is no histogram, in its own units."""

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Method:
    """A line of the tables and the settings that cross-validation may give it."""

    name: str
    grid: Grid
    """Values to try by parameter, the likeliest first; "spec" is the chain."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    exhaustive: bool = True
    """Whether every combination is tried; or else the parameters are chosen one after another."""
    shared: bool = True
    """Whether the views share a space: then it is tuned across the views, else within the query's."""
    dims: Sequence[int | None] = DIMS
    """Dimensions asked for; None: the method has its own."""
    views: Sequence[str] = PAIR


def specs(learner: str, steps: Sequence[str] = STEPS) -> list[str]:
    """Returns the chains of a learner after each of the steps."""
    return [f"{before},{learner}" for before in steps]


def both(learner: str, steps: Sequence[str]) -> list[str]:
    """Returns the same with embeddings of unit length first, and then as they are."""
    return [*specs(f"{learner},l2", steps), *specs(learner, steps)]


def penalties(views: int) -> list[list[float]]:
    """Returns every choice of a close or a loose penalty for each of some views."""
    return [list(choice) for choice in product(_CLOSE_AND_LOOSE, repeat=views)]


_PENALTIES = [1e-6, 1e-2, 1e-1]
_HYBRID: Grid = {"spec": specs("hybrid"), "nearest": [20, 10, None], "spread": [0.5, 0.35, 1.0], "max_iter": [1, 3]}
_BANDWIDTHS = {"kernel__bandwidth": [1.0, 0.5, 2.0]}
_CLOSE_AND_LOOSE = [1e-4, 1e-1]
"""Penalties on kernel maps: the view that is searched is best fitted closely, the one that asks loosely. On the
development splits finer choices, and more of them, followed the noise of cross-validation."""
_FITTED: Grid = {**_BANDWIDTHS, "eta": _CLOSE_AND_LOOSE, "gamma": _CLOSE_AND_LOOSE}
_FEW = {"init": "labels", "ridge": 1e-3, "max_iter": 1, "random_state": 0}
_RIDGE: Grid = {"alpha": [None, 1e-1, 1.0], "normalize": [True, False], "center": [True, False]}
_KERNEL_RIDGE: Grid = {"normalize": [False, True], "center": [True, False]}
_UNSCALED = {"regression": "ridge", "standardize": False}
_LOGISTIC: Grid = {"alpha": [1e-2, 1e-3, 1e-1], "normalize": [True, False], "center": [True, False]}
_GREEDY: Mapping[str, Any] = {"exhaustive": False, "dims": (None,)}
_WIDE: Mapping[str, Any] = {"exhaustive": False, "dims": WIDEST}

PAPERS = (
    Method("original", {"spec": STEPS}, shared=False, dims=(None,), views=VIEWS),
    Method("pca", {"spec": specs("pca")}, shared=False),
    Method("cca", {"spec": specs("cca"), "shrinkage": ["auto", 0.1, 0.3, 0.6], "power": [0.0, 1.0, 2.0, 4.0]}),
    Method(
        "multi-npp",
        {"spec": specs("multi-npp"), "max_iter": [1, 3, 10], "eta": _PENALTIES, "gamma": _PENALTIES},
        {"random_state": 0},
        exhaustive=False,
    ),
    Method("start", {"spec": specs("multi-npp")}, {"max_iter": 0, "random_state": 0}),
    Method("hybrid-color", {**_HYBRID, "gamma": _PENALTIES}, {"frozen": 0}, exhaustive=False),
    Method("hybrid-sift", {**_HYBRID, "eta": _PENALTIES}, {"frozen": 1}, exhaustive=False),
)
LINEAR = (
    Method("pls", {"spec": specs("pls", ("l1,sqrt", "l1"))}, dims=WIDEST),
    Method("semantic ridge", {"spec": specs("semantic", STEPS[::2]), **_RIDGE}, {"regression": "ridge"}, **_GREEDY),
    Method(
        "semantic logistic", {"spec": specs("semantic", STEPS[::2]), **_LOGISTIC}, {"regression": "logistic"}, **_GREEDY
    ),
)
KERNEL = (
    Method(
        "kernel cca",
        {
            "spec": both("cca", KERNELS),
            **_BANDWIDTHS,
            "shrinkage": [0.6, "auto", 0.3, 0.9],
            "power": [4.0, 1.0, 2.0, 8.0],
        },
        **_WIDE,
    ),
    Method(
        "kernel semantic ridge",
        {"spec": specs("semantic", KERNELS), **_BANDWIDTHS, "alpha": penalties(2), **_KERNEL_RIDGE},
        _UNSCALED,
        **_GREEDY,
    ),
    Method(
        "kernel semantic logistic",
        {"spec": specs("semantic", KERNELS), **_BANDWIDTHS, **_LOGISTIC, "alpha": [1e-3, 1e-2, 1e-1]},
        {"regression": "logistic", "standardize": False},
        **_GREEDY,
    ),
    Method(
        "kernel multi-npp, random start",
        {"spec": both("multi-npp", KERNELS), **_FITTED, "max_iter": [5, 15]},
        {"init": "random", "random_state": 0},
        **_WIDE,
    ),
    Method("kernel start", {"spec": both("multi-npp", KERNELS), **_BANDWIDTHS}, {**_FEW, "max_iter": 0}, **_WIDE),
    Method("kernel multi-npp", {"spec": specs("multi-npp", KERNELS), **_FITTED}, _FEW, **_WIDE),
)
THREE_VIEWS = (
    Method(
        "kernel semantic ridge, 3 views",
        {"spec": specs("semantic", KERNELS_3), **_BANDWIDTHS, "alpha": penalties(3), **_KERNEL_RIDGE},
        _UNSCALED,
        **_GREEDY,
        views=VIEWS,
    ),
    Method("kernel multi-npp, 3 views", {"spec": specs("multi-npp", KERNELS_3), **_FITTED}, _FEW, **_WIDE, views=VIEWS),
)
METHODS = (*PAPERS, *LINEAR, *KERNEL, *THREE_VIEWS)
GROUPS: Mapping[str, Sequence[Method]] = {"all": METHODS, "paper": PAPERS}
BASELINES = ("kernel multi-npp, random start", "kernel cca", "kernel semantic ridge", "kernel semantic logistic")
"""What the kernel Multi-NPP has to equal across the views; within a view, the original space too."""
HEADLINE = "hybrid"
