"""The page saved beside a picture: hashes of the addresses of its links and images.

A page is untrusted, so reading takes time proportional to its length for any content.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from crossview.features.files import open_regular

MAX_BYTES = 2_000_000
"""Maximum size of a page in bytes."""
MAX_ADDRESSES = 10_000
"""Maximum number of different links, or images, of a page."""
_PIECE = 1 << 16


class PageError(ValueError):
    """A page that cannot be used; the message states the reason."""


@dataclass(frozen=True)
class Page:
    """The addresses in the HTML of a page, without their order and number."""

    links: tuple[int, ...] = ()
    """64-bit hashes of the addresses of its links, ascending, each once."""
    images: tuple[int, ...] = ()
    """64-bit hashes of the addresses of its images, ascending, each once."""


def read_page(path: Path) -> Page:
    """Return the hashes of an HTML file; raises the PageErrors of ``addresses``, and for too many addresses."""
    parsed = addresses(path)
    return Page(_hashes("links", parsed.links), _hashes("images", parsed.images))


def addresses(path: Path) -> "Addresses":
    """Return the addresses in an HTML file; malformed HTML is read as browsers read it.

    Raises PageError for an unreadable file, or one with more than ``MAX_BYTES`` bytes.
    """
    try:
        with open_regular(path) as file:
            return _parsed(file)
    except OSError as error:
        raise PageError(error.strerror or str(error)) from error


def _parsed(file: BinaryIO) -> "Addresses":
    from lxml import etree  # deferred, because few programs that import this module read a page

    # A target instead of a tree: building a tree compares each attribute of an element with all others.
    target, size = Addresses(), 0
    parser = etree.HTMLParser(target=target, encoding="utf-8", no_network=True)
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > MAX_BYTES:
            raise PageError(f"a page may have at most {MAX_BYTES:,} bytes: save it without embedded content")
        parser.feed(piece)
    if size:
        parser.close()
    return target


class Addresses:
    """A target of the parser that collects the addresses of a page."""

    def __init__(self) -> None:
        self.links: set[str] = set()
        self.images: set[str] = set()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Keep the address of a link or an image."""
        if tag in ("a", "area") and (link := attributes.get("href", "").strip()):
            self.links.add(link)
        elif tag == "img" and (image := attributes.get("src", "").strip()):
            self.images.add(image)

    def close(self) -> None:
        """Do nothing; the parser calls this method at the end."""


def _hashes(kind: str, addresses: Iterable[str]) -> tuple[int, ...]:
    hashes = sorted({_hash(address) for address in addresses})
    if len(hashes) > MAX_ADDRESSES:
        raise PageError(f"a page may have at most {MAX_ADDRESSES:,} different {kind}, not {len(hashes):,}")
    return tuple(hashes)


def _hash(address: str) -> int:
    encoded = address.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "little")
