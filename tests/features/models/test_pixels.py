"""Inputs of towers equal those of the image processors that the models learned with.

The oracle follows the documented steps of Hugging Face's processors one by one, in double precision: resize by Pillow,
cut the centre, with black around a smaller picture, rescale, normalise.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from crossview.features.errors import ModelError
from crossview.features.models.folder import pixels_from
from crossview.features.models.session import pixels_of

IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
CLIP = {
    "do_resize": True,
    "size": {"shortest_edge": 224},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}
HALVES = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "CLIP": CLIP,
    "CLIP of earlier files": {**CLIP, "size": 224, "crop_size": 224},
    "SigLIP": {"size": {"height": 224, "width": 224}, "resample": 3, "do_resize": True, **HALVES},
    "DINOv2": {**CLIP, "size": {"shortest_edge": 256}, **IMAGENET},
    "EfficientNet-Lite0": {**CLIP, "image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3},
    "ViT": {"size": 224, "resample": 2, **HALVES},
    "ConvNeXt": {"size": {"shortest_edge": 224}, "crop_pct": 0.875, "resample": 3, **IMAGENET},
    "a wide input": {**CLIP, "size": {"shortest_edge": 60}, "crop_size": {"height": 50, "width": 81}},
    "pixels as they are": {"size": {"height": 40, "width": 30}, "do_rescale": False, "do_normalize": False},
}


def reference(picture: np.ndarray, config: Mapping[str, Any]) -> np.ndarray:
    """Return the input, (3, height, width), for a picture in red, green and blue."""
    resized = np.asarray(
        Pillow.fromarray(picture).resize(size_after(picture.shape, config)[::-1], config.get("resample", 3)), np.float64
    )
    if cut := cut_of(config):
        resized = centre(resized, *cut)
    if config.get("do_rescale", True):
        resized = resized * config.get("rescale_factor", 1 / 255)
    if config.get("do_normalize", True):
        resized = (resized - np.array(config["image_mean"])) / np.array(config["image_std"])
    return resized.transpose(2, 0, 1)


def size_after(shape: tuple[int, ...], config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the height and width after resizing: the shorter side is stated, the longer one rounded down."""
    size, (height, width) = config["size"], shape[:2]
    if isinstance(size, dict) and "height" in size:
        return size["height"], size["width"]
    if isinstance(size, int) and "crop_size" not in config:
        return size, size
    shortest = size if isinstance(size, int) else size["shortest_edge"]
    shortest = int(shortest / config["crop_pct"]) if "crop_pct" in config else shortest
    longest = int(shortest * max(height, width) / min(height, width))
    return (longest, shortest) if width <= height else (shortest, longest)


def cut_of(config: Mapping[str, Any]) -> tuple[int, int] | None:
    if "crop_pct" in config:
        return (config["size"]["shortest_edge"],) * 2
    cut = config.get("crop_size")
    return (cut, cut) if isinstance(cut, int) else (cut["height"], cut["width"]) if cut else None


def centre(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the centre, on a black picture that is at least as large; the larger half of an odd rest is before."""
    has_height, has_width = picture.shape[:2]
    room = np.zeros((max(height, has_height), max(width, has_width), 3))
    above, left = math.ceil((room.shape[0] - has_height) / 2), math.ceil((room.shape[1] - has_width) / 2)
    room[above : above + has_height, left : left + has_width] = picture
    top, begin = (has_height - height) // 2 + above, (has_width - width) // 2 + left
    return room[top : top + height, begin : begin + width]


@pytest.mark.parametrize("name", CONFIGS)
@given(height=st.integers(1, 300), width=st.integers(1, 300), seed=st.integers(0, 100))
@example(height=1, width=300, seed=0)
@example(height=300, width=7, seed=0)
@example(height=224, width=224, seed=0)
@settings(max_examples=15, deadline=None)
def test_inputs_equal_those_of_the_image_processor(name: str, height: int, width: int, seed: int) -> None:
    """They do for pictures of any size."""
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    made = pixels_of(picture[..., ::-1], pixels_from(CONFIGS[name]))
    assert made.dtype == np.float32
    assert np.abs(made[0] - reference(picture, CONFIGS[name])).max() <= 1e-5 * max(1, np.abs(made).max())


def test_the_file_of_the_shared_model_is_understood() -> None:
    """It lies beside EfficientNet-Lite0, and states (value - 127) / 128."""
    path = Path(__file__).resolve().parents[4] / "shared" / "models" / "lite0" / "preprocessor_config.json"
    if not path.exists():
        pytest.skip("the shared models are not here")
    picture = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
    made = pixels_of(picture[..., ::-1], pixels_from(json.loads(path.read_text())))
    assert np.allclose(made[0].transpose(1, 2, 0), (picture.astype(float) - 127) / 128, atol=1e-6)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"do_resize": False}, "pictures have many sizes"),
        ({"size": {"longest_edge": 224}}, "height"),
        ({"size": {"height": 346, "width": 346}, "crop_size": 289}, "without regard to their proportions"),
        ({"resample": 9}, "index out of range"),
    ],
)
def test_settings_that_would_give_other_inputs_are_refused(config: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(ModelError, match=f"preprocessor_config.json is not understood: .*{reason}"):
        pixels_from(config)
