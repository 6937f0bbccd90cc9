"""The inputs of every extractor, known without OpenCV: clients of a server and descriptions of views need no more."""

from collections.abc import Mapping
from typing import Any

from crossview.features.base import Input

INPUTS: Mapping[str, frozenset[Input]] = {
    "color": frozenset({"image"}),
    "lab": frozenset({"image"}),
    "sift": frozenset({"image"}),
    "forest": frozenset({"image"}),
    "gist": frozenset({"image"}),
    "text": frozenset({"text"}),
    "vectors": frozenset(),
    "conse": frozenset({"image", "text"}),
}
"""Kinds of input by name of the extractor, except of ``onnx``, whose views have them as a parameter."""
MODELS: Mapping[str, tuple[str, ...]] = {"onnx": ("model",), "conse": ("pictures", "texts")}
"""The extractors by models, with the parameters that name the models, in the order of a spec."""


def models_of(extractor: str, params: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the digests of the models that compute a view's rows, by their names when the view was made."""
    digests = {"model": "digest", "pictures": "digest", "texts": "texts_digest"}
    return {params[role]: params[digests[role]] for role in MODELS.get(extractor, ())}


def space_of(extractor: str, params: Mapping[str, Any]) -> str:
    """Return the name of the space that a view's rows share with those of texts; "" for rows that share none."""
    if extractor not in MODELS or "text" not in params.get("inputs", ("text",)):
        return ""
    return str(params.get("texts_digest", params["digest"]))
