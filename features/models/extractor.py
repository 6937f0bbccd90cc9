"""The base of extractors by models of the user's choice, in ONNX files that a home keeps."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from crossview.features.base import FeatureRows, ImageExtractor, Input, TextExtractor
from crossview.features.errors import ModelError
from crossview.features.models.manifest import MOST_DIM
from crossview.features.models.stored import NAME
from crossview.features.models.towers import Towers

_DIGEST = re.compile(r"[0-9a-f]{64}")
_INPUTS: frozenset[Input] = frozenset({"image", "text"})


class ModelExtractor(ImageExtractor, TextExtractor):
    """An extractor of rows from pictures, from texts, or from both in one space, by models of a home.

    It has the parameters that a view stores, and finds its models, which must have the stored digests, when it makes
    the first row. So a collection without its models keeps everything else, and a model may come later.
    """

    towers: tuple[Towers, ...]

    inputs: ClassVar[frozenset[Input]] = _INPUTS
    steps: ClassVar[tuple[str, ...]] = ("l2",)

    def __init__(self, towers: Sequence[Towers], params: Mapping[str, Any]) -> None:
        """Keep the models and the parameters; ValueError for parameters that no view by a model has."""
        for name, digest in [(tower.name, tower.digest) for tower in towers]:
            if not (isinstance(name, str) and NAME.fullmatch(name) and _DIGEST.fullmatch(str(digest))):
                raise ValueError("a view by a model needs its name and its digest")
        dim, inputs = params["dim"], params.get("inputs", sorted(_INPUTS))
        if not 0 < dim <= MOST_DIM or not inputs or not _INPUTS.issuperset(inputs):
            raise ValueError(f"a view by a model has at most {MOST_DIM:,} numbers, of pictures, texts or both")
        if not set(inputs).issuperset(params["rows"]):
            raise ValueError(f"rows can come from {' or '.join(inputs)}, not from {' or '.join(params['rows'])}")
        self.towers, self._params = tuple(towers), dict(params)
        self.folder: Path | None = None

    @property
    def dim(self) -> int:
        """Length of a row."""
        return int(self._params["dim"])

    @property
    def digest(self) -> str:
        """The digest of the model whose rows these are, or are made of, hexadecimal."""
        return self.towers[0].digest

    @property
    @abstractmethod
    def variant(self) -> str:
        """The words that tell these rows from others of the same model."""

    @property
    def memory(self) -> Mapping[str, int]:
        """The memory of the models under their digests, which the views by one model share."""
        try:
            return {tower.digest: tower.find().manifest.memory_bytes for tower in self.towers}
        except ModelError:
            return {}

    def params(self) -> dict[str, Any]:
        """Return the parameters, as a view stores them."""
        return dict(self._params)

    def of(self, models: Path) -> Self:
        """Give the extractor the folder with the models of its home."""
        self.folder = models
        for tower in self.towers:
            tower.in_folder(models)
        return self

    @abstractmethod
    def row(self, sample: Any) -> FeatureRows:
        """Return the row of a picture or of a text, (dim,) float32.

        Raises ModelError if the home lacks a model, if it is damaged, or if it fails.
        """
