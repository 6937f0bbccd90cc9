"""The methods of the Multi-NPP benchmark, and the settings that cross-validation may give them."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import product
from typing import Any

Views = tuple[str, ...]

VIEWS: Views = ("color", "sift", "gist")
"""Those of photographs. The paper's are the first two."""
HISTOGRAMS = ("color", "sift")
"""Views of counts or shares, which kernels take by frequency; GIST is none, and they take it in its own units."""
DIMS = (10, 30, 50)
WIDEST = (50,)

STEPS = ("l1,sqrt", "l1,sqrt,standardize", "l1")
AS_PRINTED = " as printed"
"""Suffix of the names of methods with the paper's own settings."""

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Method:
    """A line of the tables and the settings that cross-validation may give it."""

    name: str
    grid: Grid
    """Values to try by parameter, the likeliest first; "spec" is the chain."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    views: Views
    exhaustive: bool = True
    """Whether every combination is tried; or else the parameters are chosen one after another."""
    shared: bool = True
    """Whether the views share a space: then tuning is across the views, otherwise within the query's view."""
    dims: Sequence[int | None] = DIMS
    """Dimensions asked for; None: the method has its own."""

    @property
    def tuned(self) -> bool:
        """Whether there is anything to choose."""
        return any(len(values) > 1 for values in self.grid.values())


def specs(learner: str, steps: Sequence[str] = STEPS) -> list[str]:
    """Return the chains of a learner after each of the steps."""
    return [f"{before},{learner}" for before in steps]


def both(learner: str, steps: Sequence[str]) -> list[str]:
    """Return the same with embeddings of unit length first, and then as they are."""
    return [*specs(f"{learner},l2", steps), *specs(learner, steps)]


def kernels(views: Views) -> list[str]:
    """Return the steps before the learners on kernel maps."""
    numbers = [str(number) for number, view in enumerate(views) if view in HISTOGRAMS]
    shares = "l1" if len(numbers) == len(views) else f"l1@{'+'.join(numbers)}"
    of_shares = ("sqrt@0,kernel:chi2", "kernel:chi2", "sqrt,kernel:chi2", "sqrt,kernel:rbf")
    return [f"{shares},{step}" if numbers else step for step in of_shares]


def penalties(views: int) -> list[list[float]]:
    """Return every choice of a close or a loose penalty for each of some views."""
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
_AS_PRINTED: Mapping[str, Any] = {
    "pairs": "sampled",
    "weighting": "sum",
    "scaled": False,
    "init": "random",
    "eta": 1e-6,
    "gamma": 1e-6,
    "inner_iter": 1000,
    "tol": 1e-6,
    "random_state": 0,
}
"""Section 4 of the paper, on frequencies. It leaves open where to start and what ends the alternations: here random
projections, and an alternation that lowers the objective by less than a millionth."""


def papers(views: Views) -> tuple[Method, ...]:
    """Return the methods of the paper's tables, tuned, with what ours start from; ``views``: the pair first."""
    pair = views[:2]
    first, second = (f"hybrid-{view}" for view in pair)
    tried: Grid = {"max_iter": [1, 3, 10], "eta": _PENALTIES, "gamma": _PENALTIES}
    cca: Grid = {"shrinkage": ["auto", 0.1, 0.3, 0.6], "power": [0.0, 1.0, 2.0, 4.0]}
    npp = specs("multi-npp")
    return (
        Method("original", {"spec": STEPS}, shared=False, dims=(None,), views=views),
        Method("pca", {"spec": specs("pca")}, shared=False, views=pair),
        Method("cca", {"spec": specs("cca"), **cca}, views=pair),
        Method("multi-npp", {"spec": npp, **tried}, {"random_state": 0}, exhaustive=False, views=pair),
        Method("start", {"spec": npp}, {"max_iter": 0, "random_state": 0}, views=pair),
        Method(first, {**_HYBRID, "gamma": _PENALTIES}, {"frozen": 0}, exhaustive=False, views=pair),
        Method(second, {**_HYBRID, "eta": _PENALTIES}, {"frozen": 1}, exhaustive=False, views=pair),
    )


