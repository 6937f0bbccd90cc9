"""Every file of a bundle is listed with a checksum; a bundle with other files, links or changes is refused."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from refusals import error_of

from crossview.engine.collections.home import Home
from crossview.engine.publishing.bundle import MANIFEST, Bundle, fetch, read_bundle
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.publication import PublishRequest
from crossview.engine.publishing.publish import publish
from crossview.engine.values.errors import CrossviewError, InvalidInputError, ModelError
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
PLACES = 24
"""Bytes of each file that are damaged, one after another."""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the bundle of a trained space with votes, and with a view by a model."""
    folder = tmp_path_factory.mktemp("bundles")
    home = Home(folder / "home")
    home.models.add("words", tiny.text_folder(folder / "words"))
    with home.create("notes", ["words=onnx:words", "v=vectors:dim=3"]) as notes:
        random = np.random.default_rng(0)
        rows = [random.normal(size=3).astype(np.float32) + 4 * (number % 2) for number in range(40)]
        notes.items.put(
            [
                NewItem(str(number), text="red" if number % 2 else "dog", labels=(f"l{number % 2}",), rows={"v": row})
                for number, row in enumerate(rows)
            ]
        )
        notes.train(Recipe(spec="pca", views=("v", "words"), holdout=0.3))
        publish(notes, PublishRequest(to=str(folder / "bundles")))
    return folder / "bundles"


@pytest.fixture
def bundle(bundles: Path, tmp_path: Path) -> Path:
    """A copy of the folder of the bundle."""
    (found,) = shutil.copytree(bundles, tmp_path / "bundles").glob("*/*")
    return found


def opened(bundle: Path, place: Path) -> Bundle:
    """Open a bundle in an empty home."""
    storage, folder = ObjectStorage(bundle.parents[1]), f"{bundle.parent.name}/{bundle.name}"
    found = read_bundle(storage, folder)
    home = Home(place)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    fetch(found, storage, home)
    home.open(found.name).close()
    return found


def files(bundle: Path) -> Mapping[str, Path]:
    """The files of a bundle, by the kind of each."""
    named = {str(path.relative_to(bundle)): path for path in bundle.rglob("*") if path.is_file()}
    models = sorted(name for name in named if name.startswith(".models/files/"))
    return {"model" if name in models else name: path for name, path in named.items()}


KINDS = (MANIFEST, "catalog.db", "votes.json", ".models/words.json", "model")


def test_a_bundle_has_these_files_and_no_others(bundle: Path, tmp_path: Path) -> None:
    """A new kind of file comes with a test of its damage."""
    assert set(files(bundle)) == set(KINDS)
    assert len(json.loads((bundle / "votes.json").read_text())) == 2
    assert opened(bundle, tmp_path / "home").space


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_byte_of_any_file_is_found(bundle: Path, tmp_path: Path, kind: str) -> None:
    """No damaged bundle opens; only white space of the manifest does not belong to its statements."""
    before, path = opened(bundle, tmp_path / "home"), files(bundle)[kind]
    content, found = path.read_bytes(), list[Bundle]()
    for place in np.linspace(0, len(content) - 1, PLACES).astype(int).tolist():
        for bit in (1, 32):
            changed = bytearray(content)
            changed[place] ^= bit
            path.write_bytes(changed)
            error = error_of(InvalidInputError, lambda: found.append(opened(bundle, tmp_path / "home")))
            if error is None:
                assert (kind, found.pop()) == (MANIFEST, before)
            else:
                assert "damaged" in str(error) or "newer" in str(error)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidInputError, match=r"is damaged .*: remove it, and publish the collection again"):
        opened(bundle, tmp_path / "home")
    path.unlink()
    with pytest.raises(CrossviewError):
        opened(bundle, tmp_path / "home")


def link_a_file(bundle: Path) -> None:
    """Replace a file by a link to the same content."""
    outside = bundle.parents[2] / "outside"
    shutil.move(bundle / "votes.json", outside)
    (bundle / "votes.json").symlink_to(outside)


def link_the_manifest(bundle: Path) -> None:
    outside = bundle.parents[2] / "outside"
    shutil.move(bundle / MANIFEST, outside)
    (bundle / MANIFEST).symlink_to(outside)


