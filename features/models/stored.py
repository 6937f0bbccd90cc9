"""The models in the folder of a home: a manifest for each name, and the files by their SHA-256."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossview.features.base import Input
from crossview.features.errors import ModelError, Text, call
from crossview.features.files import open_regular
from crossview.features.models.manifest import Manifest

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_FILES, _VERSION = "files", 1


@dataclass(frozen=True)
class Model:
    """A model that is registered in a home."""

    name: str
    digest: str
    """SHA-256, hexadecimal, of everything that its rows depend on: models with equal digests have equal rows."""
    manifest: Manifest
    size: int
    """Bytes of its files."""
    added: str
    """The time of its registration, in ISO format, in UTC."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs that it has a tower for, sorted."""
        return tuple(sorted(self.manifest.towers))

    def rows(self, output: str) -> tuple[tuple[Input, ...], int]:
        """Return the inputs and the length of the rows of an output; "" for the one that the manifest names."""
        if output:
            return ("image",), self.manifest.class_count
        return self.inputs, min(tower.dim for tower in self.manifest.towers.values())

    def packed(self) -> bytes:
        """Return the content of its file."""
        stored: Mapping[str, Any] = {
            "version": _VERSION,
            "digest": self.digest,
            "manifest": self.manifest.to_json(),
            "size": self.size,
            "added": self.added,
        }
        return json.dumps(stored, indent=1).encode()

    @classmethod
    def unpacked(cls, name: str, packed: bytes) -> "Model":
        """Return the model of ``packed``; ModelError for other content, which the digest shows."""
        try:
            stored = json.loads(packed)
            manifest = Manifest.from_json(stored["manifest"])
            if manifest.digest() == stored["digest"]:
                return cls(name, stored["digest"], manifest, int(stored["size"]), str(stored["added"]))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        raise ModelError(damaged(name, "its manifest is damaged"))


@dataclass(frozen=True)
class ModelFile:
    """A file of a registered model."""

    model: str
    """The name of the model, for messages."""
    sha256: str
    path: Path

    def read(self) -> bytes:
        """Return the content; ModelError if the file is missing, or has another content than when it was registered.

        A process reads each file once and checks the very bytes that it uses, which takes a small part of the time
        that onnxruntime takes to open them. A stamp of size and time would not notice a disk that returns other bytes.
        """
        try:
            content = self.path.read_bytes()
        except OSError as error:
            reason = f"one of its files cannot be read: {error.strerror or error}"
            raise ModelError(damaged(self.model, reason), detail=self.path) from error
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ModelError(damaged(self.model, "one of its files has changed"), detail=self.path)
        return content


@dataclass(frozen=True)
class StoredModels:
    """The folder with the models of a home, which this class only reads."""

    path: Path

    @property
    def files(self) -> Path:
        """The folder with the files of all models, by their SHA-256."""
        return self.path / _FILES

    def place(self, name: str) -> Path:
        """Return the file with the manifest of a model."""
        return self.path / f"{name}.json"

    def names(self) -> list[str]:
        """Return the names of the models, sorted, also of damaged ones."""
        return sorted(path.stem for path in self.path.glob("*.json") if NAME.fullmatch(path.stem))

    def find(self, name: str) -> Model | None:
        """Return a model; None if no model has this name. Raises ModelError for a damaged one."""
        if not NAME.fullmatch(name):
            return None
        try:
            with open_regular(self.place(name), follow=False) as file:
                packed = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = f"its manifest cannot be read: {error.strerror or error}"
            raise ModelError(damaged(name, reason), detail=self.place(name)) from error
        return Model.unpacked(name, packed)

    def of_digest(self, name: str, digest: str) -> Model:
        """Return the model with a digest, of which a view knows the name that it had; ModelError without one.

        A model with another name will do, so that a user can add a model again under any name.
        """
        other_names = (other for other in self.names() if other != name)
        undamaged = (self._undamaged(candidate) for candidate in (name, *other_names))
        model = next((model for model in undamaged if model is not None and model.digest == digest), None)
        if model is not None:
            return model
        if self.find(name) is None:
            raise ModelError(without(name))
        raise ModelError(
            f"the model {name!r} is another one than the model that the view was made by: add that one "
            "under another name, with: ",
            call("home.models.add", "NAME", "FOLDER"),
            f"; {_STAY}",
        )

    def file(self, model: Model, name: str) -> ModelFile:
        """Return a file of a model by its name in the manifest."""
        sha256 = model.manifest.files[name]
        return ModelFile(model.name, sha256, self.files / sha256)

    def _undamaged(self, name: str) -> Model | None:
        try:
            return self.find(name)
        except ModelError:
            return None


_STAY = "until then, searches by items and by vectors use the stored rows"


def without(name: str) -> Text:
    """Return the message about a view whose model is not in the home."""
    return Text(
        f"the home has no model {name!r}, by which the view was made: add it with: ",
        call("home.models.add", name, "FOLDER"),
        f"; {_STAY}",
    )


def damaged(name: str, reason: str) -> Text:
    """Return the message about a model that cannot be used as it is."""
    return Text(
        f"the model {name!r} is damaged ({reason}): remove it with: ",
        call("home.models.remove", name),
        ", and add it again with: ",
        call("home.models.add", name, "FOLDER"),
    )
