"""Views by registered models: their extractors from specs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crossview.engine.catalog.model_rows import row_of_text
from crossview.engine.catalog.models import FOLDER, Models
from crossview.features.base import Input
from crossview.features.conse import TEMPERATURE, Conse
from crossview.features.inputs import MODELS
from crossview.features.models.extractor import ModelExtractor
from crossview.features.onnx import Onnx

if TYPE_CHECKING:
    from crossview.features.models.stored import Model

_OPTIONS: Mapping[str, tuple[str, ...]] = {Onnx.name: ("output", "rows"), Conse.name: ("temperature", "rows")}
"""The parameters of specs besides the names of models; the models state all others."""
_LIKE = {Onnx.name: f"{Onnx.name}:NAME", Conse.name: f"{Conse.name}:PICTURE_MODEL:TEXT_MODEL"}


def model_extractor(kind: str, params: Mapping[str, str], home: Path) -> ModelExtractor:
    """Return the extractor of a spec, whose registered models state digests, inputs and lengths of rows.

    Raises ValueError for an unknown or missing parameter, NotFoundError for an unknown model, ModelError.
    """
    names = (*MODELS[kind], *_OPTIONS[kind])
    if unknown := sorted(params.keys() - set(names)):
        raise ValueError(f"extractor {kind!r} has no parameter {unknown[0]!r}; it has: {', '.join(names)}")
    if not params.keys() >= set(MODELS[kind]):
        raise ValueError(f"extractor {kind!r} needs the name of each model, such as {_LIKE[kind]}")
    models = [Models(home).get(params[role]) for role in MODELS[kind]]
    return _onnx(models[0], params) if kind == Onnx.name else _conse(models[0], models[1], params, home)


def _onnx(model: "Model", params: Mapping[str, str]) -> Onnx:
    output, logits = params.get("output", ""), model.manifest.logits
    if output and output != logits:
        outputs = f"it has: {logits}" if logits else "it has none"
        raise ValueError(f"the model {model.name!r} has no other output {output!r}; {outputs}")
    inputs, dim = model.rows(output)
    return Onnx(model=model.name, digest=model.digest, inputs=inputs, dim=dim, output=output, rows=_rows(params))


def _conse(pictures: "Model", texts: "Model", params: Mapping[str, str], home: Path) -> Conse:
    """Return the extractor with the vectors of the class names, which the model of texts computes."""
    if not pictures.manifest.logits:
        raise ValueError(
            f"the model {pictures.name!r} names no classes: its folder needs classes.txt, a line for each, and its "
            "model an output logits"
        )
    if "text" not in texts.inputs:
        raise ValueError(f"the model {texts.name!r} has no tower for texts")
    extractor = Conse(
        pictures=pictures.name,
        texts=texts.name,
        digest=pictures.digest,
        texts_digest=texts.digest,
        dim=texts.manifest.towers["text"].dim,
        temperature=_number(params.get("temperature", str(TEMPERATURE))),
        rows=_rows(params),
    ).of(home / FOLDER)
    sentences = _onnx(texts, {}).of(home / FOLDER)
    vectors = [row_of_text(sentences, name) for name in extractor.towers[0].class_names()]
    return extractor.with_names(np.stack([vector for vector in vectors if vector is not None]))


def _rows(params: Mapping[str, str]) -> tuple[Input, ...]:
    """Return the inputs that the rows of items come from; () for all that the models accept."""
    words: Mapping[str, tuple[Input, ...]] = {"": (), "image": ("image",), "text": ("text",)}
    word = params.get("rows", "")
    if word not in words:
        raise ValueError(f"rows of items can come from image or text, not from {word!r}")
    return words[word]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"temperature must be a number, not {text!r}") from None