def link_a_folder(bundle: Path) -> None:
    outside = bundle.parents[2] / "models"
    shutil.move(bundle / ".models", outside)
    (bundle / ".models").symlink_to(outside)


def link_the_bundle(bundle: Path) -> None:
    outside = bundle.parents[2] / "all"
    shutil.move(bundle, outside)
    bundle.symlink_to(outside)


def add_a_link(bundle: Path) -> None:
    (bundle / "passwords").symlink_to("/etc/passwd")


def add_a_file(bundle: Path) -> None:
    (bundle / "more.json").write_text("{}")


def add_a_model(bundle: Path) -> None:
    (bundle / ".models/evil.json").write_text("{}")


def pipe_a_file(bundle: Path) -> None:
    """Replace a file by a pipe, which would wait for ever when opened."""
    (bundle / "votes.json").unlink()
    os.mkfifo(bundle / "votes.json")


def pipe_the_manifest(bundle: Path) -> None:
    (bundle / MANIFEST).unlink()
    os.mkfifo(bundle / MANIFEST)


def move_the_bundle(bundle: Path) -> None:
    """Move the bundle to the name of another one."""
    other = bundle.with_name("0" * 12)
    bundle.rename(other)
    shutil.copytree(other, bundle)
    manifest = json.loads((bundle / MANIFEST).read_text())
    del manifest["sha256"]
    (bundle / MANIFEST).write_text(json.dumps({**manifest, "digest": "0" * 64}))


@pytest.mark.parametrize(
    "change",
    [
        *(link_a_file, link_the_manifest, link_a_folder, link_the_bundle, add_a_link),
        *(add_a_file, add_a_model, pipe_a_file, pipe_the_manifest, move_the_bundle),
    ],
)
def test_a_bundle_with_links_or_other_files_is_refused(
    bundle: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(bundle)
    with pytest.raises(InvalidInputError, match="is damaged"):
        opened(bundle, tmp_path / "home")


def restated(bundle: Path, path: str, content: bytes) -> None:
    """Replace a file and state its checksum, as a person who changes a bundle on purpose does."""
    (bundle / path).write_bytes(content)
    manifest = json.loads((bundle / MANIFEST).read_text())
    del manifest["sha256"]
    manifest["files"][path] = hashlib.sha256(content).hexdigest()
    (bundle / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("votes.json", b"[]"),
        ("votes.json", b'{"v": {"shares": [NaN], "probabilities": [1], "protocol": ""}}'),
        ("votes.json", b'{"v": {"shares": [0, 1], "probabilities": [1], "protocol": ""}}'),
        ("votes.json", b'{"v": {"shares": [0], "probabilities": [2], "protocol": ""}}'),
        (".models/words.json", b"{}"),
        (".models/words.json", b"[" * 100_000),
        ("catalog.db", b"SQLite format 3\0"),
    ],
)
def test_a_file_that_states_nonsense_is_refused(bundle: Path, tmp_path: Path, path: str, content: bytes) -> None:
    """The checksum is right."""
    restated(bundle, path, content)
    with pytest.raises(CrossviewError):
        opened(bundle, tmp_path / "home")


def test_a_bundle_of_an_earlier_version_opens(bundle: Path, tmp_path: Path) -> None:
    """Its manifest has no checksum of itself, only those of all files."""
    found = opened(bundle, tmp_path / "home")
    manifest = json.loads((bundle / MANIFEST).read_text())
    del manifest["sha256"]
    (bundle / MANIFEST).write_text(json.dumps(manifest))
    assert opened(bundle, tmp_path / "again") == found


def test_a_killed_publication_leaves_a_file_that_harms_nothing(bundle: Path, tmp_path: Path) -> None:
    (bundle / f"{MANIFEST}.{32 * 'a'}.part").write_text("{")
    assert opened(bundle, tmp_path / "home").space


def test_a_damaged_model_is_not_published(bundles: Path, tmp_path: Path) -> None:
    home = Home(shutil.copytree(bundles.parent / "home", tmp_path / "home"))
    for file in (home.path / ".models/files").iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"\0")
    with home.open("notes") as notes, pytest.raises(ModelError, match="is damaged"):
        publish(notes, PublishRequest(to=str(tmp_path / "bundles")))
    assert not list((tmp_path / "bundles").rglob(MANIFEST))
