"""The inputs of every extractor, known without OpenCV: clients of a server and descriptions of views need no more."""

from collections.abc import Mapping

from crossview.features.base import Input

INPUTS: Mapping[str, frozenset[Input]] = {
    "color": frozenset({"image"}),
    "lab": frozenset({"image"}),
    "sift": frozenset({"image"}),
    "forest": frozenset({"image"}),
    "gist": frozenset({"image"}),
    "text": frozenset({"text"}),
    "vectors": frozenset(),
}
"""Kinds of input by name of the extractor, except of a model, whose view has them as a parameter."""
MODEL = "onnx"
"""The name of the extractor by models."""
