"""The number of scans of a JPEG. Each scan of a progressive JPEG passes over the whole picture, even if it is empty,
so a small file with many scans can take hours."""

import re

MAX_SCANS = 100
"""Most scans of a JPEG; encoders write about ten."""

_MARKER = re.compile(rb"\xff+([^\x00\x01\xff\xd0-\xd7])")
"""A marker with a length; inside the data of a scan, 0 or a marker without a length follows 0xff."""
_START, _SCAN, _END = 2, 0xDA, 0xD9
_SCAN_BYTES = bytes((0xFF, _SCAN))


def scans(data: bytes) -> int:
    """Return the number of scans of the first picture of a JPEG file; up to ``MAX_SCANS``, lookalikes also count."""
    if (most := data.count(_SCAN_BYTES)) <= MAX_SCANS:
        return most  # a quick count that is enough for nearly all files
    found, place = 0, _START
    while (marker := _MARKER.search(data, place)) is not None and (kind := marker[1][0]) != _END:
        found += kind == _SCAN
        place = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2])
    return found
