"""Limits of processes that run models: memory grows by what a model needs, and a model that needs more is refused."""

import hashlib
import re
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models as tiny
from drawn import draw, encode
from tiny_models import node, value, weights

from crossview.engine.catalog.models import FOLDER, Models
from crossview.features.errors import ImageError
from crossview.features.models.device import VARIABLE
from crossview.features.models.folder import read_folder
from crossview.features.models.stored import Model
from crossview.features.onnx import Onnx
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import IN_PROCESS, PictureLimits, PictureTask
from crossview.features.reading import rows

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the memory of a process")
LIMITS = PictureLimits(pixels=10_000)
NEEDED = 2 * LIMITS.memory_bytes
"""Bytes that the greedy model allocates for each picture."""
PICTURE = encode(draw("red", 1))


def wanted() -> None:
    """A checkpoint of a call whose caller waits."""


def filled(shape: Sequence[int], nodes: Sequence[Any]) -> Callable[[Path], Path]:
    """Return a tower that fills an array with the mean of the picture, so that no optimisation does it before."""

    def make(folder: Path) -> Path:
        first = [
            node("ReduceMean", ["pixel_values"], ["mean"], keepdims=0),
            node("Expand", ["mean", "shape"], ["filled"]),
        ]
        last = [
            node("ReduceMax", [nodes[-1].output[0] if nodes else "filled"], ["most"], keepdims=0),
            node("Expand", ["most", "dim"], ["image_embeds"]),
        ]
        held = [weights("shape", np.array(shape)), weights("dim", np.array([1, tiny.DIM]))]
        side = [value("pixel_values", ["n", 3, tiny.SIDE, tiny.SIDE])]
        tiny.picture_folder(folder)
        outputs = [value("image_embeds", ["n", tiny.DIM])]
        tiny.save(folder / "vision_model.onnx", [*first, *nodes, *last], side, outputs, held)
        return folder

    return make


GREEDY = filled([NEEDED // 4], [])
SLOW = filled([1500, 1500], [node("MatMul", [f"m{n}" if n else "filled"] * 2, [f"m{n + 1}"]) for n in range(100)])


@pytest.fixture
def pool() -> Iterator[PicturePool]:
    made = PicturePool(1, LIMITS)
    yield made
    made.close()


@pytest.fixture
def models(tmp_path: Path) -> Models:
    return Models(tmp_path / "home")


def extractor(home: Path, model: Model, memory_bytes: int) -> Onnx:
    """Return the extractor of a model, after its manifest states another memory."""
    stated = replace(model, manifest=replace(model.manifest, memory_bytes=memory_bytes))
    (home / FOLDER / f"{model.name}.json").write_bytes(stated.packed())
    return Onnx(model=model.name, digest=model.digest, dim=tiny.DIM, inputs=("image",)).of(home / FOLDER)


def limit(data: bytes, extractors: object, max_pixels: int) -> int:
    return resource.getrlimit(resource.RLIMIT_AS)[0]


@LINUX
def test_the_limit_of_a_process_grows_by_what_a_model_took_at_its_first_run(
    tmp_path: Path, models: Models, pool: PicturePool
) -> None:
    """A process that does not know the growth refuses the model with a reason, and reads the next picture."""
    model, trials = models.add("greedy", GREEDY(tmp_path / "greedy"))
    assert trials["image"].memory_bytes == model.manifest.memory_bytes > NEEDED
    unknown = extractor(tmp_path / "home", model, 0)
    (refused,) = pool.run(rows, [PictureTask(PICTURE, {"greedy": unknown})], wanted)
    assert isinstance(refused, ImageError)
    assert re.search(r"view 'greedy', model 'greedy': the model fails: .*memory", str(refused))
    process = pool.pids()
    assert pool.run(rows, [PictureTask(PICTURE, {})], wanted) == [{}]
    assert pool.pids() == process
    known = extractor(tmp_path / "home", model, model.manifest.memory_bytes)
    with closing(PicturePool(1, LIMITS)) as other:
        there, here = (
            one.run(rows, [PictureTask(PICTURE, {"greedy": known})], wanted)[0] for one in (other, IN_PROCESS)
        )
    assert np.array_equal(there["greedy"], here["greedy"])


@LINUX
def test_the_limit_grows_once_for_a_model_and_ends_on_a_graphics_card(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is the same for any number of views with the model; CUDA maps more addresses than any limit allows."""
    model, _ = models.add("small", tiny.picture_folder(tmp_path / "small"))
    one, other = (extractor(tmp_path / "home", model, 1 << 30) for _ in range(2))
    for device in ("cpu", "cuda"):
        monkeypatch.setenv(VARIABLE, device)
        with closing(PicturePool(1, LIMITS)) as pool:
            tasks = [PictureTask(PICTURE, views) for views in ({}, {"one": one}, {"two": other}, {})]
            first, *others = pool.run(limit, tasks, wanted)
        assert len(set(others)) == 1
        assert others[0] == resource.RLIM_INFINITY if device == "cuda" else others[0] - first >= 3 << 29


def test_a_model_that_takes_longer_than_a_picture_may_is_refused(tmp_path: Path) -> None:
    folder, manifest = tmp_path / "home" / FOLDER, read_folder(SLOW(tmp_path / "slow"))
    data = (tmp_path / "slow" / "vision_model.onnx").read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    (folder / "files").mkdir(parents=True)
    (folder / "files" / sha256).write_bytes(data)
    towers = {"image": replace(manifest.towers["image"], dim=tiny.DIM)}
    manifest = replace(manifest, towers=towers, files={"vision_model.onnx": sha256})
    (folder / "slow.json").write_bytes(Model("slow", manifest.digest(), manifest, len(data), "now").packed())
    slow = Onnx(model="slow", digest=manifest.digest(), dim=tiny.DIM, inputs=("image",)).of(folder)
    with closing(PicturePool(1, replace(LIMITS, seconds=1.0))) as pool:
        (found,) = pool.run(rows, [PictureTask(PICTURE, {"slow": slow})], wanted)
    assert isinstance(found, ImageError)
    assert "takes more than 1 seconds" in str(found)
