"""Models on failing disks, under killed processes and with damaged files are never half there, and no row is wrong."""

import errno
import json
import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from disk import failing_disk

from crossview.engine.catalog import models as module
from crossview.engine.catalog.models import FOLDER, Models
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import AlreadyExistsError, CrossviewError, ModelError, NotFoundError, StorageError
from crossview.features.base import Input
from crossview.features.models import towers
from crossview.features.models.folder import files_of
from crossview.features.models.manifest import Manifest
from crossview.features.models.session import SESSIONS
from crossview.features.models.texts import TextProcesses
from crossview.features.models.trial import Trial, try_model
from crossview.features.onnx import Onnx

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
PICTURE = np.full((9, 12, 3), 77, np.uint8)
TRIALS: dict[tuple[str | bytes, ...], dict[Input, Trial]] = {}
GARBAGE = (b"", b"{", b"[]", b"null", b'{"digest": 1}', b"\xff\xfe", b"[" * 100_000, b'{"manifest": {"towers": []}}')


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def models(home: Home) -> Models:
    return home.models


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.picture_folder(tmp_path / "pictures")


@pytest.fixture(autouse=True)
def no_session_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Drop open files: a process that has opened a file goes on with it, and these tests are about the first use."""
    monkeypatch.setattr(SESSIONS, "_sessions", SESSIONS._sessions.__class__())
    texts = TextProcesses(1)
    monkeypatch.setattr(towers, "TEXTS", texts)
    with closing(texts):
        yield


@pytest.fixture(autouse=True)
def each_content_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep first runs by content: each starts a process, and the tests need no second run of the same."""

    def tried_once(folder: Path, manifest: Manifest) -> dict[Input, Trial]:
        key = repr(manifest), *((folder / name).read_bytes() for name in files_of(manifest))
        if key not in TRIALS:
            TRIALS[key] = try_model(folder, manifest)
        return TRIALS[key]

    monkeypatch.setattr(module, "try_model", tried_once)


def extractor(home: Home, name: str) -> Onnx:
    """Return the extractor of a view by a model, as a collection loads it."""
    found = home.models.get(name)
    inputs, dim = found.rows("")
    made = Onnx(model=name, digest=found.digest, dim=dim, inputs=inputs)
    return made.of(home.path / FOLDER)


@pytest.mark.parametrize("content", GARBAGE)
def test_a_garbage_manifest_harms_no_other_model_and_can_be_removed(
    home: Home, models: Models, folder: Path, content: bytes
) -> None:
    models.add("good", folder)
    row, whole = extractor(home, "good").row(PICTURE), tiny.left(home.path)
    (home.path / FOLDER / "bad.json").write_bytes(content)
    assert models.names() == ["bad", "good"]
    with pytest.raises(ModelError, match=r"'bad' is damaged .*home.models.remove\('bad'\)"):
        models.get("bad")
    assert np.array_equal(extractor(home, "good").row(PICTURE), row)
    assert models.users("bad") == {}
    with pytest.raises(AlreadyExistsError):
        models.add("bad", folder)
    models.remove("bad")
    assert tiny.left(home.path) == whole


def test_files_of_a_damaged_manifest_stay_until_it_is_removed(home: Home, models: Models, folder: Path) -> None:
    """Its files are unknown, so no other removal takes them."""
    models.add("hurt", folder)
    other = tiny.picture_folder(folder.parent / "other", dim=7)
    models.add("gone", other)
    place = home.path / FOLDER / "hurt.json"
    packed = place.read_bytes()
    place.write_bytes(b"{")
    models.remove("gone")
    place.write_bytes(packed)
    assert models.verified("hurt").name == "hurt"


def test_a_manifest_that_somebody_changed_is_damaged(home: Home, models: Models, folder: Path) -> None:
    """Rows depend on everything except the licence, which is only text."""
    models.add("one", folder)
    place = home.path / FOLDER / "one.json"
    stored = json.loads(place.read_bytes())
    stored["manifest"]["licence"] = "MIT"
    place.write_text(json.dumps(stored))
    assert models.get("one").manifest.licence == "MIT"
    stored["manifest"]["towers"]["image"]["pixels"]["mean"] = [0.1, 0.2, 0.3]
    place.write_text(json.dumps(stored))
    with pytest.raises(ModelError, match="damaged"):
        models.get("one")


def test_a_link_in_place_of_a_manifest_is_not_followed(home: Home, models: Models, folder: Path) -> None:
    models.add("one", folder)
    place = home.path / FOLDER / "one.json"
    place.rename(folder / "elsewhere.json")
    place.symlink_to(folder / "elsewhere.json")
    with pytest.raises(ModelError, match="cannot be read"):
        models.get("one")


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    """Flip one bit of the weights, and keep the size and the time."""
    content, before = bytearray(path.read_bytes()), path.stat()
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("damage", [Path.unlink, truncate, flip])
def test_no_row_comes_from_a_damaged_file(home: Home, models: Models, folder: Path, damage) -> None:
    """The first use finds the damage, and adding the same model again makes the view work as before."""
    tiny.text_folder(folder)
    made, _ = models.add("one", folder)
    one = extractor(home, "one")
    for name in made.manifest.files:
        damage(home.path / FOLDER / "files" / made.manifest.files[name])
    for sample in (PICTURE, "red"):
        with pytest.raises(ModelError, match=r"is damaged .*home.models.add\('one'"):
            one.row(sample)
    for look in (models.check, models.verified):
        with pytest.raises(ModelError, match="is damaged"):
            look("one")
    models.remove("one")
    models.add("one", folder)
    assert one.row(PICTURE).shape == one.row("red").shape == (tiny.DIM,)


