"""Items, the things that users search for; and the forms in which a program can give pictures and names."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from crossview.engine.values.errors import InvalidInputError
from crossview.features.errors import ImageError
from crossview.features.page import Page
from crossview.features.pictures import MAX_PIXELS, encoded_picture

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ValueCount:
    """A value of a field, and how many items have it."""

    value: Any
    """A text, a number, a boolean or None."""
    items: int


Attributes = Mapping[str, Any]
"""JSON values by name."""

THUMBNAIL_SIZES = ("small", "large")
METADATA = ("none", "basic", "all")
"""How many of the facts that a picture file states to keep: none, all but the place where it was taken, or all."""
FILE = "file"
"""The attribute by which conditions name the metadata of an item's file, as in ``file.camera``."""
FACTS = (
    *("altitude", "bytes", "camera", "format", "hash", "height", "keywords", "latitude", "lens", "longitude", "make"),
    *("orientation", "rating", "taken", "width"),
)
"""The names of the metadata of a file (``features.metadata``), and of its number of bytes and its content hash."""


def check_metadata(level: str) -> str:
    """Return a level of metadata; InvalidInputError for anything but one of ``METADATA``."""
    if level not in METADATA:
        raise InvalidInputError(f"metadata must be one of {', '.join(METADATA)}, not {level!r}")
    return level


def content_hash(data: bytes) -> str:
    """Return the BLAKE2b-128 of a file's bytes, hexadecimal."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def may_exist(path: Path) -> bool:
    """Return whether a file exists, or can exist in a folder that cannot be read."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def path_of_source(source: str) -> Path:
    """Return the path of a file from the source of its item, in which bytes that are not UTF-8 are ``\\xff``."""
    path = Path(source)
    if "\\x" in source and not may_exist(path):
        return Path(os.fsdecode(_BYTE.sub(lambda match: bytes.fromhex(match[1].decode()), os.fsencode(source))))
    return path


_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")


def encoded(form: object) -> bytes:
    """Return the bytes of a picture file: the given bytes, the content of a file, or a PNG of a picture in memory.

    Raises InvalidInputError for a file that cannot be read and for a value that is not a picture, ImageError for an
    array whose shape or type is not that of a picture.
    """
    if isinstance(form, bytes | bytearray | memoryview):
        return bytes(form)
    if not isinstance(form, str | PathLike):
        from crossview.features.encoding import png

        content = png(form)
        if content is None:
            raise InvalidInputError(
                "give a picture as the path or the bytes of its file, as an image of Pillow or as an array, "
                f"not as {type(form).__name__}"
            )
        return content
    path = Path(form)
    try:
        return encoded_picture(path, MAX_PIXELS)
    except ImageError as error:
        raise InvalidInputError(
            f"the picture {path} cannot be read (", error, "): name a file, or give its bytes"
        ) from error


class PictureInMemory(Protocol):
    """A picture in memory: a Pillow image or a NumPy array."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


PictureForm = bytes | str | PathLike[str] | PictureInMemory
"""The forms in which a program gives a picture; see ``encoded``."""


class Encoded:
    """A field of a dataclass with the bytes of a picture file, or None; the field encodes other forms of a picture."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> None: ...

    @overload
    def __get__(self, instance: object, owner: type) -> bytes | None: ...

    def __get__(self, instance: object | None, owner: type) -> bytes | None:
        return None if instance is None else vars(instance)[self._name]  # dataclasses read the default from the class

    def __set__(self, instance: object, form: PictureForm | None) -> None:
        vars(instance)[self._name] = None if form is None else encoded(form)


