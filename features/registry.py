"""The extractors by name, of crossview and of other installed packages."""

import inspect
from collections.abc import Mapping
from typing import Any

from crossview.features.base import READING, Extractor, ImageExtractor, TextExtractor
from crossview.features.color import Color
from crossview.features.conse import Conse
from crossview.features.contract import check_class, check_made
from crossview.features.forest import Forest
from crossview.features.gist import Gist
from crossview.features.installed import described, installed, load, package
from crossview.features.lab import Lab
from crossview.features.onnx import Onnx
from crossview.features.sift import Sift
from crossview.features.text import Text
from crossview.features.vectors import Vectors

EXTRACTORS: dict[str, type[Extractor]] = {
    kind.name: kind for kind in (Color, Conse, Lab, Sift, Forest, Gist, Onnx, Text, Vectors)
}
"""The extractors of crossview, whose names have precedence."""
_READING = "picture_reading"
"""The reading of pictures among the stored parameters of a view; views of earlier versions lack it, and have 0."""


def extractor_class(name: str) -> type[Extractor]:
    """Return the class of an extractor; only the package of this name is imported.

    Raises:
        ValueError: for an unknown name, listing the known ones; or if the class of another package cannot be loaded, or
            breaks the contract of extractors.
    """
    if name in EXTRACTORS:
        return EXTRACTORS[name]
    entries = installed("extractor")
    if name not in entries:
        raise ValueError(f"no extractor {name!r}; there are: {', '.join(extractor_names())}")
    loaded = load("extractor", entries[name], ImageExtractor, TextExtractor)
    try:
        check_class(loaded)
    except ValueError as error:
        raise ValueError(f"{described('extractor', entries[name])} is not a sound extractor: {error}") from error
    return loaded


def extractor_names() -> list[str]:
    """Return the names of all extractors, sorted; no package is imported."""
    return sorted({*EXTRACTORS, *installed("extractor")})


def package_of(name: str) -> str:
    """Return the package, with its version, that registers an extractor; "" for one of crossview itself."""
    entries = {} if name in EXTRACTORS else installed("extractor")
    return package(entries[name]) if name in entries else ""


def extractor(name: str, params: Mapping[str, Any] | None = None) -> Extractor:
    """Return a new, unfitted extractor.

    Raises:
        ValueError: for an unknown name, an unknown or missing parameter, or an extractor of another package that breaks
            the contract of extractors; TypeError and ValueError as its constructor.
    """
    return _made(extractor_class(name), params or {})


def stored_extractor(name: str, params: Mapping[str, Any]) -> Extractor:
    """Return the unfitted extractor of a stored view, perhaps of a version that lacked some of the parameters."""
    kind = extractor_class(name)
    settings = {**kind.earlier_params, **params}
    reading = settings.pop(_READING, 0)
    instance = _made(kind, settings)
    if isinstance(instance, ImageExtractor):
        if reading not in range(READING + 1):
            raise ValueError(f"it reads pictures as a later version does (reading {reading!r})")
        instance.reading = reading
    return instance


def stored_params(instance: Extractor) -> dict[str, Any]:
    """Return the parameters of an extractor as a view stores them, with the reading of its pictures."""
    return instance.params() | ({_READING: instance.reading} if isinstance(instance, ImageExtractor) else {})


def _made(kind: type[Extractor], params: Mapping[str, Any]) -> Extractor:
    name = kind.name
    accepted = {} if kind.__init__ is object.__init__ else dict(inspect.signature(kind).parameters)
    unknown = sorted(set(params) - set(accepted))
    if unknown:
        parameters = f"it has: {', '.join(accepted)}" if accepted else "it has none"
        raise ValueError(f"extractor {name!r} has no parameter {', '.join(map(repr, unknown))}; {parameters}")
    missing = [name for name, param in accepted.items() if param.default is param.empty and name not in params]
    if missing:
        raise ValueError(f"extractor {name!r} needs {', '.join(missing)}, such as {name}:{missing[0]}=512")
    if name in EXTRACTORS:
        return kind(**params)
    try:
        instance = kind(**params)
        check_made(instance)
    except (ValueError, TypeError):
        raise
    except Exception as error:  # the code of another package can raise anything
        raise ValueError(f"extractor {name!r} cannot be made: {type(error).__name__}: {error}") from error
    return instance
