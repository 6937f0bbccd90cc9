"""How far two versions of a page differ by its source: the links and images of the HTML saved beside a picture."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from engine.errors import InvalidInputError

SUFFIXES = (".html", ".htm")
MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Structure:
    """What the source of a version names.

    Attributes:
        links: the addresses that it links to.
        images: the addresses of its images.
    """

    links: frozenset[str]
    images: frozenset[str]

    def distances(self, other: "Structure") -> tuple[float, float]:
        """Returns the Jaccard distances of the links and of the images (section 5.2 of the paper)."""
        return jaccard(self.links, other.links), jaccard(self.images, other.images)


def jaccard(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Returns one less the share of all that both have; 0 for two empty sets."""
    union = len(one | other)
    return 1 - len(one & other) / union if union else 0.0


def source_of(picture: Path) -> Path | None:
    """Returns the HTML beside a picture, ``page.html`` or ``page.png.html`` of ``page.png``, if there is one."""
    beside = (base.with_name(base.name + suffix) for base in (picture.with_suffix(""), picture) for suffix in SUFFIXES)
    return next((path for path in beside if path.is_file()), None)


def structure(path: Path) -> Structure:
    """Returns what an HTML file names; what is malformed is read as browsers would.

    Raises InvalidInputError for one that cannot be read, or is larger than ``MOST_BYTES``.
    """
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise InvalidInputError(f"{path} has {size:,} bytes; pages of at most {MOST_BYTES:,} are read")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}") from error
    parser = _Addresses()
    parser.feed(text)
    parser.close()
    return Structure(frozenset(parser.links), frozenset(parser.images))


class _Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.images: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in ("a", "area") and (link := (named.get("href") or "").strip()):
            self.links.add(link)
        elif tag == "img" and (image := (named.get("src") or "").strip()):
            self.images.add(image)
