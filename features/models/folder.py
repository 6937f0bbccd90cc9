"""A folder with a model: in the layouts of Hugging Face, or with a small TOML file that states what it is."""

import json
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from crossview.features.base import Input
from crossview.features.errors import ModelError
from crossview.features.files import open_regular
from crossview.features.models.graph import MOST_BYTES, Graph, read_graph
from crossview.features.models.manifest import (
    MOST_TOKENS,
    POOLINGS,
    RESAMPLINGS,
    Manifest,
    Pixels,
    Pooling,
    Tokens,
    Tower,
)

STATEMENT = "crossview.toml"
"""The file that states a model of another layout."""
_GRAPHS: Mapping[str, tuple[Input, ...]] = {
    "vision_model.onnx": ("image",),
    "text_model.onnx": ("text",),
    "model.onnx": ("image", "text"),
}
"""The files with towers, and the towers that each can have."""
_FOLDERS = ("", "onnx")
_PICTURE_INPUTS = ("pixel_values", "pixels", "images", "image", "input")
_TEXT_INPUTS = {"ids": "input_ids", "mask": "attention_mask", "types": "token_type_ids"}
_OUTPUTS: Mapping[Input, tuple[str, ...]] = {
    "image": ("image_embeds", "embedding", "embeddings", "pooler_output", "features", "last_hidden_state"),
    "text": ("text_embeds", "sentence_embedding", "embedding", "embeddings", "pooler_output", "last_hidden_state"),
}
"""Names of outputs, the best first."""
_TOKENS = "last_hidden_state"
"""The output with a vector for each token."""
_LOGITS = "logits"
_LICENCE_SHOWN = 200
"""Maximum number of characters of a licence's first line."""
_CLASSES, _TOKENIZER, _LICENCES = "classes.txt", "tokenizer.json", ("LICENSE", "LICENSE.txt", "LICENCE", "LICENSE.md")
_MOST_TEXT_BYTES = 32 << 20
_PADDED = frozenset({"siglip", "siglip2"})
"""Models that learned from texts of one length."""
_LONGEST = 512
_UNCUT = 384
"""Side of an input from which ``crop_pct`` has no meaning."""


@dataclass(frozen=True)
class Folder:
    """A folder with a model, inside which all its files are."""

    path: Path

    def has(self, name: str) -> bool:
        """Return whether there is a file."""
        return (self.path / name).is_file()

    def inside(self, name: str) -> Path:
        """Return the path of a file; ModelError if a link or a name leads out of the folder."""
        path = (self.path / name).resolve()
        if not path.is_relative_to(self.path.resolve()):
            raise ModelError(
                f"{name} leads out of the folder of the model; if it is a link, as in a cache of Hugging Face, copy "
                f"the files themselves, for example with: cp -RL {shlex.quote(str(self.path))} NEW"
            )
        return path

    def read(self, name: str, most: int = _MOST_TEXT_BYTES) -> bytes:
        """Return the content of a file inside the folder; ModelError."""
        path = self.inside(name)
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                if size > most:
                    raise ModelError(f"{name} has {size:,} bytes, and may have at most {most:,}")
                return file.read()
        except OSError as error:
            raise ModelError(f"{name} cannot be read: {error.strerror or error}") from error

    def json(self, name: str) -> dict[str, Any]:
        """Return the object in a JSON file; {} without the file; ModelError."""
        if not self.has(name):
            return {}
        try:
            content = json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{name} is not JSON: {error}") from error
        if not isinstance(content, dict):
            raise ModelError(f"{name} must contain an object")
        return content

    def graph(self, name: str) -> Graph:
        """Return the content of an ONNX file; ModelError names the file."""
        try:
            return read_graph(self.read(name, MOST_BYTES))
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from error


def read_folder(path: Path) -> Manifest:
    """Return what the model of a folder is, without running it; lengths of rows are 0. Raises ModelError."""
    if not path.is_dir():
        raise ModelError(f"{path} is not a folder")
    folder = Folder(path)
    towers = _stated(folder) if folder.has(STATEMENT) else _recognised(folder)
    if not towers:
        raise ModelError(
            "the folder has no model in a known layout: it needs model.onnx, vision_model.onnx or text_model.onnx, in "
            f"the folder itself or in its folder onnx/, or {STATEMENT}, which states where the model is"
        )
    outputs = folder.graph(towers["image"].file).outputs if "image" in towers else ()
    with_classes = folder.has(_CLASSES) and _LOGITS in outputs
    return Manifest(
        towers,
        shared=len(towers) > 1,
        licence=_licence(folder),
        classes=_CLASSES if with_classes else "",
        logits=_LOGITS if with_classes else "",
    )


