"""Captures: when pictures were taken, and the pages beside them, read from files where these are."""

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
    """Return what a file and the page beside it say, and why the page cannot be used.

    Without a stamp, so that it is read again the next time, where the page cannot be used.
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
        raise InvalidInputError(f"modified_ns counts from 1970 in 63 bits, and cannot be {capture.modified_ns}")
    if capture.taken is not None and not _FIRST <= capture.taken <= _LAST:
        raise InvalidInputError(
            f"taken is in the years 1 to 9999, in seconds since 1970, and cannot be {capture.taken}"
        )
    if capture.page is not None:
        _check_hashes(capture.page.links, "links")
        _check_hashes(capture.page.images, "images")


def _check_hashes(hashes: tuple[int, ...], kind: str) -> None:
    if len(hashes) > MAX_ADDRESSES:
        raise InvalidInputError(f"a page has at most {MAX_ADDRESSES:,} different {kind}, not {len(hashes):,}")
    if list(hashes) != sorted(set(hashes)) or (hashes and not 0 <= hashes[0] <= hashes[-1] <= _MAX_HASH):
        raise InvalidInputError(f"the {kind} of a page are hashes of 64 bits, ascending, each once")
