"""The methods of the hashing benchmark, and the settings that cross-validation may give them."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from benchmarks.hashing.scm import SemanticCorrelation
from engine.learners.registry import LEARNERS

LEARNERS[SemanticCorrelation.name] = SemanticCorrelation  # so that the chains below can name it

TUNED_BITS = 64
"""The length that settings are chosen at; they serve all lengths."""


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
    kernel: bool = False
    """Whether the data's kernel is among its steps."""
    exhaustive: bool = True
    across: bool = True
    """Whether its codes of one view can be compared with those of another."""

    @property
    def binary(self) -> bool:
        """Whether it makes codes."""
        return "{bits}" in self.spec

    def written(self, steps: str, bits: int) -> str:
        """Returns the whole chain."""
        return f"{steps},{self.spec.format(bits=bits, dim=max(bits, TUNED_BITS))}"


_CLOSE_AND_LOOSE = [1e-4, 1e-1]
_SEEDED = {"random_state": 0}
_LANDMARKS = {"kernel__random_state": 0}
_NPP: Mapping[str, Any] = {"grid": {"eta": [1e-2, 1e-1, 1e-6], "gamma": [1e-2, 1e-1, 1e-6]}, "exhaustive": False}
_KERNEL_NPP: Mapping[str, Any] = {"grid": {"eta": _CLOSE_AND_LOOSE, "gamma": _CLOSE_AND_LOOSE}, "kernel": True}
_FEW = {"init": "labels", "ridge": 1e-3, "max_iter": 1, **_SEEDED, **_LANDMARKS}
_RIDGE: Mapping[str, Sequence[Any]] = {"alpha": [None, 1e-2], "normalize": [True, False]}
_KERNEL_RIDGE: Mapping[str, Any] = {"grid": _RIDGE, "kernel": True}
_UNSCALED = {"standardize": False, **_LANDMARKS}
_SAMPLED = {"max_rows": 1000, "random_state": 0}
_SCM: Mapping[str, Any] = {"grid": {"shrinkage": ["auto", 1e-6, 0.3, 0.9]}}
_HASH: Mapping[str, Any] = {"grid": {"eta": [1e-2, 1e-4, 1.0, 100.0]}}


def _behind(hasher: str) -> dict[str, Any]:
    return {} if hasher == "sign" else {f"{hasher}__random_state": 0}


METHODS: tuple[Method, ...] = (
    Method("multi-npp", "multi-npp:64", fixed=_SEEDED, **_NPP),
    Method("multi-npp, sign", "multi-npp:{bits},sign", fixed=_SEEDED, **_NPP),
    Method("multi-npp, lsh", "multi-npp:{dim},lsh:{bits}", fixed=_SEEDED | _behind("lsh"), **_NPP),
    Method("multi-npp, itq", "multi-npp:{dim},itq:{bits}", fixed=_SEEDED | _behind("itq"), **_NPP),
    Method("semantic", "semantic", _RIDGE),
    Method("scm", "scm:{bits}", **_SCM),
    Method("npp-hash", "npp-hash:{bits}", fixed=_SEEDED, **_HASH),
    Method("kernel multi-npp", "multi-npp:64", fixed=_FEW, **_KERNEL_NPP),
    Method("kernel multi-npp, sign", "multi-npp:{bits},sign", fixed=_FEW, **_KERNEL_NPP),
    Method("kernel multi-npp, lsh", "multi-npp:{dim},lsh:{bits}", fixed=_FEW | _behind("lsh"), **_KERNEL_NPP),
    Method("kernel multi-npp, itq", "multi-npp:{dim},itq:{bits}", fixed=_FEW | _behind("itq"), **_KERNEL_NPP),
    Method("kernel semantic", "semantic", fixed=_UNSCALED, **_KERNEL_RIDGE),
    Method("kernel semantic, lsh", "semantic,lsh:{bits}", fixed=_UNSCALED | _behind("lsh"), **_KERNEL_RIDGE),
    Method("kernel scm", "scm:{bits}", fixed=_LANDMARKS, kernel=True, **_SCM),
    Method("kernel npp-hash", "npp-hash:{bits}", fixed=_SEEDED | _LANDMARKS, kernel=True, **_HASH),
    Method(
        "musl, one metric", "musl:{bits}", {"alpha": [0.6, 0.3, 1.0]}, fixed=_SAMPLED | {"n_metrics": 1}, across=False
    ),
    Method("musl, five metrics", "musl:{bits}", {}, fixed=_SAMPLED | {"n_metrics": 5, "r": 1000.0}, across=False),
)
COMPARED = (("npp-hash", "multi-npp, itq"), ("kernel npp-hash", "kernel multi-npp, itq"))
"""Which codes are compared with which, seed by seed."""
