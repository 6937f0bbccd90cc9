"""The learners, as scikit-learn estimators: X is a list of arrays of rows, one array for each view.

The learners are independent of collections. Importing this module also imports scikit-learn, which takes seconds.
"""

from crossview.engine.learners.attributes.relative import RelativeAttributes
from crossview.engine.learners.chain import Chain
from crossview.engine.learners.hashing.hasher import Sign
from crossview.engine.learners.hashing.itq import ITQ
from crossview.engine.learners.hashing.lsh import LSH
from crossview.engine.learners.hashing.npp_hash import NPPHash
from crossview.engine.learners.joint.joint import JointMetrics
from crossview.engine.learners.joint.mt_lmnn import MultiTaskLMNN
from crossview.engine.learners.metrics.fantope import Fantope
from crossview.engine.learners.metrics.lmnn import LMNN
from crossview.engine.learners.metrics.qwise import QuadrupletWise
from crossview.engine.learners.musl.musl import MuSL
from crossview.engine.learners.npp.hybrid import Hybrid
from crossview.engine.learners.npp.multi_npp import MultiNPP
from crossview.engine.learners.steps.inner import InnerProduct
from crossview.engine.learners.steps.kernels import KernelMap
from crossview.engine.learners.steps.normalization import L1, L2, Scale, Sqrt, Standardize
from crossview.engine.learners.subspace.cca import CanonicalCorrelation
from crossview.engine.learners.subspace.class_instance import ClassInstance
from crossview.engine.learners.subspace.co_em import CoEM
from crossview.engine.learners.subspace.instances import Instances
from crossview.engine.learners.subspace.lda import LinearDiscriminants
from crossview.engine.learners.subspace.pca import PCA
from crossview.engine.learners.subspace.pls import PartialLeastSquares
from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.learners.subspace.semantic import SemanticMatching

__all__ = [
    "ITQ",
    "L1",
    "L2",
    "LMNN",
    "LSH",
    "PCA",
    "CanonicalCorrelation",
    "Chain",
    "ClassInstance",
    "ClassPosteriors",
    "CoEM",
    "Fantope",
    "Hybrid",
    "InnerProduct",
    "Instances",
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
