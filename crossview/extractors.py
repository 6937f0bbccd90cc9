"""The base classes and helpers of extractors for the authors of packages, and the check of an extractor.

``check_extractor`` is for the tests of the package. Importing this module also imports OpenCV.
"""

from crossview.features.base import Extraction, FeatureRows, ImageExtractor, Labels, Part, QueryWords, TextExtractor
from crossview.features.checks import check_extractor
from crossview.features.errors import NotFittedError
from crossview.features.image import Image, check_image, grey

__all__ = [
    "Extraction",
    "FeatureRows",
    "Image",
    "ImageExtractor",
    "Labels",
    "NotFittedError",
    "Part",
    "QueryWords",
    "TextExtractor",
    "check_extractor",
    "check_image",
    "grey",
]
