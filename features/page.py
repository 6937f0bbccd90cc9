"""The page that was saved beside a picture: which addresses its HTML links to and shows, as hashes.

A page comes from anyone, so it is read in time proportional to its length, whatever it holds.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 2_000_000
"""Larger pages are refused."""
MAX_ADDRESSES = 10_000
"""Different links, or images, that a page may have."""
_PIECE = 1 << 16


class PageError(ValueError):
    """A page that cannot be used; the message states why."""


@dataclass(frozen=True)
class Page:
    """What the HTML of a page names. The order and number of mentions do not count."""

    links: tuple[int, ...] = ()
    """64-bit hashes of the addresses that it links to, ascending, each once."""
    images: tuple[int, ...] = ()
    """64-bit hashes of the addresses of its images, ascending, each once."""


def read_page(path: Path) -> Page:
    """Return what an HTML file names, as hashes; PageError as ``addresses``, and for more than ``MAX_ADDRESSES``."""
    found = addresses(path)
    return Page(_hashes("links", found.links), _hashes("images", found.images))


def addresses(path: Path) -> "Addresses":
    """Return what an HTML file names; what is malformed is read as browsers do.

    Raises PageError for a file that cannot be read, or has more than ``MAX_BYTES``.
    """
    try:
        if not path.is_file():
            raise PageError("it is not a regular file")
        with path.open("rb") as file:
            return _parsed(file)
    except OSError as error:
        raise PageError(error.strerror or str(error)) from error


def _parsed(file: BinaryIO) -> "Addresses":
    from lxml import etree  # a page is read by few of the programs that know what one is

    # Not a tree: of the many attributes of one element it would compare each with all others.
    found, size = Addresses(), 0
    parser = etree.HTMLParser(target=found, encoding="utf-8", no_network=True)
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > MAX_BYTES:
            raise PageError(f"a page has at most {MAX_BYTES:,} bytes: save it without what is embedded in it")
        parser.feed(piece)
    if size:
        parser.close()
    return found


class Addresses:
    """The addresses of a page; it takes what the parser reads."""

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
        """Do nothing: a parser ends its target."""


def _hashes(kind: str, addresses: Iterable[str]) -> tuple[int, ...]:
    found = sorted({_hash(address) for address in addresses})
    if len(found) > MAX_ADDRESSES:
        raise PageError(f"a page has at most {MAX_ADDRESSES:,} different {kind}, not {len(found):,}")
    return tuple(found)


def _hash(address: str) -> int:
    encoded = address.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "little")
