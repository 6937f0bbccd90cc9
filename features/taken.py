"""The time of a picture, from its EXIF data."""

from datetime import UTC, datetime
from pathlib import Path

from PIL import Image as Pillow

from crossview.features.formats import formats

_TAKEN, _CHANGED, _CAMERA = 0x9003, 0x0132, 0x8769


def taken(path: Path) -> int | None:
    """Return the time of a picture, or of its last change by a program, in seconds since 1970 as if in UTC.

    Return None without such EXIF data.
    """
    try:
        with Pillow.open(path, formats=formats()) as opened:
            found = opened.getexif()
            text = found.get_ifd(_CAMERA).get(_TAKEN) or found.get(_CHANGED)
        return int(datetime.strptime(str(text), "%Y:%m:%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
    except Exception:  # noqa: BLE001  # damaged EXIF data ends in any exception
        return None
