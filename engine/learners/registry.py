"""All learners by name."""

from typing import Any

from .attributes import RelativeAttributes
from .base import MultiViewLearner
from .cca import CanonicalCorrelation
from .hashing.itq import ITQ
from .hashing.lsh import LSH
from .hashing.npp_hash import NPPHash
from .hashing.sign import Sign
from .hybrid import Hybrid
from .inner import InnerProduct
from .kernels import KernelMap
from .lda import LinearDiscriminants
from .metrics.fantope import Fantope
from .metrics.lmnn import LMNN
from .multi_npp import MultiNPP
from .musl.musl import MuSL
from .pca import PCA
from .pls import PartialLeastSquares
from .semantic import SemanticMatching
from .steps import L1, L2, Sqrt, Standardize

LEARNERS: dict[str, type[MultiViewLearner]] = {
    learner.name: learner
    for learner in (
        PCA,
        CanonicalCorrelation,
        MultiNPP,
        Hybrid,
        L1,
        L2,
        Sqrt,
        Standardize,
        InnerProduct,
        KernelMap,
        SemanticMatching,
        PartialLeastSquares,
        LinearDiscriminants,
        Fantope,
        LMNN,
        RelativeAttributes,
        Sign,
        LSH,
        ITQ,
        MuSL,
        NPPHash,
    )
}


def learner_class(name: str) -> type[MultiViewLearner]:
    """Returns a learner's class.

    Raises:
        ValueError: for an unknown name, listing the known ones.
    """
    if name not in LEARNERS:
        raise ValueError(f"there is no learner {name!r}; there are: {', '.join(sorted(LEARNERS))}")
    return LEARNERS[name]


def takers() -> str:
    """Returns the names of the learners that take comparisons as constraints."""
    return ", ".join(name for name, learner in LEARNERS.items() if learner.takes_constraints)


def from_state(state: dict[str, Any]) -> MultiViewLearner:
    """Returns the fitted learner that ``to_state`` described, of whichever class."""
    return learner_class(state["learner"]).from_state(state)
