"""Images to feature rows: safe decoding, and the extractors of the colour, SIFT and GIST views."""

from features.base import Extractor
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
from features.gist import Gist
from features.image import Image
from features.registry import EXTRACTORS, extractor
from features.sift import Sift
from features.thumbnail import thumbnail

__all__ = [
    "EXTRACTORS",
    "MAX_PIXELS",
    "WORKING_SIDE",
    "Color",
    "EmptyImageError",
    "Extractor",
    "Gist",
    "Image",
    "ImageError",
    "ImageTooLargeError",
    "NotAnImageError",
    "NotFittedError",
    "Picture",
    "Sift",
    "TruncatedImageError",
    "decode",
    "extractor",
    "thumbnail",
]