def test_the_digest_is_of_what_rows_depend_on(models: Models, folder: Path) -> None:
    """Neither a licence nor another layout of the same files makes another model; another preprocessing does."""
    first, _ = models.add("one", folder)
    moved = shutil.copytree(folder, folder.parent / "moved")
    (moved / "onnx").mkdir()
    (moved / "vision_model.onnx").rename(moved / "onnx" / "vision_model.onnx")
    (moved / "LICENSE").write_text("MIT")
    assert models.add("two", moved)[0].digest == first.digest
    config = json.loads((moved / "preprocessor_config.json").read_text())
    (moved / "preprocessor_config.json").write_text(json.dumps({**config, "image_mean": [0.4] * 3}))
    assert models.add("three", moved)[0].digest != first.digest


def test_a_model_is_added_whole_or_not_at_all_on_a_disk_that_fails(home: Home, folder: Path, monkeypatch) -> None:
    """Any access may fail: the error states the remedy, nothing is left, and the next try succeeds."""
    found, trials = home.models.add("one", folder)
    home.models.remove("one")
    monkeypatch.setattr(module, "try_model", lambda *_: trials)
    errors = set[str]()
    with failing_disk() as disk:
        for time in range(1, 100):
            with disk.fail(time, errno.ENOSPC):
                try:
                    home.models.add("one", folder)
                except StorageError as error:
                    errors.add(error.message)
                if not disk.failed:
                    break
            assert home.models.names() in ([], ["one"])
            assert len(tiny.left(home.path)) in (0, 2)
            if home.models.names():
                assert home.models.verified("one").digest == found.digest
                home.models.remove("one")
        assert time > 8
    assert errors == {"the disk is full: free some space and try again; nothing that was acknowledged is lost"}
    assert home.models.verified("one").digest == found.digest


def test_a_disk_that_fills_during_the_copy_leaves_nothing(home: Home, folder: Path, monkeypatch) -> None:
    def full(reading, writing, _size: int) -> None:
        writing.write(reading.read(9))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module.shutil, "copyfileobj", full)
    with pytest.raises(StorageError, match="the disk is full"):
        home.models.add("one", folder)
    assert tiny.left(home.path) == set()


def test_a_read_only_home_says_so(home: Home, folder: Path) -> None:
    with (
        failing_disk() as disk,
        disk.fail(1, errno.EROFS, lasting=True),
        pytest.raises(StorageError, match="read-only"),
    ):
        home.models.add("one", folder)


def test_two_that_add_one_name_at_once_get_one_model(home: Home, folder: Path, monkeypatch) -> None:
    """Both have seen that the name is free, and one of them comes second."""
    _, trials = home.models.add("first", folder)
    other, met = tiny.picture_folder(folder.parent / "other", dim=7), threading.Barrier(2)

    def meet(*_: object) -> object:
        met.wait(300)
        return trials

    monkeypatch.setattr(module, "try_model", meet)
    results: dict[Path, object] = {}

    def add(source: Path) -> None:
        try:
            results[source] = home.models.add("one", source)[0]
        except CrossviewError as error:
            results[source] = error

    threads = [threading.Thread(target=add, args=(one,)) for one in (folder, other)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    refused = [one for one in results.values() if isinstance(one, CrossviewError)]
    assert [type(one) for one in refused] == [AlreadyExistsError]
    assert home.models.verified("one") in results.values()
    files = {one for model in home.models.all() for one in model.manifest.files.values()}
    assert len(tiny.left(home.path)) == 2 + len(files)


def add_until_killed(reports: Connection, home: Path, folder: Path) -> None:
    """Add a model, whose first run never ends."""
    module.try_model = lambda *_: reports.send("copied") or threading.Event().wait()
    Home(home).models.add("one", folder)


def test_what_a_killed_process_left_goes_when_a_collection_is_opened(home: Home, folder: Path) -> None:
    home.create("art", ["color"]).close()
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("forkserver").Process(
        target=add_until_killed, args=(theirs, home.path, folder)
    )
    process.start()
    assert ours.recv() == "copied"
    home.open("art").close()
    (leftover,) = home.path.glob(".new-*")  # its process is at work, so its files stay
    process.kill()
    process.join()
    assert any(leftover.iterdir())
    home.open("art").close()
    assert not leftover.exists()
    assert home.models.add("one", folder)[0].name == "one"


def test_a_view_names_what_is_wrong_with_its_model(home: Home, folder: Path) -> None:
    """The model is removed; replaced by another of its name; or added again under another name, which also serves."""
    home.models.add("one", folder)
    one = extractor(home, "one")
    home.models.remove("one")
    with pytest.raises(ModelError, match=r"no model 'one'.*home.models.add\('one', 'FOLDER'\)"):
        one.row(PICTURE)
    home.models.add("one", tiny.picture_folder(folder.parent / "other", dim=7))
    with pytest.raises(ModelError, match="another one than the model that the view was made by"):
        one.row(PICTURE)
    home.models.add("two", folder)
    assert one.row(PICTURE).shape == (tiny.DIM,)


def test_removing_an_unknown_model_changes_nothing(home: Home) -> None:
    with pytest.raises(NotFoundError, match=r"no model 'one'; add one with"):
        home.models.remove("one")
    assert not home.path.exists()
