"""Limits of processes that run models: memory grows by what a model needs, and a model that needs more is refused."""

import resource
import shutil
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

from crossview.engine.catalog.models import Models
from crossview.engine.model import Model
from crossview.features.errors import ImageError, ModelError
from crossview.features.models.device import VARIABLE
from crossview.features.models.folder import read_folder
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
    """A checkpoint of a call that somebody waits for."""


def filled(shape: Sequence[int], nodes: Sequence[Any]) -> Callable[[Path], Path]:
    """A tower that fills an array, ``filled``, with the mean of the picture, so that no optimisation does it before."""

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


def extractor(models: Models, model: Model, **changes: Any) -> Onnx:
    manifest = replace(model.manifest, **changes)
    return Onnx(model=model.name, digest=manifest.digest(), dim=tiny.DIM, inputs=("image",)).of(manifest, models.files)


def limit(data: bytes, extractors: object, max_pixels: int) -> int:
    return resource.getrlimit(resource.RLIMIT_AS)[0]


@LINUX
def test_the_limit_of_a_process_grows_by_what_a_model_took_at_its_first_run(
    tmp_path: Path, models: Models, pool: PicturePool
) -> None:
    """A process that does not know it refuses the model with a reason, and reads the next picture."""
    model, trials = models.add("greedy", GREEDY(tmp_path / "greedy"))
    assert trials["image"].memory_bytes == model.manifest.memory_bytes > NEEDED
    unknown = extractor(models, model, memory_bytes=0, licence="another digest")
    with pytest.raises(ModelError, match=r"the model fails: .*memory"):
        pool.run(rows, [PictureTask(PICTURE, {"greedy": unknown})], wanted)
    process, known = pool.pids(), extractor(models, model)
    there, here = (one.run(rows, [PictureTask(PICTURE, {"greedy": known})], wanted)[0] for one in (pool, IN_PROCESS))
    assert pool.pids() == process
    assert np.array_equal(there["greedy"], here["greedy"])


@LINUX
def test_the_limit_grows_once_for_a_model_and_ends_on_a_graphics_card(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many views have the model; CUDA maps more addresses than any limit allows."""
    model, _ = models.add("small", tiny.picture_folder(tmp_path / "small"))
    one, other = extractor(models, model, memory_bytes=1 << 30), extractor(models, model, memory_bytes=1 << 30)
    for device in ("cpu", "cuda"):
        monkeypatch.setenv(VARIABLE, device)
        with closing(PicturePool(1, LIMITS)) as pool:
            tasks = [PictureTask(PICTURE, views) for views in ({}, {"one": one}, {"two": other}, {})]
            first, *others = pool.run(limit, tasks, wanted)
        assert len(set(others)) == 1
        assert others[0] == resource.RLIM_INFINITY if device == "cuda" else others[0] - first >= 3 << 29


def test_a_model_that_takes_longer_than_a_picture_may_is_refused(tmp_path: Path, models: Models) -> None:
    manifest = read_folder(SLOW(tmp_path / "slow"))
    models.files.mkdir(parents=True)
    shutil.copy(tmp_path / "slow" / "vision_model.onnx", models.files / "slow")
    manifest = replace(manifest, files={"vision_model.onnx": "slow"})
    slow = Onnx(model="slow", digest="slow", dim=tiny.DIM, inputs=("image",)).of(manifest, models.files)
    with closing(PicturePool(1, replace(LIMITS, seconds=1.0))) as pool:
        (found,) = pool.run(rows, [PictureTask(PICTURE, {"slow": slow})], wanted)
    assert isinstance(found, ImageError)
    assert "takes more than 1 seconds" in str(found)
