"""Models with half precision and with weights of 8 bits make the rows of single precision that their graphs state."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models as tiny
from drawn import draw
from tiny_models import node, onnx, value, weights

from crossview.features.models.folder import read_folder
from crossview.features.models.session import open_session, pixels_of, row_of_picture

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
IMAGE = draw("green", 5)
FULL = np.random.default_rng(2).normal(size=(3, tiny.DIM)).astype(np.float32)
SCALE = np.float32(np.abs(FULL).max() / 127)
WHOLE = np.round(FULL / SCALE).astype(np.int8)
"""The weights in 8 bits."""
MEAN = [node("GlobalAveragePool", ["pixel_values"], ["mean"]), node("Flatten", ["mean"], ["flat"])]


def row(folder: Path, nodes: Sequence[Any], held: Sequence[Any], kind: Any = onnx.TensorProto.FLOAT) -> Any:
    """Return the row of the picture, and the mean colour that the model gets."""
    tiny.picture_folder(folder)
    side = [value("pixel_values", ["n", 3, tiny.SIDE, tiny.SIDE], kind)]
    tiny.save(folder / "vision_model.onnx", [*MEAN, *nodes], side, [value("image_embeds", ["n", tiny.DIM], kind)], held)
    tower = read_folder(folder).towers["image"]
    made = row_of_picture(open_session((folder / tower.file).read_bytes()), tower, IMAGE)
    assert made.dtype == np.float32
    assert tower.pixels is not None
    return made, pixels_of(IMAGE, tower.pixels).mean(axis=(0, 2, 3))


def test_inputs_of_half_precision(tmp_path: Path) -> None:
    half = [weights("w", FULL.astype(np.float16))]
    made, mean = row(tmp_path, [node("MatMul", ["flat", "w"], ["image_embeds"])], half, onnx.TensorProto.FLOAT16)
    assert np.allclose(made, mean @ FULL, atol=0.01)


def test_weights_of_8_bits(tmp_path: Path) -> None:
    """The error is at most half a step for each colour: onnxruntime may round the activations to 8 bits, too."""
    nodes = [node("DequantizeLinear", ["w", "scale"], ["full"]), node("MatMul", ["flat", "full"], ["image_embeds"])]
    made, mean = row(tmp_path, nodes, [weights("w", WHOLE), weights("scale", SCALE)])
    half_step = np.abs(mean).max() / 127 / 2
    assert (np.abs(made - mean @ (WHOLE * SCALE)) <= half_step * np.abs(WHOLE * SCALE).sum(axis=0) + 1e-6).all()


def test_products_of_8_bits(tmp_path: Path) -> None:
    """The error is at most a step for each of the three colours: the activations have 8 bits, too."""
    nodes = [
        node("DynamicQuantizeLinear", ["flat"], ["q", "step", "zero"]),
        node("MatMulInteger", ["q", "w", "zero"], ["whole"]),
        node("Cast", ["whole"], ["number"], to=onnx.TensorProto.FLOAT),
        node("Mul", ["number", "step"], ["partly"]),
        node("Mul", ["partly", "scale"], ["image_embeds"]),
    ]
    made, mean = row(tmp_path, nodes, [weights("w", WHOLE), weights("scale", SCALE)])
    step = (max(0, mean.max()) - min(0, mean.min())) / 255
    assert (np.abs(made - mean @ (WHOLE * SCALE)) <= step * np.abs(WHOLE * SCALE).sum(axis=0) + 1e-6).all()


def test_activations_of_8_bits(tmp_path: Path) -> None:
    """QuantizeLinear and DequantizeLinear surround a product, as exporters write them."""
    nodes = [
        node("QuantizeLinear", ["flat", "step", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "step", "zero"], ["rounded"]),
        node("DequantizeLinear", ["w", "scale"], ["full"]),
        node("MatMul", ["rounded", "full"], ["image_embeds"]),
    ]
    step = np.float32(1 / 64)
    held = [weights("w", WHOLE), weights("scale", SCALE), weights("step", step), weights("zero", np.int8(0))]
    made, mean = row(tmp_path, nodes, held)
    assert np.allclose(made, np.clip(np.round(mean / step), -128, 127) * step @ (WHOLE * SCALE), atol=1e-5)
