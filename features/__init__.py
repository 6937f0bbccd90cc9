"""Pictures and texts to feature rows: safe decoding, and the extractors of the views."""

from features.base import Extractor, ImageExtractor, Input, Labels, TextExtractor
from features.color import Color
from features.decode import MAX_PIXELS, WORKING_SIDE, Picture, decode
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
from features.image import Image
from features.registry import EXTRACTORS, extractor
from features.sift import Sift
from features.text import Text
from features.thumbnail import thumbnail
from features.vectors import Vectors

__all__ = [
    "EXTRACTORS",
    "KNOWN",
    "MAX_PIXELS",
    "SUFFIXES",
    "WORKING_SIDE",
    "Color",
    "EmptyImageError",
    "Extractor",
    "Forest",
    "Gist",
    "Image",
    "ImageError",
    "ImageExtractor",
    "ImageTooLargeError",
    "Input",
    "Labels",
    "NotAnImageError",
    "NotFittedError",
    "Picture",
    "Sift",
    "Text",
    "TextExtractor",
    "TruncatedImageError",
    "Vectors",
    "decode",
    "extractor",
    "thumbnail",
]
