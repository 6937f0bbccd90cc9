"""The learners, each a scikit-learn estimator on a list of arrays of rows, one array for each view.

They know nothing of collections. Importing this module takes as long as importing scikit-learn.
"""

from engine.learners.attributes.relative import RelativeAttributes
from engine.learners.chain import Chain
from engine.learners.hashing.itq import ITQ
from engine.learners.hashing.lsh import LSH
from engine.learners.hashing.npp_hash import NPPHash
from engine.learners.hashing.sign import Sign
from engine.learners.joint.joint import JointMetrics
from engine.learners.joint.mt_lmnn import MultiTaskLMNN
from engine.learners.metrics.fantope import Fantope
from engine.learners.metrics.lmnn import LMNN
from engine.learners.metrics.qwise import QuadrupletWise
from engine.learners.musl.musl import MuSL
from engine.learners.npp.hybrid import Hybrid
from engine.learners.npp.multi_npp import MultiNPP
from engine.learners.steps.inner import InnerProduct
from engine.learners.steps.kernels import KernelMap
from engine.learners.steps.normalization import L1, L2, Scale, Sqrt, Standardize
from engine.learners.subspace.cca import CanonicalCorrelation
from engine.learners.subspace.co_em import CoEM
from engine.learners.subspace.lda import LinearDiscriminants
from engine.learners.subspace.pca import PCA
from engine.learners.subspace.pls import PartialLeastSquares
from engine.learners.subspace.posteriors import ClassPosteriors
from engine.learners.subspace.semantic import SemanticMatching

__all__ = [
    "ITQ",
    "L1",
    "L2",
    "LMNN",
    "LSH",
    "PCA",
    "CanonicalCorrelation",
    "Chain",
    "ClassPosteriors",
    "CoEM",
    "Fantope",
    "Hybrid",
    "InnerProduct",
    "JointMetrics",
    "KernelMap",
    "LinearDiscriminants",
    "MuSL",
    "MultiNPP",
    "MultiTaskLMNN",
    "NPPHash",
    "PartialLeastSquares",
    "QuadrupletWise",
    "RelativeAttributes",
    "Scale",
    "SemanticMatching",
    "Sign",
    "Sqrt",
    "Standardize",
]
