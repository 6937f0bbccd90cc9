"""The models of a home: HOME/.models has a manifest for each name, and the files by their SHA-256."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.folder import CollectionFolder, sync_folder
from crossview.engine.catalog.leftovers import NEW, at_work
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.catalog.names import Names
from crossview.engine.catalog.private import check_no_links, make_file, make_folder, sync_file
from crossview.engine.catalog.row_cache import forget_rows
from crossview.engine.values.errors import (
    AlreadyExistsError,
    CrossviewError,
    InvalidInputError,
    ModelError,
    NotFoundError,
    call,
)
from crossview.features.base import Input
from crossview.features.inputs import models_of
from crossview.features.models.catalogue import OFFERS, downloaded, offered
from crossview.features.models.device import chosen_device
from crossview.features.models.folder import Folder, files_of, read_folder
from crossview.features.models.manifest import Manifest
from crossview.features.models.stored import NAME, Model, StoredModels
from crossview.features.models.trial import Trial, check_installed, try_model, with_dims

FOLDER = ".models"
HAND_MADE, _WORDS = ("color", "gist"), "names"
"""Views of a new collection beside those by models, and the name of that by which words find pictures."""


class Models:
    """The models of a home. Several processes may change them at once."""

    def __init__(self, home: Path) -> None:
        self._home, self._stored = home, StoredModels(home / FOLDER)

    def names(self) -> list[str]:
        """Return the names of the models, sorted, also of damaged ones."""
        with file_errors():
            return self._stored.names()

    def all(self) -> list[Model]:
        """Return the models, sorted by name; ModelError for a damaged one."""
        return [self.get(name) for name in self.names()]

    def get(self, name: str) -> Model:
        """Return a model; NotFoundError, which lists the existing ones, and ModelError for a damaged one."""
        model = self._stored.find(name)
        if model is None:
            raise self._unknown(name)
        return model

    def usual_views(self) -> tuple[str, ...]:
        """Return the specs of the views of a new collection, see ``Home.create``; empty without a model of pictures.

        Models that are damaged, or whose libraries are missing, do not count.
        """
        models = list[Model]()
        for name in self.names():
            with suppress(ModelError, NotFoundError):
                model = self.get(name)
                check_installed(model.manifest)
                models.append(model)
        pictures = [model for model in models if "image" in model.inputs and model.name not in HAND_MADE]
        if not pictures:
            return ()
        views = [*HAND_MADE, *(f"{model.name}=onnx:{model.name}" for model in pictures)]
        naming = next((model.name for model in pictures if model.manifest.logits), None)
        texts = next((model.name for model in models if model.inputs == ("text",)), None)
        by_words = any("text" in model.inputs or model.name == _WORDS for model in pictures)
        if naming and texts and not by_words:
            views.append(f"{_WORDS}=conse:{naming}:{texts}")
        return tuple(views)

    def add(self, name: str, folder: Path | str) -> tuple[Model, dict[Input, Trial]]:
        """Copy the model of a folder, run it once, and register it; return it with what the run found.

        Raises InvalidInputError for a wrong name, AlreadyExistsError for a taken one, ModelError for a model that
        cannot be used, StorageError.
        """
        if not NAME.fullmatch(name):
            raise InvalidInputError(
                f"{name!r} cannot name a model: use 1 to 63 of a-z, 0-9, '-' and '_', a letter or digit first"
            )
        self._check_free(name)
        folder = Path(folder)
        manifest = read_folder(folder)
        check_installed(manifest)
        with self._staged(folder, manifest) as (staging, hashes):
            trials = try_model(staging, manifest)
            manifest = replace(with_dims(manifest, trials), files=hashes)
            size = sum((staging / file).stat().st_size for file in hashes)
            model = Model(name, manifest.digest(), manifest, size, datetime.now(UTC).isoformat(timespec="seconds"))
            self._install(model, staging, hashes)
        return model, trials

    def download(self, name: str, shown: bool = False) -> list[tuple[Model, dict[Input, Trial]]]:
        """Download a model of the catalogue, or those of a set such as "words", and add them under their names.

        A model that is there stays; the others are returned, with what their first runs found. ``shown``: pip shows its
        progress. Raises ModelError for an unknown name or a failed download, StorageError.
        """
        added = []
        for model in offered([name]):
            if model not in self.names():
                with downloaded(OFFERS[model], shown) as folder:
                    added.append(self.add(model, folder))
        return added

    def bring(self, other: "Models") -> None:
        """Register the models of another home, under the same names; a model that is there stays.

        Raises AlreadyExistsError for a name that another model has, ModelError, StorageError.
        """
        for model in other.all():
            if model.name in self.names() and self.get(model.name).digest == model.digest:
                continue
            self._check_free(model.name)
            with self._staged(other._stored.files, model.manifest.located()) as (staging, hashes):
                self._install(model, staging, hashes)

    def _install(self, model: Model, staging: Path, hashes: Mapping[str, str]) -> None:
        """Register a model whose files are in a folder, each with its hash."""
        with self._changing():
            self._check_free(model.name)
            for file, sha256 in hashes.items():
                os.replace(staging / file, self._stored.files / sha256)
            sync_folder(self._stored.files)
            self._write(model, staging)

    def check(self, name: str) -> tuple[Model, dict[Input, Trial]]:
        """Compare a model's files with those that were registered, and run it; return it with what the run found.

        Raises NotFoundError, ModelError.
        """
        model = self.verified(name)
        return model, try_model(self._stored.files, model.manifest.located(), chosen_device())

    def verified(self, name: str) -> Model:
        """Return a model after comparing its files with those that were registered; NotFoundError, ModelError."""
        model = self.get(name)
        for file in model.manifest.files:
            self._stored.file(model, file).read()
        return model

    def users(self, name: str) -> dict[str, list[str]]:
        """Return the views whose rows a model computes, by collection; collections that cannot be opened do not count.

        The views of a damaged model are those that know its name. Raises NotFoundError.
        """
        try:
            digest = self.get(name).digest
        except ModelError:
            digest = ""
        by_collection = dict[str, list[str]]()
        for collection in Names(self._home).collections():
            with suppress(CrossviewError), closing(CollectionFolder(self._home / collection).open_catalog()) as catalog:
                with catalog.read() as tx:
                    by_model = {view.name: models_of(view.extractor, view.params) for view in tx.views.all()}
                using = [view for view, own in by_model.items() if (digest in own.values() if digest else name in own)]
                if using:
                    by_collection[collection] = using
        return by_collection

    def remove(self, name: str) -> None:
        """Delete a model, also a damaged one, and its files unless another model has them; views keep their rows.

        Raises NotFoundError, StorageError.
        """
        self._check_known(name)
        with self._changing():
            self._check_known(name)
            self._stored.place(name).unlink()

    def _check_known(self, name: str) -> None:
        if name not in self.names():
            raise self._unknown(name)

    def _unknown(self, name: str) -> NotFoundError:
        names = ", ".join(self.names())
        if names:
            return NotFoundError(f"no model {name!r}; there are: {names}")
        return NotFoundError(f"no model {name!r}; add one with: ", call("home.models.add", "NAME", "FOLDER"))

    def _check_free(self, name: str) -> None:
        if name in self.names():
            raise AlreadyExistsError(
                f"a model {name!r} exists already: choose another name, or remove it first with: ",
                call("home.models.remove", name),
            )

    @contextmanager
    def _staged(self, folder: Path, manifest: Manifest) -> Iterator[tuple[Path, Mapping[str, str]]]:
        """Copy the files of a model into a new folder; yield it, and their hashes, and remove it after the block.

        The folder is one like that of a new collection: opening a collection removes what a killed process left.
        """
        staging = self._home / f"{NEW}{uuid.uuid4().hex}"
        with file_errors():
            make_folder(self._home, parents=True)
        with at_work(self._home):
            try:
                with file_errors():
                    make_folder(staging)
                    hashes = {file: _copied(Folder(folder).inside(file), staging / file) for file in files_of(manifest)}
                yield staging, hashes
            finally:
                shutil.rmtree(staging, ignore_errors=True)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock of the home's names for the block; then remove the files that no model has."""
        with file_errors():
            make_folder(self._home, parents=True)
            for folder in (self._stored.path, self._stored.files):
                check_no_links(folder)
                make_folder(folder)
            with WriterLock(self._home / ".names").hold():
                try:
                    yield
                finally:
                    self._sweep()

    def _sweep(self) -> None:
        """Remove the files and kept rows that no model has.

        All stay while a manifest is damaged, because its files are unknown.
        """
        with suppress(ModelError, OSError):
            models = self.all()
            used = {sha256 for model in models for sha256 in model.manifest.files.values()}
            for file in self._stored.files.iterdir():
                if file.name not in used:
                    file.unlink()
            forget_rows(self._stored.path, {model.digest for model in models})

    def _write(self, model: Model, staging: Path) -> None:
        path = staging / f"{uuid.uuid4().hex}.json"
        make_file(path)
        path.write_bytes(model.packed())
        sync_file(path)
        os.replace(path, self._stored.place(model.name))
        sync_folder(self._stored.path)


def _copied(source: Path, target: Path) -> str:
    """Copy a file and return its SHA-256, hexadecimal."""
    make_folder(target.parent, parents=True)
    make_file(target)
    with source.open("rb") as reading, target.open("wb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
    sync_file(target)
    with target.open("rb") as copied:
        return hashlib.file_digest(copied, "sha256").hexdigest()
