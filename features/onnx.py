"""A view by a model of the user's choice."""

from collections.abc import Sequence
from typing import Any, ClassVar

from crossview.features.base import FeatureRows
from crossview.features.errors import ModelError
from crossview.features.models.extractor import ModelExtractor
from crossview.features.models.towers import Towers


class Onnx(ModelExtractor):
    """The rows of a model: of pictures, of texts, or of both in one space.

    Args:
        model: the name of the model in the home.
        digest: the digest of the model, hexadecimal.
        dim: length of a row.
        inputs: the inputs that queries can have: "image", "text".
        output: another output of the picture tower, such as "logits"; empty for that of the manifest.
        rows: the inputs that rows of items are computed from; empty for ``inputs``: a picture, otherwise the text.
    """

    name: ClassVar[str] = "onnx"

    def __init__(
        self,
        *,
        model: str,
        digest: str,
        dim: int,
        inputs: Sequence[str],
        output: str = "",
        rows: Sequence[str] = (),
    ) -> None:
        """Keep the parameters; ValueError for those that no view by a model has."""
        params = {"model": model, "digest": digest, "dim": dim, "inputs": list(inputs), "output": str(output)}
        super().__init__([Towers(model, digest)], {**params, "rows": list(rows)})

    @property
    def variant(self) -> str:
        """The output."""
        return str(self._params["output"])

    def row(self, sample: Any) -> FeatureRows:
        """Return the row of a picture or of a text, (dim,) float32; see the base."""
        (towers,) = self.towers
        output = self._params["output"]
        inputs, dim = towers.find().rows(output)
        if (list(inputs), dim) != (self._params["inputs"], self.dim):
            raise ModelError(f"the view states other inputs or lengths of rows than its model {towers.name!r} has")
        return towers.row(sample, output)
