"""Views with rows of other programs: embeddings, measurements, anything with a fixed length."""

from typing import Any, ClassVar

from crossview.features.base import Extractor

MAX_DIM = 65_536
MAX_VALUE = 1e16
"""Bound of the values of a row. Distances are sums of squares in float32, whose largest number is 3.4e38; two rows of
``MAX_DIM`` such values have a sum of at most 2.7e37."""

MIN_VALUE = 1e-18
"""Least size of the largest value of a row that is not zero: squares of smaller values vanish in float32."""


class Vectors(Extractor):
    """An extractor that computes nothing: its rows, ``dim`` floats each, are imported."""

    name: ClassVar[str] = "vectors"

    def __init__(self, *, dim: int) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or not 1 <= dim <= MAX_DIM:
            raise ValueError(f"vectors: dim must be a whole number from 1 to {MAX_DIM}, not {dim!r}")
        self._dim = dim

    @property
    def dim(self) -> int:
        """The parameters of the constructor."""
        return self._dim

    def params(self) -> dict[str, Any]:
        """Return ``dim``: the length of a row."""
        return {"dim": self._dim}
