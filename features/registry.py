"""The extractors by name."""

import inspect
from collections.abc import Mapping
from typing import Any

from crossview.features.base import Extractor
from crossview.features.color import Color
from crossview.features.forest import Forest
from crossview.features.gist import Gist
from crossview.features.lab import Lab
from crossview.features.onnx import Onnx
from crossview.features.sift import Sift
from crossview.features.text import Text
from crossview.features.vectors import Vectors

EXTRACTORS: dict[str, type[Extractor]] = {
    one.name: one for one in (Color, Lab, Sift, Forest, Gist, Onnx, Text, Vectors)
}


def extractor(name: str, params: Mapping[str, Any] | None = None) -> Extractor:
    """Return a new, unfitted extractor; ValueError for an unknown name, or an unknown or missing parameter."""
    if name not in EXTRACTORS:
        raise ValueError(f"no extractor {name!r}; there are: {', '.join(sorted(EXTRACTORS))}")
    chosen = EXTRACTORS[name]
    known = {} if chosen.__init__ is object.__init__ else dict(inspect.signature(chosen).parameters)
    unknown = sorted(set(params or {}) - set(known))
    if unknown:
        parameters = f"it has: {', '.join(known)}" if known else "it has none"
        raise ValueError(f"extractor {name!r} has no parameter {', '.join(map(repr, unknown))}; {parameters}")
    missing = [name for name, one in known.items() if one.default is one.empty and name not in (params or {})]
    if missing:
        raise ValueError(f"extractor {name!r} needs {', '.join(missing)}, such as {name}:{missing[0]}=512")
    return chosen(**(params or {}))


def stored_extractor(name: str, params: Mapping[str, Any]) -> Extractor:
    """Return the unfitted extractor of a stored view, perhaps of a version that lacked some of the parameters."""
    earlier = EXTRACTORS[name].earlier_params if name in EXTRACTORS else {}
    return extractor(name, {**earlier, **params})
