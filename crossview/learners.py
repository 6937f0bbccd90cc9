"""The learners, as scikit-learn estimators: X is a list of arrays of rows, one array for each view.

The learners are independent of collections. A package that adds a learner also finds here its base class, the traits
that learners share, and ``check_learner`` for its tests. Importing this module also imports scikit-learn, which takes
seconds.
"""

from crossview.engine.values.errors import engine_installed

with engine_installed():
    from crossview.engine.learners.frame.base import MultiViewLearner
    from crossview.engine.learners.frame.capabilities import Capabilities
    from crossview.engine.learners.frame.chain import Chain
    from crossview.engine.learners.frame.checks import check_learner
    from crossview.engine.learners.frame.inner import InnerProduct
    from crossview.engine.learners.frame.kernels import KernelMap
    from crossview.engine.learners.frame.normalization import L1, L2, Scale, Sqrt, Standardize
    from crossview.engine.learners.frame.settings import Dimensions, Share
    from crossview.engine.learners.frame.supervision import Supervision
    from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
    from crossview.engine.learners.frame.view_rows import Rows, present_rows
    from crossview.engine.learners.hashing.hasher import Sign
    from crossview.engine.learners.hashing.itq import ITQ
    from crossview.engine.learners.hashing.lsh import LSH
    from crossview.engine.learners.hashing.npp_hash import NPPHash
    from crossview.engine.learners.papers.attributes.relative import RelativeAttributes
    from crossview.engine.learners.papers.joint.joint import JointMetrics
    from crossview.engine.learners.papers.joint.mt_lmnn import MultiTaskLMNN
    from crossview.engine.learners.papers.metrics.fantope import Fantope
    from crossview.engine.learners.papers.metrics.lmnn import LMNN
    from crossview.engine.learners.papers.metrics.qwise import QuadrupletWise
    from crossview.engine.learners.papers.musl.musl import MuSL
    from crossview.engine.learners.papers.npp.multi_npp import Hybrid, MultiNPP
    from crossview.engine.learners.subspace.cca import CanonicalCorrelation
    from crossview.engine.learners.subspace.class_instance import ClassInstance
    from crossview.engine.learners.subspace.co_em import CoEM
    from crossview.engine.learners.subspace.csa import CanonicalSimilarity
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
    "CanonicalSimilarity",
    "Capabilities",
    "Chain",
    "ClassInstance",
    "ClassPosteriors",
    "CoEM",
    "Dimensions",
    "Fantope",
    "Hybrid",
    "InnerProduct",
    "Instances",
    "JointMetrics",
    "KernelMap",
    "LinearDiscriminants",
    "LinearLearner",
    "MuSL",
    "MultiNPP",
    "MultiTaskLMNN",
    "MultiViewLearner",
    "NPPHash",
    "PartialLeastSquares",
    "QuadrupletWise",
    "RelativeAttributes",
    "Rows",
    "Scale",
    "SemanticMatching",
    "SeparateLearner",
    "Share",
    "Sign",
    "Sqrt",
    "Standardize",
    "Supervision",
    "check_learner",
    "present_rows",
]
