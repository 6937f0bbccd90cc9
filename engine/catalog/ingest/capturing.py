"""Captures: the metadata of picture files and the pages beside them, read by the program that has the files.

The stamp of a capture ends with the level of metadata that it was read for, so that the next indexing keeps the level.
"""

from collections.abc import Mapping
from dataclasses import replace

from crossview.engine.catalog.checks import check_attributes, check_characters
from crossview.engine.catalog.ingest.walk import SourceFile, readable
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import METADATA, Attributes, Capture, Failure, content_hash
from crossview.features.base import ImageExtractor
from crossview.features.files import read_regular
from crossview.features.metadata import MAX_PACKET, POSITION, Metadata, metadata, with_sidecar
from crossview.features.page import MAX_ADDRESSES, PageError, read_page

_USUAL = "basic"
_MAX_STAMP = 200
_MAX_HASH = 2**64 - 1
_MAX_NS = 2**63 - 1
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""Seconds since 1970 of the first and the last second of the years 1 to 9999."""


def read_metadata(data: bytes, _extractors: Mapping[str, ImageExtractor], _max_pixels: int) -> Metadata:
    """Return the metadata of a picture file, with its number of bytes and its content hash."""
    file_metadata = metadata(data)
    facts = {**file_metadata.facts, "bytes": len(data), "hash": content_hash(data)}
    return replace(file_metadata, facts=dict(sorted(facts.items())))


def wanted_stamp(file: SourceFile, stored: str, level: str | None) -> str:
    """Return the stamp of a file's capture at a level of metadata; None keeps that of the ``stored`` stamp."""
    stored_level = stored.rpartition(" ")[2]
    return f"{file.stamp} {level or (stored_level if stored_level in METADATA else _USUAL)}"


def read_capture(file: SourceFile, file_metadata: Metadata, stamp: str) -> tuple[Capture, Failure | None]:
    """Return the capture of a file with this metadata, its sidecar and its page, and the failure of an unusable one.

    Then the capture has an incomplete stamp, so that the next indexing reads it again.
    """
    page, level = None, stamp.rpartition(" ")[2]
    file_metadata, failure = beside(file, file_metadata)
    stamp = stamp if failure is None else level
    if file.page is not None:
        try:
            page = read_page(file.page)
        except PageError as error:
            stamp, failure = level, Failure(readable(file.page), str(error))
    facts = kept_facts(file_metadata, level)
    return Capture(stamp=stamp, modified_ns=file.modified_ns, taken=file_metadata.taken, page=page, file=facts), failure


def beside(file: SourceFile, file_metadata: Metadata) -> tuple[Metadata, Failure | None]:
    """Return the metadata of a file with that of its sidecar, and the failure of an unusable sidecar."""
    if file.sidecar is None:
        return file_metadata, None
    try:
        return with_sidecar(file_metadata, read_regular(file.sidecar, MAX_PACKET + 1)), None
    except (OSError, ValueError) as error:
        reason = str(error.strerror or error) if isinstance(error, OSError) else str(error)
        return file_metadata, Failure(readable(file.sidecar), reason)


def capture_of_bytes(file_metadata: Metadata, stamp: str) -> Capture:
    """Return the capture of a picture without a file, with this metadata."""
    return Capture(stamp=stamp, taken=file_metadata.taken, file=kept_facts(file_metadata, stamp.rpartition(" ")[2]))


def kept_facts(file_metadata: Metadata, level: str) -> Attributes:
    """Return the facts of metadata that a level keeps."""
    left_out = POSITION if level == _USUAL else ()
    return {} if level == "none" else {name: fact for name, fact in file_metadata.facts.items() if name not in left_out}


def check_capture(capture: Capture) -> None:
    """Raise InvalidInputError for a capture that cannot be stored."""
    check_characters(capture.stamp, "the stamp of a capture", _MAX_STAMP)
    if not 0 <= capture.modified_ns <= _MAX_NS:
        raise InvalidInputError(f"modified_ns must be nanoseconds since 1970 in 63 bits, not {capture.modified_ns}")
    if capture.taken is not None and not _FIRST <= capture.taken <= _LAST:
        raise InvalidInputError(f"taken must be in the years 1 to 9999, in seconds since 1970, not {capture.taken}")
    check_attributes(capture.file)
    if capture.page is not None:
        _check_hashes(capture.page.links, "links")
        _check_hashes(capture.page.images, "images")


def _check_hashes(hashes: tuple[int, ...], kind: str) -> None:
    if len(hashes) > MAX_ADDRESSES:
        raise InvalidInputError(f"a page may have at most {MAX_ADDRESSES:,} different {kind}, not {len(hashes):,}")
    if list(hashes) != sorted(set(hashes)) or (hashes and not 0 <= hashes[0] <= hashes[-1] <= _MAX_HASH):
        raise InvalidInputError(f"the {kind} of a page must be distinct hashes of 64 bits in ascending order")
