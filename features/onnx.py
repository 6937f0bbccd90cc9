"""A view by a model of the user's choice, in ONNX files that the home keeps."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from crossview.features.base import FeatureRows, ImageExtractor, Input, TextExtractor
from crossview.features.errors import ModelError
from crossview.features.image import Image
from crossview.features.models.manifest import MOST_DIM, Tower
from crossview.features.models.session import SESSIONS, row_of_picture, row_of_text
from crossview.features.models.stored import NAME, Model, ModelFile, StoredModels, without
from crossview.features.models.tokens import tokenizer

_DIGEST = re.compile(r"[0-9a-f]{64}")
_INPUTS: frozenset[Input] = frozenset({"image", "text"})


class Onnx(ImageExtractor, TextExtractor):
    """The rows of a model: of pictures, of texts, or of both in one space.

    The extractor has the parameters that a view stores, and finds its model, which must have the stored digest, when it
    makes the first row. So a collection without its model keeps everything else, and a model may come later. Pickled,
    the extractor holds no files: a process that reads pictures opens them itself, once.

    Args:
        model: the name of the model in the home.
        digest: the digest of the model, hexadecimal.
        dim: length of a row.
        inputs: what the model makes rows of: "image", "text".
        output: another output of the picture tower, such as "logits"; empty for that of the manifest.
    """

    name: ClassVar[str] = "onnx"
    robust: ClassVar[bool] = True
    inputs: ClassVar[frozenset[Input]] = _INPUTS
    steps: ClassVar[tuple[str, ...]] = ("l2",)

    def __init__(self, *, model: str, digest: str, dim: int, inputs: Sequence[str], output: str = "") -> None:
        """Keep the parameters; ValueError for those that no view by a model has."""
        if not NAME.fullmatch(model) or not _DIGEST.fullmatch(digest):
            raise ValueError("a view by a model needs its name and its digest")
        if not 0 < dim <= MOST_DIM or not inputs or not _INPUTS.issuperset(inputs):
            raise ValueError(f"a view by a model has at most {MOST_DIM:,} numbers, of pictures, texts or both")
        self._params = dict[str, Any](model=model, digest=digest, dim=dim, inputs=list(inputs), output=str(output))
        self._models: StoredModels | None = None
        self._found: Model | None = None

    @property
    def dim(self) -> int:
        """Length of a row."""
        return int(self._params["dim"])

    def params(self) -> dict[str, Any]:
        """Return the parameters, as a view stores them."""
        return dict(self._params)

    def of(self, models: Path) -> Self:
        """Give the extractor the folder with the models of its home."""
        self._models = StoredModels(models)
        return self

    def row(self, sample: Any) -> FeatureRows:
        """Return the row of a picture or of a text, (dim,) float32.

        Raises ModelError if the home lacks the model, if it is damaged, or if it fails.
        """
        if isinstance(sample, str):
            return self._row_of_text(sample)
        return self._row_of_picture(sample)

    def _row_of_picture(self, image: Image) -> FeatureRows:
        tower = self._tower("image")
        return row_of_picture(SESSIONS.of(self._file(tower.file)), tower, image, self._params["output"])

    def _row_of_text(self, text: str) -> FeatureRows:
        tower = self._tower("text")
        if tower.tokens is None:
            raise ModelError(f"the model {self._params['model']!r} has no tokenizer")
        words = tokenizer(self._file(tower.tokens.file), tower.tokens)
        return row_of_text(SESSIONS.of(self._file(tower.file)), tower, words, text)

    def _tower(self, kind: Input) -> Tower:
        towers = self._model().manifest.towers
        if kind not in towers:
            what = {"image": "pictures", "text": "texts"}[kind]
            raise ModelError(f"the model {self._params['model']!r} has no tower for {what}")
        return towers[kind]

    def _file(self, name: str) -> ModelFile:
        if self._models is None:
            raise ModelError(without(self._params["model"]))
        return self._models.file(self._model(), name)

    def _model(self) -> Model:
        if self._models is None:
            raise ModelError(without(self._params["model"]))
        if self._found is None:
            found = self._models.of_digest(self._params["model"], self._params["digest"])
            inputs, dim = found.rows(self._params["output"])
            if (list(inputs), dim) != (self._params["inputs"], self.dim):
                raise ModelError(f"the view states other inputs or lengths of rows than its model {found.name!r} has")
            self._found = found
        return self._found
