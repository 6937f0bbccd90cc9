"""The supported picture formats: those of Pillow, and HEIC if the package pillow-heif is installed."""

from functools import cache
from importlib.util import find_spec

from PIL import features

_ALWAYS = {
    "JPEG": (".jpg", ".jpeg", ".jpe"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "BMP": (".bmp",),
    "GIF": (".gif",),
}
_AVIF = {"AVIF": (".avif",)} if features.check("avif") else {}
_HEIC = {"HEIF": (".heic", ".heif", ".hif")} if find_spec("pillow_heif") else {}

SUFFIXES_OF = {**_ALWAYS, **_AVIF, **_HEIC}
"""Suffixes of file names by Pillow's name of the format."""
SUFFIXES = frozenset(suffix for suffixes in SUFFIXES_OF.values() for suffix in suffixes)
"""Suffixes of the names of picture files."""
KNOWN = "JPEG, PNG, WebP, TIFF, BMP, GIF" + (", AVIF" if _AVIF else "") + (", HEIC" if _HEIC else "")
"""The names of the formats, for messages."""


@cache
def formats() -> tuple[str, ...]:
    """Return the formats that Pillow may open, those of other packages registered with it."""
    if _HEIC:
        from pillow_heif import register_heif_opener

        register_heif_opener()
    return tuple(SUFFIXES_OF)
