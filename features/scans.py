"""How many scans a JPEG has: a progressive one goes over the whole picture in each, however little the scan says."""

import re

MAX_SCANS = 100
"""Scans of a JPEG that is decoded; encoders write about ten."""

_MARKER = re.compile(rb"\xff+([^\x00\x01\xff\xd0-\xd7])")
"""A marker among the data of a scan, in which 0xff is followed by 0, or by what has no length."""
_START, _SCAN, _END = 2, 0xDA, 0xD9
_SCAN_BYTES = bytes((0xFF, _SCAN))


def scans(data: bytes) -> int:
    """Return how many scans the first picture of a JPEG file has; up to ``MAX_SCANS``, what looks like one counts."""
    if (most := data.count(_SCAN_BYTES)) <= MAX_SCANS:
        return most  # in nearly all files, and found at once
    found, place = 0, _START
    while (marker := _MARKER.search(data, place)) is not None and (kind := marker[1][0]) != _END:
        found += kind == _SCAN
        place = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2])
    return found
