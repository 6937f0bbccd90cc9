"""Colour profiles: what the pixels of a picture mean, by the ICC profile in its file, as colours of sRGB."""

import io
import struct
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageCms, ImageFile

_GREY = ("1", "L", "LA", "La", "I", "F")
_CAMERA, _SPACE, _SRGB = 0x8769, 0xA001, 1
"""The directory of EXIF data with the colour space, its tag, and its value for sRGB."""
_VERSION = 0x02100000
_INTEROPERABILITY = 0xA005
"""The directory of EXIF data whose first tag is R03 for Adobe RGB (DCF 2.0)."""
_LEVELS = (0, 51, 102, 153, 204, 255)
_SAME = 2
"""Greatest difference, of 255 levels, of a colour in a profile that counts as sRGB itself."""
_MAX_BYTES = 1 << 23
"""Maximum size of a profile; those of printers have up to some megabytes."""


@dataclass(frozen=True)
class Profile:
    """The ICC profile of a picture whose colours are not those of sRGB.

    Colours are relative to the white of the paper or screen, and black becomes black, as most programs show them.
    """

    mode: str
    """Pillow's mode of the pixels: L, RGB or CMYK."""
    transform: ImageCms.ImageCmsTransform

    @classmethod
    def of(cls, opened: ImageFile.ImageFile) -> "Profile | None":
        """Return the profile of an opened picture, or Adobe RGB if its EXIF data state this, as cameras write it.

        None without one, for sRGB, and for one that is damaged or describes pixels of another kind, as other programs
        ignore these.
        """
        data = opened.info.get("icc_profile") or (_adobe_rgb() if _is_adobe_rgb(opened) else None)
        if not isinstance(data, bytes) or not 0 < len(data) <= _MAX_BYTES or opened.mode == "LAB":
            return None
        is_grey = opened.mode in _GREY or opened.mode.startswith("I;16")
        mode = "CMYK" if opened.mode == "CMYK" else "L" if is_grey else "RGB"
        transform = _transform(data, mode)
        return None if transform is None else cls(mode, transform)

    def applied(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return pixels of the mode, (height, width) or (height, width, channels), as (height, width, 3) RGB."""
        return np.asarray(ImageCms.applyTransform(Pillow.fromarray(pixels, self.mode), self.transform), np.uint8)


def _is_adobe_rgb(opened: ImageFile.ImageFile) -> bool:
    """Return whether EXIF data of a JPEG state Adobe RGB, and not at the same time sRGB."""
    if opened.format not in ("JPEG", "MPO"):
        return False
    try:
        tags = opened.getexif()
        return tags.get_ifd(_INTEROPERABILITY).get(1) == "R03" and tags.get_ifd(_CAMERA).get(_SPACE) != _SRGB
    except Exception:  # noqa: BLE001  # damaged EXIF data end in any exception
        return False


@lru_cache(maxsize=1)
def _adobe_rgb() -> bytes:
    """Return an ICC profile of Adobe RGB (1998), as its specification gives the primaries and the gamma of 563/256."""
    white, red, green, blue = (  # X, Y and Z under the light D50, in units of 1/65536
        *((63190, 65536, 54061), (39960, 20389, 1276)),
        *((13453, 41003, 3989), (9777, 4143, 48796)),
    )
    colours = {b"wtpt": white, b"rXYZ": red, b"gXYZ": green, b"bXYZ": blue}
    tags = {name: b"XYZ " + bytes(4) + struct.pack(">3i", *value) for name, value in colours.items()}
    tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), b"curv" + bytes(4) + struct.pack(">IHH", 1, 563, 0))
    table, body, start = struct.pack(">I", len(tags)), b"", 128 + 4 + 12 * len(tags)
    for name, value in tags.items():
        table += name + struct.pack(">2I", start + len(body), len(value))
        body += value
    kinds = b"mntr", b"RGB ", b"XYZ ", b"acsp"
    header = struct.pack(">I4xI4s4s4s12x4s28x3i", start + len(body), _VERSION, *kinds, *white)
    return header.ljust(128, b"\0") + table + body


@lru_cache(maxsize=8)
def _transform(data: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return the transform of pixels to sRGB by an ICC profile; None if there is none, or if it changes no colour."""
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(data))
        transform = ImageCms.buildTransform(
            *(profile, _srgb(), mode, "RGB", ImageCms.Intent.RELATIVE_COLORIMETRIC),
            flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
        )
    except Exception:  # noqa: BLE001  # damaged profiles, and those of another colour model, end in any exception
        return None
    if mode == "CMYK":
        return transform
    levels = np.array(_LEVELS, np.uint8)
    probe = levels[None] if mode == "L" else np.stack(np.meshgrid(levels, levels, levels), -1).reshape(1, -1, 3)
    converted = np.asarray(ImageCms.applyTransform(Pillow.fromarray(probe, mode), transform), np.int16)
    original = np.repeat(probe[:, :, None], 3, 2) if mode == "L" else probe
    return None if np.abs(converted - original).max() <= _SAME else transform


@lru_cache(maxsize=1)
def _srgb() -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
