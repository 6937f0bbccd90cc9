"""The supported picture formats: those of Pillow, and HEIC if the package pillow-heif is installed."""

from functools import cache
from importlib.util import find_spec

from PIL import features

_ALWAYS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".mpo"),
    "PNG": (".png", ".apng"),
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


SIGNATURES = {
    "JPEG": (b"\xff\xd8\xff",),
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "BMP": (b"BM",),
    "GIF": (b"GIF87a", b"GIF89a"),
}
"""First bytes of files by the name of the format; WebP, AVIF and HEIC begin with a length or a container."""
HEAD_BYTES = 32
"""Number of bytes that state the format of a picture file."""
_BRANDS = (*((b"avif", b"avis") if _AVIF else ()), *((b"heic", b"heix", b"hevc", b"hevx", b"mif1") if _HEIC else ()))


def format_of(head: bytes) -> str:
    """Return the name of the format that the first ``HEAD_BYTES`` of a file state, among ``SIGNATURES``, or ""."""
    return next((name for name, signatures in SIGNATURES.items() if head.startswith(signatures)), "")


def begins_like_a_picture(head: bytes) -> bool:
    """Return whether the first ``HEAD_BYTES`` of a file are those of a supported format."""
    if head.startswith(SIGNATURES["BMP"]):
        return head[6:10] == bytes(4)  # a text can begin with BM
    container = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    return bool(format_of(head)) or container or (head[4:8] == b"ftyp" and head[8:12] in _BRANDS)


@cache
def formats() -> tuple[str, ...]:
    """Return the formats that Pillow may open, those of other packages registered with it."""
    if _HEIC:
        from pillow_heif import register_heif_opener

        register_heif_opener()
    return tuple(SUFFIXES_OF)
