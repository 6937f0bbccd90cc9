"""A view by a model of the user's choice, in ONNX files that the home keeps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from crossview.features.base import FeatureRows, ImageExtractor, Input, TextExtractor
from crossview.features.errors import ModelError
from crossview.features.image import Image
from crossview.features.models.manifest import Manifest, Tower
from crossview.features.models.session import SESSIONS, row_of_picture, row_of_text
from crossview.features.models.tokens import tokenizer


class Onnx(ImageExtractor, TextExtractor):
    """The rows of a model: of pictures, of texts, or of both in one space.

    The extractor has the parameters that a view stores; ``of`` gives it the files, which must have the stored digest.
    Pickled, it holds the paths of the files: a process that reads pictures opens them itself, once.

    Args:
        model: the name of the model in the home.
        digest: the digest of the model, hexadecimal.
        dim: length of a row.
        inputs: what the model makes rows of: "image", "text".
        output: another output of the picture tower, such as "logits"; empty for that of the manifest.
    """

    name: ClassVar[str] = "onnx"
    robust: ClassVar[bool] = True
    inputs: ClassVar[frozenset[Input]] = frozenset({"image", "text"})
    steps: ClassVar[tuple[str, ...]] = ("l2",)

    def __init__(
        self, *, model: str, digest: str = "", dim: int = 0, inputs: Sequence[str] = (), output: str = ""
    ) -> None:
        self._model, self._digest, self._dim = str(model), str(digest), int(dim)
        self._inputs, self._output = tuple(inputs), str(output)
        self._manifest: Manifest | None = None
        self._files: Path | None = None

    @property
    def dim(self) -> int:
        """Length of a row."""
        return self._dim

    @property
    def memory(self) -> Mapping[str, int]:
        """The memory of the model, under its digest, which the views by one model share."""
        return {} if self._manifest is None else {self._digest: self._manifest.memory_bytes}

    @property
    def digest(self) -> str:
        """The digest of the model, hexadecimal."""
        return self._digest

    @property
    def output(self) -> str:
        """Another output of the picture tower; empty for that of the manifest."""
        return self._output

    @property
    def files(self) -> Path | None:
        """The folder with the files of the home's models; None before ``of``."""
        return self._files

    def params(self) -> dict[str, Any]:
        """Return the parameters, as a view stores them."""
        return {
            "model": self._model,
            "digest": self._digest,
            "dim": self._dim,
            "inputs": list(self._inputs),
            "output": self._output,
        }

    def of(self, manifest: Manifest, files: Path) -> Self:
        """Give the extractor its model: the manifest, and the folder with the files by their SHA-256."""
        self._manifest, self._files = manifest, files
        return self

    def row(self, sample: Any) -> FeatureRows:
        """Return the row of a picture or of a text, (dim,) float32; ModelError."""
        if isinstance(sample, str):
            return self._row_of_text(sample)
        return self._row_of_picture(sample)

    def _row_of_picture(self, image: Image) -> FeatureRows:
        tower = self._tower("image")
        return row_of_picture(SESSIONS.of(*self._file(tower.file)), tower, image, self._output)

    def _row_of_text(self, text: str) -> FeatureRows:
        tower = self._tower("text")
        if tower.tokens is None:
            raise ModelError(f"the model {self._model!r} has no tokenizer")
        _, path = self._file(tower.tokens.file)
        return row_of_text(SESSIONS.of(*self._file(tower.file)), tower, tokenizer(path, tower.tokens), text)

    def _tower(self, kind: Input) -> Tower:
        if self._manifest is None:
            raise ModelError(f"the home has no model {self._model!r}: register it with: crossview model add")
        if kind not in self._manifest.towers:
            raise ModelError(f"the model {self._model!r} has no tower for {'pictures' if kind == 'image' else 'texts'}")
        return self._manifest.towers[kind]

    def _file(self, name: str) -> tuple[str, Path]:
        """Return the SHA-256 of a file and its path."""
        if self._manifest is None or self._files is None:
            raise ModelError(f"the home has no model {self._model!r}: register it with: crossview model add")
        sha256 = self._manifest.files[name]
        return sha256, self._files / sha256
