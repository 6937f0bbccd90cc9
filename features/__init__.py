"""Pictures and texts to feature rows: safe decoding, and the extractors of the views.

Names are imported when they are first used, so that describing views or talking to a server loads no OpenCV.
Functions that are called as their module are imported from there: ``features.decode``, ``features.thumbnail``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from features.base import Extractor, ImageExtractor, Labels, TextExtractor
    from features.color import Color
    from features.decode import Picture
    from features.errors import (
        EmptyImageError,
        ImageError,
        ImageTooLargeError,
        NotAnImageError,
        NotFittedError,
        TruncatedImageError,
    )
    from features.forest import Forest
    from features.formats import KNOWN, SUFFIXES
    from features.gist import Gist
    from features.registry import EXTRACTORS, extractor
    from features.sift import Sift
    from features.text import Text

_MODULES = {
    "Extractor": "base",
    "ImageExtractor": "base",
    "Labels": "base",
    "TextExtractor": "base",
    "Color": "color",
    "Picture": "decode",
    "EmptyImageError": "errors",
    "ImageError": "errors",
    "ImageTooLargeError": "errors",
    "NotAnImageError": "errors",
    "NotFittedError": "errors",
    "TruncatedImageError": "errors",
    "Forest": "forest",
    "KNOWN": "formats",
    "SUFFIXES": "formats",
    "Gist": "gist",
    "EXTRACTORS": "registry",
    "extractor": "registry",
    "Sift": "sift",
    "Text": "text",
}

__all__ = [
    "EXTRACTORS",
    "KNOWN",
    "SUFFIXES",
    "Color",
    "EmptyImageError",
    "Extractor",
    "Forest",
    "Gist",
    "ImageError",
    "ImageExtractor",
    "ImageTooLargeError",
    "Labels",
    "NotAnImageError",
    "NotFittedError",
    "Picture",
    "Sift",
    "Text",
    "TextExtractor",
    "TruncatedImageError",
    "extractor",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
