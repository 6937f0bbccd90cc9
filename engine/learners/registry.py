"""All learners by name."""

from typing import Any

from engine.learners.attributes.relative import RelativeAttributes
from engine.learners.base import MultiViewLearner
from engine.learners.hashing.itq import ITQ
from engine.learners.hashing.lsh import LSH
from engine.learners.hashing.npp_hash import NPPHash
from engine.learners.hashing.sign import Sign
from engine.learners.inner import InnerProduct
from engine.learners.kernels import KernelMap
from engine.learners.metrics.fantope import Fantope
from engine.learners.metrics.lmnn import LMNN
from engine.learners.musl.musl import MuSL
from engine.learners.npp.hybrid import Hybrid
from engine.learners.npp.multi_npp import MultiNPP
from engine.learners.steps import L1, L2, Sqrt, Standardize
from engine.learners.subspace.cca import CanonicalCorrelation
from engine.learners.subspace.lda import LinearDiscriminants
from engine.learners.subspace.pca import PCA
from engine.learners.subspace.pls import PartialLeastSquares
from engine.learners.subspace.semantic import SemanticMatching

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