def one_or_several(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; a string is one name, not a sequence of letters.

    Lists, sets, arrays and series are several names. InvalidInputError for a value that is not a name or several.
    """
    if isinstance(names, str):
        return (names,) if names else ()
    if isinstance(names, bytes | Mapping) or not isinstance(names, Iterable):
        raise InvalidInputError(f"give a name, or a list of names, not {names!r:.40}")
    return tuple(names)


def let_one_be_several(request: object, *names: str) -> None:
    """Replace the names in these fields of a frozen dataclass, in any form, by tuples of names; None stays."""
    for name in names:
        if (value := getattr(request, name)) is not None and not isinstance(value, tuple):
            object.__setattr__(request, name, one_or_several(value))


class Picture(NamedTuple):
    """An encoded picture to fit views on, with its known labels."""

    image: bytes
    labels: tuple[str, ...] = ()


def pictures_of(images: Iterable[PictureForm | Picture]) -> Iterator[Picture]:
    """Yield pictures to fit views on, in any form; InvalidInputError for anything else, such as the name of a view."""
    if not isinstance(images, Iterable) or isinstance(images, bytes | str | Mapping):
        raise InvalidInputError(f"views are fitted on a list of pictures, not on {images!r:.60}")
    for form in images:
        image, labels = form if isinstance(form, Picture) else (form, ())
        yield Picture(encoded(image), labels)


@dataclass(frozen=True, kw_only=True)
class Capture:
    """The times of a picture, and the page that was saved beside it.

    The program that has the file reads the capture (``engine.catalog.ingest.capturing``), and the catalog stores it
    with the item, because a server cannot open the path of a client's file.
    """

    stamp: str = ""
    """A text that changes whenever the file or its page changes; "" if the capture is unreliable and must be read
    again."""
    modified_ns: int = 0
    """Time of the last write to the file, in nanoseconds since 1970; 0 if unknown."""
    taken: int | None = None
    """Time of the picture in its EXIF data, in seconds since 1970 as if in UTC; None if unknown."""
    page: Page | None = None
    file: Attributes = field(default_factory=dict)
    """Metadata of the file (``Item.file``)."""


@dataclass(frozen=True)
class Item:
    """One item, as the catalog stores it."""

    key: str
    """Unique inside the collection: root alias and path (``photos/cats/1.jpg``), or a name that the importer chose."""
    _: KW_ONLY
    labels: tuple[str, ...] = ()
    """The item's classes, sorted."""
    attributes: Attributes = field(default_factory=dict)
    source: str = ""
    """Absolute path of its file; "" without a file."""
    content_hash: str = ""
    """BLAKE2b-128 of the bytes of the file, hexadecimal; used only to decide whether to extract again."""
    width: int = 0
    """Pixels, as displayed (after EXIF orientation); 0 without a picture."""
    height: int = 0
    views: tuple[str, ...] = ()
    """The views of which the item has a feature row."""
    text: str = ""
    """Its caption, tags or document; "" without a text."""
    text_from_labels: bool = False
    """Whether its text is the words of its labels, which change with the labels, rather than a person's."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its sorted classes in each notion of similarity, such as its colour; ``labels`` does not contain them."""
    stamp: str = ""
    """Stamp of its ``Capture``; "" without a capture."""
    missing: str = ""
    """Since when its file is missing, ISO 8601 in UTC; "" if the last search of its folder found the file."""
    file: Attributes = field(default_factory=dict)
    """Metadata that the program read from its file, by name (``features.metadata``), and its ``bytes`` and ``hash``;
    conditions name them ``file.camera`` and so on. Annotations do not change them."""


@dataclass(frozen=True)
class PictureRecord:
    """The stored facts about the picture of an item."""

    size: int = 0
    """Bytes of the file."""
    modified_ns: int = 0
    content_hash: str = ""
    width: int = 0
    height: int = 0
    thumbnail: bytes | None = None
    preview: bytes | None = None
    """A larger picture than the thumbnail; None for a picture that is hardly larger."""
    fingerprints: bytes | None = None
    """The packed codes of the thumbnail in 8 orientations (``features.fingerprint``), 64 bytes."""


@dataclass(frozen=True, kw_only=True)
class DeletedPicture:
    """The picture of an item that was deleted."""

    key: str
    source: str
    """Path of its file; "" without a file."""
    content_hash: str
    size: int
    """Bytes of the file."""
    modified_ns: int = 0
    """Time of the last write to the file, in nanoseconds since 1970; 0 if unknown."""


@dataclass(frozen=True)
class NewItem:
    """One item to import: a picture, a text, feature rows, or several. Given rows take precedence over computed rows.

    In an existing item, fields that you do not name keep their values; an empty value clears a field.
    """

    key: str
    _: KW_ONLY
    image: Encoded = Encoded()
    """A picture (see ``encoded``)."""
    rows: Mapping[str, "NDArray[np.float32] | Sequence[float]"] = field(default_factory=dict)
    """Feature rows by view, each with the dimension of the view."""
    labels: tuple[str, ...] | None = None
    """None keeps the labels, () removes them."""
    attributes: Attributes | None = None
    """Attributes to add or replace, by name; {} removes all attributes, None keeps them."""
    source: str = ""
    """Path of the file that the picture was read from."""
    text: str | None = None
    """None keeps the text, "" removes it."""
    text_from_labels: bool = False
    """Whether its text becomes the words of its labels, unless a person gave one, now or before."""
    labels_given: bool = True
    """Whether a person chose the labels; False for a folder's name, which does not replace chosen labels."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion, which replace the labels of the same notion; () removes the labels of a notion."""
    capture: Capture | None = None
    """None keeps the stored capture."""
    metadata: str = "none"
    """How much metadata to read from the bytes of ``image``, one of ``METADATA``, if no capture is given."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "labels")
        if self.rows is None:
            object.__setattr__(self, "rows", {})


def new_items(items: Iterable[NewItem]) -> Iterator[NewItem]:
    """Yield new items; InvalidInputError for anything else, such as dictionaries."""
    if isinstance(items, NewItem | str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInputError("give a list of new items, such as [NewItem('a', text='red')]")
    for item in items:
        if not isinstance(item, NewItem):
            raise InvalidInputError(f"a new item is NewItem('a', text='red') or the like, not {item!r:.40}")
        yield item


@dataclass(frozen=True)
class ItemUpdate:
    """A change of one item's labels, attributes or text. None keeps a field, and an empty value clears it."""

    key: str
    """Key of the item; if the update matches paths, also the path of its file, full or below its root."""
    _: KW_ONLY
    labels: tuple[str, ...] | None = None
    attributes: Attributes | None = None
    """Attributes to add or replace, by name; {} removes all attributes."""
    removed_attributes: tuple[str, ...] = ()
    """Names of attributes to remove."""
    text: str | None = None
    text_from_labels: bool = False
    """Whether its text becomes the words of its labels, unless a person gave one, now or before."""
    labels_given: bool = True
    """Whether a person chose the labels; False for a folder's name, which does not replace chosen labels."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion, which replace the labels of the same notion; () removes the labels of a notion."""
    capture: Capture | None = None
    """None keeps the stored capture."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "labels", "removed_attributes")


class Stored(NamedTuple):
    """The facts about an item that decide whether its file must be read again."""

    id: int
    size: int
    modified_ns: int
    content_hash: str
    labels: tuple[str, ...]
    source: str
    missing: bool = False
    """Whether the file was missing at the last search of its folder."""


class FileMove(NamedTuple):
    """The new place of an item's file."""

    key: str
    """Key of the item before."""
    new_key: str
    """Key of the item from now on, which can be the same."""
    source: str
    """Path of the file from now on."""


class FileChanges(NamedTuple):
    """The results of a search of folders for the files of known items, which become one change."""

    moved: tuple[FileMove, ...] = ()
    missing: tuple[str, ...] = ()
    """Keys of items whose files are missing."""
    found: tuple[str, ...] = ()
    """Keys of items whose files are there again."""


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """The options of indexing."""

    labels: str | Path | None = None
    """``folder``, ``keywords`` or a CSV file. The label of each picture is the name of its folder, or its labels are
    the keywords in its file; labels that a person chose stay. In a CSV file
    (``engine.catalog.ingest.annotation_file.AnnotationFile``), an empty value clears a field, and fields that the file
    does not name keep their values."""
    captions: str | Path | None = None
    """A CSV file of texts, or ``labels``: an item without a text of its own then has the words of its labels as its
    text, and each later indexing with this word adapts such texts to labels that have changed."""
    replace_labels: bool = False
    """Whether pictures that ``labels`` does not name lose their labels, and folders and keywords replace labels that a
    person chose."""
    include_deleted: bool = False
    """Whether to index files whose items were deleted. Without this option, indexing skips such files unless they have
    changed or ``paths`` names them."""
    workers: int | None = None
    """Number of processes that read pictures, with limits of time and memory [default: one per core]. 1 reads them in
    this process, without these limits."""
    seed: int = 0
    """Seed of the sample that views are fitted on."""
    label_notion: str = ""
    """The notion of similarity of ``labels`` [default: "", the items' own labels]."""
    new_attributes: bool = False
    """Whether a column may be a new attribute although its name resembles a known one."""
    dry_run: bool = False
    """Whether only to report what indexing would do; it then writes nothing, and fits nothing."""
    metadata: str | None = None
    """How much metadata to keep of each file, one of ``METADATA`` [default: as much as at its last indexing; "basic"
    for a new file]."""
    exclude: tuple[str, ...] = ()
    """Patterns of files and folders to leave out (``engine.catalog.ingest.exclusions``), beside those of ignore files.
    Items whose files are excluded count as missing."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "exclude")
        if self.metadata is not None:
            check_metadata(self.metadata)


DEFAULT_INDEXING = IndexOptions()


@dataclass(frozen=True)
class Failure:
    """An item, file or caption that could not be used, and the reason."""

    key: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """The result of an import or of indexing."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Number of skipped files by kind, such as "PDF" or "hidden"."""
    deleted: tuple[str, ...] = ()
    """Keys of files skipped because their items were deleted; ``include_deleted`` indexes them."""
    missing: tuple[str, ...] = ()
    """Keys of items whose files are no longer below the indexed folders; the items stay, and searches leave them
    out."""
    added_keys: tuple[str, ...] = ()
    """Keys of the items that indexing added."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Keys of added items that are copies, with the key of what each copies; empty if nobody looked for copies."""
    pruned: tuple[str, ...] = ()
    """Keys of items that were deleted because their files are missing."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """New keys of items whose files have moved below the same or another folder, by their former keys."""
    notes: tuple[str, ...] = ()
    """Warnings, such as that no picture got a label, a sentence each."""
