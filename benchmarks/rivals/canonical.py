"""Canonical correlations: linear and kernel CCA with the cosine, and CSA, tuned by how soon an item's other view is
found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.rivals.known import Known, Rows
from benchmarks.rivals.tuned import SCALINGS, WIDTHS, pipeline, tuned
from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.inner import InnerProduct
from crossview.engine.learners.frame.settings import Dimensions
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows as Floats
from crossview.engine.learners.subspace.cca import CanonicalCorrelation, Shrinkage
from crossview.engine.values.recipe import ITEMS

LINEAR = {"scaling": SCALINGS, "n_components": (50, 10, 20, 100), "shrinkage": ("auto", 0.1, 0.3, 0.6)}
KERNEL = {"scaling": SCALINGS, "kernel__bandwidth": WIDTHS, **LINEAR}
POWERS = (1.0, 0.0, 2.0)


def cca(views: Sequence[Rows], supervision: Known) -> Chain:
    """Find correlated directions, and compare by the cosine."""
    return _cosine("cca,l2", LINEAR, views, supervision)


def kernel_cca(views: Sequence[Rows], supervision: Known) -> Chain:
    """Find correlated directions of a Gaussian kernel, and compare by the cosine."""
    return _cosine("kernel:rbf,cca,l2", KERNEL, views, supervision)


def _cosine(spec: str, grid: Mapping[str, Sequence[Any]], views: Sequence[Rows], supervision: Known) -> Chain:
    """Return the pipeline with the settings and the scaling with which items find their other views best."""
    grid = {**grid, "power": POWERS}
    return tuned(
        grid, lambda scaling, **settings: pipeline(f"{scaling}{spec}", settings), supervision.examples(views), ITEMS
    )


@dataclass(eq=False, repr=False)
class CanonicalSimilarity(MultiViewLearner):
    """Canonical similarity analysis: the cosine of canonical variates, weighted by the canonical correlations.

    Li, Chinchali and Topcu, "CSA: Data-efficient mapping of unimodal features to multimodal features" (ICLR 2025): the
    similarity of rows whose first s canonical variates are x and y is the sum of correlation_i x_i y_i, divided by the
    lengths of x and y. The embedding multiplies each variate of a row of unit length by the root of its correlation, so
    the similarity is the inner product of embeddings: end a pipeline in ``dot``.

    Args:
        n_components: s.
        shrinkage: that of ``CanonicalCorrelation``.

    Attributes:
        cca_: the fitted analysis, with variates of unit variance.
    """

    name = "csa"
    max_items = None
    capabilities = Capabilities(cross_view=True, least_views=2, main_parameter="n_components")

    cca_: CanonicalCorrelation = field(init=False)

    n_components: Dimensions = 50
    shrinkage: Shrinkage = "auto"
    view_slices: Sequence[int] | None = None

    def _fit(self, views: list[Floats], supervision: Supervision) -> None:
        model = CanonicalCorrelation(self.n_components, self.shrinkage, power=0.0)
        self.cca_ = model.fit(views, Supervision(mask=supervision.mask))

    def _project(self, rows: Floats, view: int) -> Floats:
        variates = self.cca_.embedded(rows, view)
        lengths = np.linalg.norm(variates, axis=1, keepdims=True)
        return np.asarray(variates / np.where(lengths > 0, lengths, 1.0) * np.sqrt(self.cca_.correlations_))


def csa(views: Sequence[Rows], supervision: Known) -> Chain:
    """Compare linear canonical variates by their weighted cosine."""
    return tuned(LINEAR, lambda scaling, **settings: _csa(scaling, {}, settings), supervision.examples(views), ITEMS)


def kernel_csa(views: Sequence[Rows], supervision: Known) -> Chain:
    """Compare canonical variates of a Gaussian kernel by their weighted cosine."""

    def make(scaling: str, kernel__bandwidth: float, **settings: object) -> Chain:
        return _csa(f"{scaling}kernel:rbf,", {"bandwidth": kernel__bandwidth}, settings)

    return tuned(KERNEL, make, supervision.examples(views), ITEMS)


def _csa(begin: str, of_kernel: dict[str, float], settings: dict[str, object]) -> Chain:
    """Return an unfitted pipeline: the stages before, which end in a comma, then the analysis."""
    before = pipeline(begin.rstrip(","), of_kernel).steps if begin else []
    return Chain([*before, CanonicalSimilarity().set_params(**settings), InnerProduct()])
