"""A model of a home that a view computes its rows by, found at the first row."""

from pathlib import Path
from typing import Any

import numpy as np

from crossview.features.base import FeatureRows, Input
from crossview.features.errors import ModelError, ModelInputError
from crossview.features.models.manifest import Tower
from crossview.features.models.session import SESSIONS, row_of_picture
from crossview.features.models.stored import Model, ModelFile, StoredModels, without
from crossview.features.models.text_worker import TextModel
from crossview.features.models.texts import TEXTS
from crossview.features.vectors import MAX_VALUE


class Towers:
    """The towers of the model with a digest. Pickled, they hold no files: another process opens them itself, once."""

    name: str
    digest: str

    def __init__(self, name: str, digest: str) -> None:
        self.name, self.digest = name, digest
        self._stored: StoredModels | None = None
        self._found: Model | None = None

    def in_folder(self, models: Path) -> None:
        """Give the towers the folder with the models of their home."""
        self._stored = StoredModels(models)

    def find(self) -> Model:
        """Return the model; ModelError if the home lacks it."""
        if self._stored is None:
            raise ModelError(without(self.name))
        if self._found is None:
            self._found = self._stored.of_digest(self.name, self.digest)
        return self._found

    def row(self, sample: Any, output: str = "") -> FeatureRows:
        """Return the row of a picture, (h, w, 3) BGR uint8, or of a text, (dim,) float32.

        ``output`` is another output of the tower for pictures, such as its logits. A text goes through a process of
        ``TEXTS``. Raises ModelInputError if the model fails on the picture or the text, and ModelError if the home
        lacks the model or if it is damaged.
        """
        tower = self._tower("text" if isinstance(sample, str) else "image")
        try:
            if isinstance(sample, str):
                row = TEXTS.row(self._of_texts(tower), sample)
            else:
                row = row_of_picture(SESSIONS.of(self._file(tower.file)), tower, sample, output)
            dim = self.find().manifest.class_count if output else tower.dim
            if row.shape != (dim,):
                raise ModelInputError(f"the model returns a row of the shape {row.shape}, not of {dim:,} numbers")
            if not (np.abs(row) < MAX_VALUE).all():
                raise ModelInputError(f"the model returns numbers beyond {MAX_VALUE:g}")
        except ModelInputError as error:
            raise ModelInputError(f"model {self.name!r}: {error.message}", detail=error.detail) from error
        return row

    def _of_texts(self, tower: Tower) -> TextModel:
        if tower.tokens is None:
            raise ModelError(f"the model {self.name!r} has no tokenizer")
        return TextModel(
            name=self.name,
            digest=self.digest,
            file=self._file(tower.file),
            tokenizer=self._file(tower.tokens.file),
            tower=tower,
            memory_bytes=self.find().manifest.memory_bytes,
        )

    def class_names(self) -> list[str]:
        """Return the first name of each class of the tower for pictures; ModelError."""
        lines = self._file(self.find().manifest.classes).read().decode(errors="replace").splitlines()
        return [line.partition(",")[0].strip() for line in lines]

    def _tower(self, kind: Input) -> Tower:
        towers = self.find().manifest.towers
        if kind not in towers:
            what = {"image": "pictures", "text": "texts"}[kind]
            raise ModelError(f"the model {self.name!r} has no tower for {what}")
        return towers[kind]

    def _file(self, name: str) -> ModelFile:
        if self._stored is None:
            raise ModelError(without(self.name))
        return self._stored.file(self.find(), name)
