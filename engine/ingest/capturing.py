"""Captures: the times of pictures and the pages beside them, read by the program that has the files."""

from crossview.engine.catalog.checks import check_characters
from crossview.engine.errors import InvalidInputError
from crossview.engine.ingest.walk import SourceFile, readable
from crossview.engine.item import Capture, Failure
from crossview.features.page import MAX_ADDRESSES, PageError, read_page
from crossview.features.taken import taken

_MAX_STAMP = 200
_MAX_HASH = 2**64 - 1
_MAX_NS = 2**63 - 1
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""Seconds since 1970 of the first and the last second of the years 1 to 9999."""


def read_capture(file: SourceFile) -> tuple[Capture, Failure | None]:
    """Return the capture of a file and its page, and the failure of an unusable page.

    The capture of an unusable page has no stamp, so that the next indexing reads it again.
    """
    page, stamp, failure = None, file.stamp, None
    if file.page is not None:
        try:
            page = read_page(file.page)
        except PageError as error:
            stamp, failure = "", Failure(readable(file.page), str(error))
    return Capture(stamp=stamp, modified_ns=file.modified_ns, taken=taken(file.path), page=page), failure


def check_capture(capture: Capture) -> None:
    """Raise InvalidInputError for a capture that cannot be stored."""
    check_characters(capture.stamp, "the stamp of a capture", _MAX_STAMP)
    if not 0 <= capture.modified_ns <= _MAX_NS:
        raise InvalidInputError(f"modified_ns must be nanoseconds since 1970 in 63 bits, not {capture.modified_ns}")
    if capture.taken is not None and not _FIRST <= capture.taken <= _LAST:
        raise InvalidInputError(f"taken must be in the years 1 to 9999, in seconds since 1970, not {capture.taken}")
    if capture.page is not None:
        _check_hashes(capture.page.links, "links")
        _check_hashes(capture.page.images, "images")


def _check_hashes(hashes: tuple[int, ...], kind: str) -> None:
    if len(hashes) > MAX_ADDRESSES:
        raise InvalidInputError(f"a page may have at most {MAX_ADDRESSES:,} different {kind}, not {len(hashes):,}")
    if list(hashes) != sorted(set(hashes)) or (hashes and not 0 <= hashes[0] <= hashes[-1] <= _MAX_HASH):
        raise InvalidInputError(f"the {kind} of a page must be distinct hashes of 64 bits in ascending order")
