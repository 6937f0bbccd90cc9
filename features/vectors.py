"""Views whose rows come from outside: embeddings of other programs, measurements, anything with a fixed length."""

from typing import Any, ClassVar

from crossview.features.base import Extractor

MAX_DIM = 65_536
MAX_VALUE = 1e16
"""Values in a row are smaller. Squared distances are summed in float32, which ends at 3.4e38: those of two rows of
``MAX_DIM`` such values are 2.7e37 at most."""


class Vectors(Extractor):
    """Computes nothing: its rows are imported, ``dim`` floats each."""

    name: ClassVar[str] = "vectors"

    def __init__(self, *, dim: int) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or not 1 <= dim <= MAX_DIM:
            raise ValueError(f"vectors: dim must be a whole number from 1 to {MAX_DIM}, not {dim!r}")
        self._dim = dim

    @property
    def dim(self) -> int:
        """What it was made with."""
        return self._dim

    def params(self) -> dict[str, Any]:
        """``dim``: the length of a row."""
        return {"dim": self._dim}
