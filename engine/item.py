"""Items: what users search for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Attributes = Mapping[str, Any]
"""JSON values by name."""


class Picture(NamedTuple):
    """An encoded picture to fit views on, and the labels that are known of it."""

    image: bytes
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One item as the catalog knows it."""

    key: str
    """Unique inside the collection: root alias and path (``photos/cats/1.jpg``), or what the importer chose."""
    labels: tuple[str, ...] = ()
    """The item's classes, sorted."""
    attributes: Attributes = field(default_factory=dict)
    source: str = ""
    """Absolute path of the file it was read from, where there is one."""
    content_hash: str = ""
    """BLAKE2b-128 of the source bytes, hexadecimal; it only decides whether to extract again."""
    width: int = 0
    """Pixels, as displayed (after EXIF orientation); 0 where there is no picture."""
    height: int = 0
    views: tuple[str, ...] = ()
    """The views the item has a feature row for."""
    text: str = ""
    """Its caption, tags or document; "" where it has none."""


@dataclass(frozen=True)
class NewItem:
    """One item to import: a picture's bytes, a text, ready feature rows, or several; given rows win over computed ones.

    Without a picture, an item that exists keeps the one it has.
    """

    key: str
    image: bytes | None = None
    rows: Mapping[str, NDArray[np.float32] | Sequence[float]] = field(default_factory=dict)
    """Feature rows by view name, each of the view's dimension."""
    labels: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    source: str = ""
    text: str | None = None
    """None keeps the text that the item has, "" removes it."""


@dataclass(frozen=True)
class Failure:
    """One item, file or caption that could not be used, and why."""

    key: str
    reason: str


@dataclass(frozen=True)
class ImportReport:
    """What an import or an indexing run did."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