def _recognised(folder: Folder) -> dict[Input, Tower]:
    """Return the towers of a folder in a layout of Hugging Face."""
    towers: dict[Input, Tower] = {}
    for name, kinds in _GRAPHS.items():
        file = next((place for base in _FOLDERS if folder.has(place := f"{base}/{name}".lstrip("/"))), None)
        if file is None or not set(kinds) - set(towers):
            continue
        graph = folder.graph(file)
        for kind in kinds:
            tower = _picture_tower(folder, file, graph) if kind == "image" else _text_tower(folder, file, graph)
            if kind not in towers and tower is not None:
                towers[kind] = tower
    return towers


def _picture_tower(folder: Folder, file: str, graph: Graph) -> Tower | None:
    name = next((input_name for input_name in _PICTURE_INPUTS if input_name in graph.inputs), None)
    further = [input_name for input_name in graph.inputs if input_name != name]
    if name is None:
        return None
    if further:
        raise ModelError(f"{file} also needs {', '.join(further)}: export the tower for pictures as vision_model.onnx")
    config = folder.json("preprocessor_config.json")
    if not config:
        raise ModelError("the folder has no preprocessor_config.json, which states how pictures become its input")
    output = _best(graph, "image")
    kind = str(folder.json("config.json").get("model_type", ""))
    pooling: Pooling = "none" if output != _TOKENS else "mean" if kind in ("siglip", "beit") else "first"
    return Tower(file, {"pixels": name}, output, pooling, 0, pixels=pixels_from(config))


def _text_tower(folder: Folder, file: str, graph: Graph) -> Tower | None:
    if _TEXT_INPUTS["ids"] not in graph.inputs:
        return None
    inputs = {role: name for role, name in _TEXT_INPUTS.items() if name in graph.inputs}
    further = [input_name for input_name in graph.inputs if input_name not in inputs.values()]
    if further:
        raise ModelError(f"{file} also needs {', '.join(further)}: export the tower for texts as text_model.onnx")
    if not folder.has(_TOKENIZER):
        raise ModelError(f"the folder has no {_TOKENIZER}, which states how texts become its input")
    pooled = folder.json("1_Pooling/config.json")
    output = _TOKENS if pooled and _TOKENS in graph.outputs else _best(graph, "text")
    pooling: Pooling = "none" if output != _TOKENS else "first" if pooled.get("pooling_mode_cls_token") else "mean"
    return Tower(file, inputs, output, pooling, 0, tokens=_tokens(folder))


def _best(graph: Graph, kind: Input) -> str:
    return next((output for output in _OUTPUTS[kind] if output in graph.outputs), graph.outputs[0])


def pixels_from(config: Mapping[str, Any]) -> Pixels:
    """Return how pictures become inputs by the settings of an image processor; ModelError for unknown ones."""
    try:
        (height, width), shortest = _cut(config)
        plain = config.get("do_normalize") is False
        return Pixels(
            height=height,
            width=width,
            shortest=shortest,
            resampling=RESAMPLINGS[int(config.get("resample", 3))],
            scale=float(config.get("rescale_factor", 1 / 255)) if config.get("do_rescale", True) else 1.0,
            mean=(0.0,) * 3 if plain else tuple(map(float, config.get("image_mean", (0.5,) * 3))),
            std=(1.0,) * 3 if plain else tuple(map(float, config.get("image_std", (0.5,) * 3))),
        )
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise ModelError(f"preprocessor_config.json is not understood: {error}") from error


