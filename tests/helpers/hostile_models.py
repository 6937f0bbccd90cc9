"""Models that a home registers, because their first run is harmless, and that fail on some pictures and texts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tiny_models as tiny
from tiny_models import node, onnx, value, weights

BAD = "green"
"""The word that the models of texts fail on: no text of their first run has it."""
_ROUNDS, _SIDE = 2_000, 1_500
"""The multiplications of an endless run, and the side of their matrices: minutes on any machine."""


def failing_pictures(folder: Path) -> Path:
    """Write a model of pictures that overflows on bright colours, as models of half precision do."""
    tiny.picture_folder(folder)
    projection = np.random.default_rng(0).normal(size=(3, tiny.DIM)).astype(np.float32)
    nodes = [
        node("GlobalAveragePool", ["pixel_values"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("Mul", ["flat", "scale"], ["scaled"]),
        node("Exp", ["scaled"], ["grown"]),
        node("MatMul", ["grown", "projection"], ["image_embeds"]),
    ]
    held = [weights("projection", projection), weights("scale", np.array([100], np.float32))]
    side = [value("pixel_values", ["n", 3, tiny.SIDE, tiny.SIDE])]
    tiny.save(folder / "vision_model.onnx", nodes, side, [value("image_embeds", ["n", tiny.DIM])], held)
    return folder


def failing_texts(folder: Path) -> Path:
    """Write a model of texts that returns infinite numbers for a text with the word."""
    return _with_branch(tiny.text_folder(folder), [node("Div", ["plain", "zero"], ["rows"])])


def endless_texts(folder: Path) -> Path:
    """Write a model of texts that runs for minutes for a text with the word."""
    products = [node("MatMul", [f"m{n}" if n else "filled"] * 2, [f"m{n + 1}"]) for n in range(_ROUNDS)]
    nodes = [
        node("Expand", ["has", "shape"], ["filled"]),
        *products,
        node("ReduceMax", [f"m{_ROUNDS}"], ["most"], keepdims=0),
        node("Add", ["plain", "most"], ["rows"]),
    ]
    return _with_branch(tiny.text_folder(folder), nodes)


def greedy_texts(folder: Path, numbers: int) -> Path:
    """Write a model of texts that takes four bytes for each of many numbers for a text with the word."""
    nodes = [
        node("Expand", ["has", "many"], ["filled"]),
        node("ReduceMax", ["filled"], ["most"], keepdims=0),
        node("Add", ["plain", "most"], ["rows"]),
    ]
    return _with_branch(tiny.text_folder(folder), nodes, [weights("many", np.array([numbers], np.int64))])


def other_lengths(folder: Path) -> Path:
    """Write a model of texts whose rows are longer for a text with the word."""
    return _with_branch(tiny.text_folder(folder), [node("Concat", ["plain", "plain"], ["rows"], axis=2)])


def endless_tokens(folder: Path) -> Path:
    """Write a model of texts whose tokenizer looks for an expression in a text of many ``a`` for hours."""
    tiny.text_folder(folder)
    stated = json.loads((folder / "tokenizer.json").read_text())
    stated["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"Regex": "(?:a|a){1,20}b"},
        "behavior": "Isolated",
        "invert": False,
    }
    (folder / "tokenizer.json").write_text(json.dumps(stated))
    return folder


def _with_branch(folder: Path, nodes: Sequence[Any], more: Sequence[Any] = ()) -> Path:
    """Replace the graph of a model of texts: other nodes compute ``rows`` from ``plain`` for a text with the word."""
    vectors = np.random.default_rng(1).normal(size=(len(tiny.WORDS), tiny.DIM)).astype(np.float32)
    held = [
        weights("vectors", vectors),
        weights("word", np.array(tiny.WORDS.index(BAD), np.int64)),
        weights("zero", np.array(0, np.float32)),
        weights("shape", np.array([_SIDE, _SIDE], np.int64)),
        *more,
    ]
    branches = {
        "then_branch": onnx.helper.make_graph(list(nodes), "bad", [], [value("rows", ["n", "t", "d"])]),
        "else_branch": onnx.helper.make_graph(
            [node("Identity", ["plain"], ["same"])], "good", [], [value("same", ["n", "t", "d"])]
        ),
    }
    graph = [
        node("Gather", ["vectors", "input_ids"], ["plain"]),
        node("Equal", ["input_ids", "word"], ["equal"]),
        node("Cast", ["equal"], ["one"], to=onnx.TensorProto.FLOAT),
        node("ReduceMax", ["one"], ["has"], keepdims=0),
        node("Cast", ["has"], ["bad"], to=onnx.TensorProto.BOOL),
        node("If", ["bad"], ["last_hidden_state"], **branches),
    ]
    ids = [value("input_ids", ["n", "t"], onnx.TensorProto.INT64)]
    tiny.save(folder / "text_model.onnx", graph, ids, [value("last_hidden_state", ["n", "t", "d"])], held)
    return folder
