"""The benchmark of models times all methods in turn, compares their rows, and writes its report."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny
from drawn import write_pictures
from tiny_models import node, value, weights

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from benchmarks.speed import models as speed


def lite0(folder: Path) -> None:
    """Write a model with the inputs, outputs and files of EfficientNet-Lite0."""
    projection = np.random.default_rng(0).normal(size=(3, tiny.DIM)).astype(np.float32)
    nodes = [
        node("GlobalAveragePool", ["pixels"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("MatMul", ["flat", "projection"], ["embedding"]),
    ]
    inputs, outputs = [value("pixels", ["n", 3, 224, 224])], [value("embedding", ["n", tiny.DIM])]
    tiny.save(folder / "model.onnx", nodes, inputs, outputs, [weights("projection", projection)])
    (folder / "classes.txt").write_text("red dog\ngreen snow\nred\nsnow\n")
    config = {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}, "resample": 3}
    config |= {"rescale_factor": 1 / 255, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(config))


def minilm(folder: Path) -> None:
    """Write a model with the inputs and outputs of all-MiniLM-L6-v2."""
    tiny.text_folder(folder, "unused.onnx")
    vectors = np.random.default_rng(1).normal(size=(len(tiny.WORDS), tiny.DIM)).astype(np.float32)
    nodes = [
        node("Add", ["input_ids", "token_type_ids"], ["first"]),
        node("Mul", ["first", "attention_mask"], ["ids"]),
        node("Gather", ["vectors", "ids"], ["last_hidden_state"]),
    ]
    kind = tiny.onnx.TensorProto.INT64
    inputs = [value(name, ["n", "t"], kind) for name in ("input_ids", "attention_mask", "token_type_ids")]
    outputs = [value("last_hidden_state", ["n", "t", tiny.DIM])]
    tiny.save(folder / "model.onnx", nodes, inputs, outputs, [weights("vectors", vectors)])


def test_a_small_run_writes_figures_and_promises(tmp_path: Path) -> None:
    lite0(tmp_path / "models" / "lite0")
    minilm(tmp_path / "models" / "minilm")
    write_pictures(tmp_path / "data" / "images", 1)
    out = tmp_path / "a.json"
    where = ("--data", tmp_path / "data", "--models", tmp_path / "models", "--json", out, "--report", tmp_path)
    assert speed.BENCHMARK.main([*map(str, where), "--limit", "3", "--turns", "1"]) == 0
    found = {(row["method"], row["metric"]): row["value"] for row in json.loads(out.read_text())["rows"]}
    assert {key for _, _, key, _ in speed.PROMISES} <= found.keys()
    assert all(found[speed.OURS, f"largest difference of rows, {what}"] <= 1e-5 for what in ("picture", "sentence"))
    assert found[speed.KEPT, "ms a picture"] > 0
    assert "| largest difference of a picture's row |" in (tmp_path / "model-speed.md").read_text()


def test_methods_take_turns_and_a_kept_row_comes_after_its_computation() -> None:
    """Each input is first for another method, and the largest difference is that of any method from the bare loop."""
    seen: list[str] = []

    def way(name: str, error: float) -> Callable[[int], np.ndarray]:
        return lambda given: seen.append(f"{name}{given}") or np.array([given, given + error])

    def ours(turn: str) -> dict[str, Callable[[int], np.ndarray]]:
        return {speed.OURS: way("ours", 0.25), speed.WHOLE: way("whole", 0.5)}

    spent, most = speed.timed([1, 2, 3], way("bare", 0), ours, turns=2)
    assert most == 0.5
    assert {name: len(times) for name, times in spent.items()} == dict.fromkeys(spent, 6)
    assert spent.keys() == {speed.BARE, speed.OURS, speed.KEPT, speed.WHOLE}
    assert seen[3:7] == ["bare1", "ours1", "whole1", "ours1"]
    assert seen[7:15] == ["ours2", "whole2", "bare2", "ours2", "whole3", "bare3", "ours3", "ours3"]
