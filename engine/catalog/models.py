"""The models of a home: HOME/.models has a manifest for each name, and the files by their SHA-256."""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import sync_folder
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.catalog.names import NAME
from crossview.engine.catalog.private import make_file, make_folder, open_file, sync_file
from crossview.engine.catalog.row_cache import forget_rows
from crossview.engine.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from crossview.engine.model import Model, Trial
from crossview.features.base import Input
from crossview.features.models.device import chosen_device
from crossview.features.models.folder import Folder, files_of, read_folder
from crossview.features.models.manifest import Manifest, Tower
from crossview.features.models.trial import try_model, with_dims

FOLDER = ".models"
_FILES, _VERSION = "files", 1


def located(manifest: Manifest) -> Manifest:
    """Return a manifest whose files have the names under which a home keeps them."""
    files, towers = manifest.files, dict[Input, Tower]()
    for kind, one in manifest.towers.items():
        tokens = None if one.tokens is None else replace(one.tokens, file=files[one.tokens.file])
        towers[kind] = replace(one, file=files[one.file], tokens=tokens)
    return replace(manifest, towers=towers, classes=files.get(manifest.classes, ""))


class Models:
    """The models of a home. Several processes may change them at once."""

    def __init__(self, home: Path) -> None:
        self._home, self.path = home, home / FOLDER

    def all(self) -> list[Model]:
        """Return the models, sorted by name; StorageError for a damaged one."""
        with file_errors():
            names = sorted(one.stem for one in self.path.glob("*.json"))
        return [self.get(name) for name in names]

    def get(self, name: str) -> Model:
        """Return a model; NotFoundError, StorageError."""
        if not NAME.fullmatch(name) or not (self.path / f"{name}.json").exists():
            known = ", ".join(sorted(one.stem for one in self.path.glob("*.json")))
            remedy = f"there are: {known}" if known else "register one with: crossview model add NAME FOLDER"
            raise NotFoundError(f"no model {name!r}; {remedy}")
        path = self.path / f"{name}.json"
        with file_errors(), os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
            content = file.read()
        try:
            stored = json.loads(content)
            return Model(
                name, stored["digest"], Manifest.from_json(stored["manifest"]), stored["size"], stored["added"]
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"the model {name!r} is damaged: remove it, and add it again", detail=path) from error

    @property
    def files(self) -> Path:
        """The folder with the files of all models, by their SHA-256."""
        return self.path / _FILES

    def of_digest(self, name: str, digest: str) -> Model:
        """Return the model with a digest, whatever its name is now; NotFoundError names the one of a view."""
        found = next((one for one in self.all() if one.digest == digest), None)
        if found is None:
            raise NotFoundError(
                f"the home has no model {name!r} as the view was made with: register it again with: "
                f"crossview model add {name} FOLDER"
            )
        return found

    def add(self, name: str, folder: Path) -> tuple[Model, dict[Input, Trial]]:
        """Copy the model of a folder, run it once, and register it; return it with what the run found.

        Raises InvalidInputError for a wrong name, AlreadyExistsError for a taken one, ModelError for a model that
        cannot be used, StorageError.
        """
        if not NAME.fullmatch(name):
            raise InvalidInputError(
                f"{name!r} cannot name a model: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
            )
        self._check_free(name)
        manifest = read_folder(folder)
        with self._staged(folder, manifest) as (staging, hashes):
            trials = try_model(staging, manifest)
            manifest = replace(with_dims(manifest, trials), files=hashes)
            size = sum((staging / one).stat().st_size for one in hashes)
            made = Model(name, manifest.digest(), manifest, size, datetime.now(UTC).isoformat(timespec="seconds"))
            with WriterLock(self._home / ".names").hold(), file_errors():
                self._check_free(name)
                for one, sha256 in hashes.items():
                    os.replace(staging / one, self.files / sha256)
                sync_folder(self.files)
                self._write(made)
        return made, trials

    def check(self, name: str) -> tuple[Model, dict[Input, Trial]]:
        """Run a model again; return it with what the run found. NotFoundError, ModelError, StorageError."""
        found = self.get(name)
        return found, try_model(self.files, located(found.manifest), chosen_device())

    def remove(self, name: str) -> Model:
        """Delete a model, with files and kept rows that no other has; return it. NotFoundError, StorageError."""
        with WriterLock(self._home / ".names").hold(), file_errors():
            gone = self.get(name)
            (self.path / f"{name}.json").unlink()
            used = {sha256 for one in self.all() for sha256 in one.manifest.files.values()}
            for sha256 in set(gone.manifest.files.values()) - used:
                (self.files / sha256).unlink(missing_ok=True)
            if gone.digest not in {one.digest for one in self.all()}:
                forget_rows(self.path, gone.digest)
        return gone

    def _check_free(self, name: str) -> None:
        if (self.path / f"{name}.json").exists():
            raise AlreadyExistsError(
                f"a model {name!r} exists already: choose another name, or remove it first with: "
                f"crossview model remove {name}"
            )

    @contextmanager
    def _staged(self, folder: Path, manifest: Manifest) -> Iterator[tuple[Path, Mapping[str, str]]]:
        """Copy the files of a model into a new folder; yield it, and their hashes, and remove it after the block."""
        staging = self.path / f".new-{uuid.uuid4().hex}"
        with file_errors():
            make_folder(self._home, parents=True)
            make_folder(self.path)
            make_folder(self.files)
            make_folder(staging)
        try:
            with file_errors():
                yield (
                    staging,
                    {name: _copied(Folder(folder).inside(name), staging / name) for name in files_of(manifest)},
                )
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _write(self, model: Model) -> None:
        stored: dict[str, Any] = {
            "version": _VERSION,
            "digest": model.digest,
            "manifest": model.manifest.to_json(),
            "size": model.size,
            "added": model.added,
        }
        made = self.path / f".new-{uuid.uuid4().hex}"
        make_file(made)
        made.write_text(json.dumps(stored, indent=1))
        sync_file(made)
        os.replace(made, self.path / f"{model.name}.json")
        sync_folder(self.path)


def _copied(source: Path, target: Path) -> str:
    """Copy a file and return its SHA-256, hexadecimal."""
    make_folder(target.parent, parents=True)
    make_file(target)
    with source.open("rb") as reading, target.open("wb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
    sync_file(target)
    with target.open("rb") as copied:
        return hashlib.file_digest(copied, "sha256").hexdigest()
