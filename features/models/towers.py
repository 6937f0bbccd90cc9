"""A model of a home that a view computes its rows by, found at the first row."""

from pathlib import Path
from typing import Any

from crossview.features.base import FeatureRows, Input
from crossview.features.errors import ModelError
from crossview.features.models.manifest import Tower
from crossview.features.models.session import SESSIONS, row_of_picture, row_of_text
from crossview.features.models.stored import Model, ModelFile, StoredModels, without
from crossview.features.models.tokens import tokenizer


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

        ``output`` is another output of the tower for pictures, such as its logits. Raises ModelError if the home lacks
        the model, if it is damaged, or if it fails.
        """
        if not isinstance(sample, str):
            tower = self._tower("image")
            return row_of_picture(SESSIONS.of(self._file(tower.file)), tower, sample, output)
        tower = self._tower("text")
        if tower.tokens is None:
            raise ModelError(f"the model {self.name!r} has no tokenizer")
        words = tokenizer(self._file(tower.tokens.file), tower.tokens)
        return row_of_text(SESSIONS.of(self._file(tower.file)), tower, words, sample)

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
