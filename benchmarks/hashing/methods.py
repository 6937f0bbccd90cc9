"""The methods of the hashing benchmark, and the settings that cross-validation may give them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from benchmarks.hashing.class_codes import ClassCodes
from benchmarks.hashing.scm import SemanticCorrelation
from benchmarks.hashing.scratch import MatrixFactorizationHashing
from crossview.engine.learners.registry import LEARNERS

OF_PAPERS = (SemanticCorrelation, MatrixFactorizationHashing, ClassCodes)
"""Learners that are only compared with; the product has them not."""
TUNED_BITS = 64
"""The length that settings are chosen at; they serve all lengths."""
KERNEL = "kernel "
"""Prefix of the names of methods with the data's kernel."""


@dataclass(frozen=True)
class Method:
    """A line of the tables."""

    name: str
    spec: str
    """The chain after the data's own steps, with {bits} where it makes codes, and {dim}, the larger of 64 and bits."""
    grid: Mapping[str, Sequence[Any]]
    """Values to try by parameter, the likeliest first."""
    _: KW_ONLY
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seeded: Sequence[str] = ()
    """The settings that are seeds."""
    exhaustive: bool = True

    @property
    def kernel(self) -> bool:
        """Whether the data's kernel is among its steps."""
        return self.name.startswith(KERNEL)

    @property
    def binary(self) -> bool:
        """Whether it makes codes."""
        return "{bits}" in self.spec

    def written(self, steps: str, bits: int) -> str:
        """Return the whole chain."""
        return f"{steps},{self.spec.format(bits=bits, dim=max(bits, TUNED_BITS))}"

    def settings(self, chosen: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return all settings, given those that were chosen."""
        return {**self.fixed, **dict.fromkeys(self.seeded, seed), **chosen}


_NPP_GRID = {"eta": [1e-2, 1e-1, 1e-6], "gamma": [1e-2, 1e-1, 1e-6]}
_KERNEL_NPP_GRID = {"eta": [1e-4, 1e-1], "gamma": [1e-4, 1e-1]}
_FEW_STEPS = {"init": "labels", "ridge": 1e-3, "max_iter": 1}
_POSTERIORS_GRID = {"alpha": [None, 1e-4, 1e-5]}
_SCRATCH_GRID = {"mu": [1e3, 1e1, 1e-1], "gamma": [5.0, 5e-2], "alpha": [500.0, 5.0]}


def _behind(learner: str, name: str, **how: Any) -> list[Method]:
    """Return the methods that hash what a learner embeds."""
    seeded = [*how.pop("seeded", ()), "random_state"]
    return [
        Method(f"{name}, lsh", f"{learner},lsh:{{bits}}", **how, seeded=[*seeded, "lsh__random_state"]),
        Method(f"{name}, itq", f"{learner},itq:{{bits}}", **how, seeded=[*seeded, "itq__random_state"]),
    ]


def _methods(kernel: bool) -> list[Method]:
    name = KERNEL if kernel else ""
    landmarks = ["kernel__random_state"] if kernel else []
    seeded = [*landmarks, "random_state"]
    npp: dict[str, Any] = {
        "grid": _KERNEL_NPP_GRID if kernel else _NPP_GRID,
        "fixed": _FEW_STEPS if kernel else {},
        "exhaustive": kernel,
    }
    return [
        Method(f"{name}multi-npp", "multi-npp:64", **npp, seeded=seeded),
        Method(f"{name}multi-npp, sign", "multi-npp:{bits},sign", **npp, seeded=seeded),
        *_behind("multi-npp:{dim}", f"{name}multi-npp", **npp, seeded=landmarks),
        Method(f"{name}posteriors, dot", "posteriors,dot", _POSTERIORS_GRID, seeded=seeded),
        *_behind("posteriors", f"{name}posteriors", grid=_POSTERIORS_GRID, seeded=landmarks),
        Method(f"{name}scm", "scm:{bits}", {"shrinkage": ["auto", 1e-6, 0.3, 0.9]}, seeded=landmarks),
        Method(f"{name}scratch", "scratch:{bits}", _SCRATCH_GRID, seeded=seeded, exhaustive=False),
        Method(f"{name}class codes", "class-codes:{bits}", {"alpha": [None, 1e-5, 1e-4, 1e-3, 1e-2]}, seeded=seeded),
        Method(f"{name}npp-hash", "npp-hash:{bits}", {"instances": [0.0], **_POSTERIORS_GRID}, seeded=seeded),
        Method(f"{name}npp-hash with instances", "npp-hash:{bits}", _POSTERIORS_GRID, seeded=seeded),
    ]


METHODS: tuple[Method, ...] = (*_methods(kernel=False), *_methods(kernel=True))
OURS = ("npp-hash", KERNEL + "npp-hash")
"""The hashers that the others are compared with."""
WITH_INSTANCES = tuple(f"{name} with instances" for name in OURS)
"""They code classes with fewer bits, to find the item besides."""


@contextmanager
def learners_of_papers() -> Iterator[None]:
    """Let chains name the learners that are only compared with, for a while."""
    added = [learner for learner in OF_PAPERS if learner.name not in LEARNERS]
    LEARNERS.update({learner.name: learner for learner in added})
    try:
        yield
    finally:
        for learner in added:
            del LEARNERS[learner.name]