def _cut(config: Mapping[str, Any]) -> tuple[tuple[int, int], int]:
    """Return the size of the input, and the length of the shorter side before cutting; 0 for any proportions."""
    if not config.get("do_resize", True):
        raise ValueError("do_resize is false, but pictures have many sizes, and a model has one")
    stated, crop = config.get("size", 224), config.get("crop_size")
    size, by_shortest = _sides(stated), isinstance(stated, dict) and "shortest_edge" in stated
    if crop and config.get("do_center_crop", True):
        cut = _sides(crop)
        if isinstance(stated, dict) and not by_shortest and size != cut:
            raise ValueError(f"it cuts pictures that were resized to {size} without regard to their proportions")
        return cut, size[0] if by_shortest or not isinstance(stated, dict) else 0
    if by_shortest and config.get("crop_pct"):  # ConvNeXt's: a share of the picture, or the whole for large inputs
        return size, int(size[0] / float(config["crop_pct"])) if size[0] < _UNCUT else 0
    return size, size[0] if by_shortest else 0


def _sides(size: Any) -> tuple[int, int]:
    """Return the height and the width that a setting states."""
    if isinstance(size, dict):
        both = (size["shortest_edge"],) * 2 if "shortest_edge" in size else (size["height"], size["width"])
    else:
        both = (size, size)
    return int(both[0]), int(both[1])


def _tokens(folder: Folder) -> Tokens:
    config, tokenizer = folder.json("config.json"), folder.json("tokenizer_config.json")
    of_text = config.get("text_config") or config
    lengths = [
        folder.json("sentence_bert_config.json").get("max_seq_length"),
        tokenizer.get("model_max_length"),
        of_text.get("max_position_embeddings"),
    ]
    longest = min([length for length in lengths if isinstance(length, int) and 0 < length <= MOST_TOKENS] or [_LONGEST])
    padded = longest if str(config.get("model_type", "")) in _PADDED else 0
    return Tokens(_TOKENIZER, longest, padded, int(of_text.get("pad_token_id") or 0))


def _stated(folder: Folder) -> dict[Input, Tower]:
    """Return the towers that the TOML file states."""
    try:
        stated = tomllib.loads(folder.read(STATEMENT).decode())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{STATEMENT} is not TOML: {error}") from error
    towers: dict[Input, Tower] = {}
    for kind in ("image", "text"):
        if (part := stated.pop(kind, None)) is not None:
            towers[kind] = _stated_tower(kind, part)
    if stated:
        raise ModelError(f"{STATEMENT} has an unknown part {next(iter(stated))!r}; it can have image and text")
    return towers


def _stated_tower(kind: str, stated: Any) -> Tower:
    values = dict(stated) if isinstance(stated, dict) else {}
    special = Pixels if kind == "image" else Tokens
    own = {field.name for field in fields(special)} - {"file"}
    inner = {name: values.pop(name) for name in list(values) if name in own}
    inner = {name: tuple(value) if isinstance(value, list) else value for name, value in inner.items()}
    try:
        pooling = values.pop("pooling", "none")
        if pooling not in POOLINGS:
            raise ValueError(f"pooling is {', '.join(POOLINGS)}, not {pooling!r}")
        if kind == "image":
            rest: dict[str, Any] = {"inputs": {"pixels": values.pop("input")}, "pixels": Pixels(**inner)}
        else:
            rest = {"inputs": values.pop("inputs"), "tokens": Tokens(file=values.pop("tokenizer", _TOKENIZER), **inner)}
        file, output, inputs = values.pop("file"), values.pop("output"), rest["inputs"]
        if not all(isinstance(value, str) for value in (file, output, *inputs.values())):
            raise ValueError("file, output and the names of inputs are texts")
        if kind == "text" and not {"ids"} <= inputs.keys() <= _TEXT_INPUTS.keys():
            raise ValueError(f"inputs name ids, and perhaps mask and types, not {', '.join(inputs)}")
        return Tower(file=file, output=output, pooling=pooling, dim=0, **rest, **values)
    except KeyError as error:
        raise ModelError(f"{STATEMENT}: the part {kind} lacks {error}") from error
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ModelError(f"{STATEMENT}: the part {kind} is not understood: {error}") from error


def _licence(folder: Folder) -> str:
    for name in _LICENCES:
        if folder.has(name):
            lines = map(str.strip, folder.read(name).decode(errors="replace").splitlines())
            return next(filter(None, lines), "")[:_LICENCE_SHOWN]
    return ""


def files_of(manifest: Manifest) -> Sequence[str]:
    """Return the names of the files of a model, sorted."""
    names = {tower.file for tower in manifest.towers.values()}
    names |= {tower.tokens.file for tower in manifest.towers.values() if tower.tokens is not None}
    return sorted(names | ({manifest.classes} if manifest.classes else set()))
