"""Pixel modes: every mode Pillow decodes to, as 8-bit BGR."""

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from features.image import Image

_NUMERIC = ("I", "F")


def to_bgr(opened: Pillow.Image) -> Image:
    """The loaded picture as (height, width, 3) BGR uint8, C-contiguous, with transparency laid on white."""
    mode = opened.mode
    if mode.startswith("I;16"):
        return _grey_to_bgr(_from_16_bits(opened))
    if mode in _NUMERIC:
        return _grey_to_bgr(_from_numbers(np.asarray(opened)))
    if mode == "LAB":
        return np.asarray(cv2.cvtColor(np.asarray(opened), cv2.COLOR_LAB2BGR), dtype=np.uint8)
    if mode == "CMYK" and opened.format == "JPEG" and "adobe" not in opened.info:
        # Pillow undoes Adobe's inversion of every CMYK JPEG; one without Adobe's marker was never inverted.
        opened = Pillow.fromarray(255 - np.asarray(opened), "CMYK")
    if opened.has_transparency_data:
        opened = _on_white(opened)
    if mode in ("1", "L") and opened.mode in ("1", "L"):
        return _grey_to_bgr(np.asarray(opened.convert("L")))
    return np.asarray(cv2.cvtColor(np.asarray(opened.convert("RGB")), cv2.COLOR_RGB2BGR), dtype=np.uint8)


def _on_white(opened: Pillow.Image) -> Pillow.Image:
    layer = opened.convert("RGBA")
    canvas = Pillow.new("RGB", layer.size, "white")
    canvas.paste(layer, mask=layer.getchannel("A"))
    return canvas


def _from_16_bits(opened: Pillow.Image) -> NDArray[np.uint8]:
    """0..65535 to 0..255, rounded; a PNG's transparent grey becomes white."""
    values = np.asarray(opened).astype(np.uint32)
    scaled = ((values + 128) // 257).astype(np.uint8)
    transparent = opened.info.get("transparency")
    if isinstance(transparent, int):
        scaled[values == transparent] = 255
    return scaled


def _from_numbers(values: NDArray[np.int32] | NDArray[np.float32]) -> NDArray[np.uint8]:
    """32-bit integers or floats to 0..255.

    Such files do not state their range. Floats within 0..1, and values within 0..255 or 0..65535, are read as such;
    anything else is stretched between its least and greatest finite value. What is not finite becomes black.
    """
    finite = np.isfinite(values)
    numbers = np.where(finite, values, 0).astype(np.float64)
    low, high = (float(numbers[finite].min()), float(numbers[finite].max())) if finite.any() else (0.0, 0.0)
    if low >= 0 and high <= 65535:
        low = 0.0
        is_unit = values.dtype.kind == "f" and high <= 1
        high = 1.0 if is_unit else 255.0 if high <= 255 else 65535.0
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (numbers - low) * (255.0 / max(high - low, np.finfo(np.float64).tiny))
    return np.where(finite, np.clip(np.nan_to_num(np.rint(scaled)), 0, 255), 0).astype(np.uint8)


def _grey_to_bgr(grey: NDArray[np.uint8]) -> Image:
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), dtype=np.uint8)
