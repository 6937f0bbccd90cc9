"""The extractors by name."""

import inspect
from collections.abc import Mapping
from typing import Any

from features.base import Extractor
from features.color import Color
from features.gist import Gist
from features.sift import Sift

EXTRACTORS: dict[str, type[Extractor]] = {"color": Color, "sift": Sift, "gist": Gist}


def extractor(name: str, params: Mapping[str, Any] | None = None) -> Extractor:
    """A new, unfitted extractor. ValueError lists the known ones for an unknown name or parameter."""
    if name not in EXTRACTORS:
        raise ValueError(f"no extractor {name!r}; there are: {', '.join(sorted(EXTRACTORS))}")
    chosen = EXTRACTORS[name]
    known = [] if chosen.__init__ is object.__init__ else list(inspect.signature(chosen).parameters)
    unknown = sorted(set(params or {}) - set(known))
    if unknown:
        there = f"it has: {', '.join(known)}" if known else "it has none"
        raise ValueError(f"extractor {name!r} has no parameter {', '.join(map(repr, unknown))}; {there}")
    return chosen(**(params or {}))