def printed(pair: Views) -> tuple[Method, ...]:
    """Return Multi-NPP and the hybrids with the paper's own settings, which leave nothing to choose.

    The hybrid is Algorithm 2: one convex optimisation beside the frozen view's principal components.
    """
    grid = {"spec": ["l1,multi-npp"]}
    hybrids = [
        Method(f"hybrid-{view}{AS_PRINTED}", grid, {**_AS_PRINTED, "frozen": number, "max_iter": 1}, views=pair)
        for number, view in enumerate(pair)
    ]
    return (Method(f"multi-npp{AS_PRINTED}", grid, {**_AS_PRINTED, "max_iter": 1000}, views=pair), *hybrids)


def linear(pair: Views) -> tuple[Method, ...]:
    """Return later methods that are linear."""
    ridge: Grid = {"spec": specs("semantic", STEPS[::2]), **_RIDGE}
    logistic: Grid = {"spec": specs("semantic", STEPS[::2]), **_LOGISTIC}
    return (
        Method("pls", {"spec": specs("pls", ("l1,sqrt", "l1"))}, dims=WIDEST, views=pair),
        Method("semantic ridge", ridge, {"regression": "ridge"}, **_GREEDY, views=pair),
        Method("semantic logistic", logistic, {"regression": "logistic"}, **_GREEDY, views=pair),
    )


def of_kernels(pair: Views) -> tuple[Method, ...]:
    """Return the methods on kernel maps of each view."""
    steps = kernels(pair)
    npp = both("multi-npp", steps)
    powers: Grid = {"shrinkage": [0.6, "auto", 0.3, 0.9], "power": [4.0, 1.0, 2.0, 8.0]}
    ridge: Grid = {"spec": specs("semantic", steps), **_BANDWIDTHS, "alpha": penalties(2), **_KERNEL_RIDGE}
    logistic: Grid = {"spec": specs("semantic", steps), **_BANDWIDTHS, **_LOGISTIC, "alpha": [1e-3, 1e-2, 1e-1]}
    by_logistic = {"regression": "logistic", "standardize": False}
    at_random = {"init": "random", "random_state": 0}
    drawn: Grid = {"spec": npp, **_FITTED, "max_iter": [5, 15]}
    return (
        Method("kernel cca", {"spec": both("cca", steps), **_BANDWIDTHS, **powers}, **_WIDE, views=pair),
        Method("kernel semantic ridge", ridge, _UNSCALED, **_GREEDY, views=pair),
        Method("kernel semantic logistic", logistic, by_logistic, **_GREEDY, views=pair),
        Method("kernel multi-npp, random start", drawn, at_random, **_WIDE, views=pair),
        Method("kernel start", {"spec": npp, **_BANDWIDTHS}, {**_FEW, "max_iter": 0}, **_WIDE, views=pair),
        Method("kernel multi-npp", {"spec": specs("multi-npp", steps), **_FITTED}, _FEW, **_WIDE, views=pair),
    )


def three_views(views: Views) -> tuple[Method, ...]:
    """Return the methods that learn from three views at once, which all have kernel maps; none of two views."""
    if len(views) < 3:
        return ()
    steps = kernels(views)
    ridge: Grid = {"spec": specs("semantic", steps), **_BANDWIDTHS, "alpha": penalties(3), **_KERNEL_RIDGE}
    npp: Grid = {"spec": specs("multi-npp", steps), **_FITTED}
    return (
        Method("kernel semantic ridge, 3 views", ridge, _UNSCALED, **_GREEDY, views=views),
        Method("kernel multi-npp, 3 views", npp, _FEW, **_WIDE, views=views),
    )


GROUPS = ("all", "paper")


def methods(views: Views, group: str) -> tuple[Method, ...]:
    """Return the methods of one of ``GROUPS``; the first two views are the pair that most of them learn from."""
    pair = views[:2]
    of_paper = (*papers(views), *printed(pair))
    return of_paper if group == "paper" else (*of_paper, *linear(pair), *of_kernels(pair), *three_views(views))


BASELINES = ("kernel multi-npp, random start", "kernel cca", "kernel semantic ridge", "kernel semantic logistic")
"""Methods that kernel Multi-NPP must equal across the views; within a view, also the original space."""
HEADLINE = "hybrid"
"""The name of the hybrid whose frozen view is the queries' own."""
