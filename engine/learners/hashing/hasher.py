"""The base class of learners whose embeddings are binary codes."""

from abc import abstractmethod

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crossview.engine.learners.base import MultiViewLearner
from crossview.engine.learners.capabilities import Capabilities
from crossview.engine.learners.view_rows import Rows


class Hasher(MultiViewLearner):
    """Maps rows to codes of B bits, (n, B) columns of 0 and 1: a bit is set where its score is positive.

    The squared Euclidean distance of two such embeddings is their Hamming distance, the number of differing bits, so
    whatever compares embeddings ranks codes as well.

    A subclass defines ``_scores``, and ``_fit`` like any learner. Where it takes ``n_bits``, that is its first
    parameter.
    """

    capabilities = Capabilities(binary=True, codes_of_vectors=True, main_parameter="n_bits")

    def scores(self, rows: ArrayLike, view: int = 0) -> Rows:
        """Return the (n, B) numbers whose signs are the bits of rows of one view, (n, d_view).

        Raises:
            sklearn.exceptions.NotFittedError, ValueError: as ``transform``.
        """
        check_is_fitted(self)
        return self._scores(self._checked_rows(rows, view).astype(float, copy=False), view)

    def unhashed(self, rows: ArrayLike, view: int = 0, queries: bool = False) -> Rows:
        """Return the vectors behind the codes, (n, D), which order items with near codes; errors as in ``scores``."""
        check_is_fitted(self)
        return self._vectors(self._checked_rows(rows, view).astype(float, copy=False), view)

    def _vectors(self, rows: Rows, view: int) -> Rows:
        return self._scores(rows, view)  # a bit keeps only the sign of its score

    @abstractmethod
    def _scores(self, rows: Rows, view: int) -> Rows: ...

    def _project(self, rows: Rows, view: int) -> Rows:
        codes: Rows = (self._scores(rows, view) > 0).astype(float)
        return codes
