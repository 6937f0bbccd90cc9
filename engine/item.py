"""Items: what users search for; and the forms in which programs give pictures and names."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from crossview.engine.errors import InvalidInputError
from crossview.features.page import Page

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Attributes = Mapping[str, Any]
"""JSON values by name."""


def content_hash(data: bytes) -> str:
    """Return the BLAKE2b-128 of a file's bytes, hexadecimal."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def encoded(given: object) -> bytes:
    """Return the bytes of a picture file: as given, of the file at a path, or a PNG of a picture in memory.

    Raises InvalidInputError for a file that cannot be read and for a value that is not a picture, ImageError for an
    array of another shape or type than a picture has.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if not isinstance(given, str | PathLike):
        from crossview.features.encoding import png

        made = png(given)
        if made is None:
            raise InvalidInputError(
                "give a picture as the path or the bytes of its file, as an image of Pillow or as an array, "
                f"not as {type(given).__name__}"
            )
        return made
    path = Path(given)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(
            f"the picture {path} cannot be read ({error.strerror}): name a file, or give its bytes"
        ) from error


class Held(Protocol):
    """A picture in memory: an image of Pillow, or an array of NumPy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


PictureForm = bytes | str | PathLike[str] | Held
"""The forms in which a program gives a picture; see ``encoded``."""


class Encoded:
    """A field of a dataclass: the bytes of a picture file, or None. Other forms of a picture are encoded at once."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> None: ...

    @overload
    def __get__(self, instance: object, owner: type) -> bytes | None: ...

    def __get__(self, instance: object | None, owner: type) -> bytes | None:
        return None if instance is None else vars(instance)[self._name]  # the class gives the default

    def __set__(self, instance: object, given: PictureForm | None) -> None:
        vars(instance)[self._name] = None if given is None else encoded(given)


def one_or_several(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names; a string is one, and not as many as it has letters."""
    if isinstance(given, str):
        return (given,) if given else ()
    return tuple(given)


def let_one_be_several(request: object, *names: str) -> None:
    """Let a string in fields of a frozen dataclass stand for one name."""
    for name in names:
        if isinstance(given := getattr(request, name), str):
            object.__setattr__(request, name, one_or_several(given))


class Picture(NamedTuple):
    """An encoded picture to fit views on, and the labels that are known of it."""

    image: bytes
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Capture:
    """When a picture was taken, and the page that was saved beside it.

    Whoever has the file reads it (``engine.ingest.capturing``), and it is kept with the item: the path of a file means
    nothing to a server.
    """

    stamp: str = ""
    """Changes whenever the file or its page does; "": what is known is not to be relied on, and is read again."""
    modified_ns: int = 0
    """When the file was last written, in nanoseconds since 1970; 0 where that is not known."""
    taken: int | None = None
    """When the picture was taken by its EXIF data, in seconds since 1970 as if in UTC."""
    page: Page | None = None


@dataclass(frozen=True)
class Item:
    """One item as the catalog knows it."""

    key: str
    """Unique inside the collection: root alias and path (``photos/cats/1.jpg``), or what the importer chose."""
    _: KW_ONLY
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
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its classes in notions of similarity, such as its colour's, sorted, by notion; not among ``labels``."""
    stamp: str = ""
    """Of its ``Capture``; "" where it has none."""


@dataclass(frozen=True)
class PictureRecord:
    """What is written of an item's picture."""

    size: int = 0
    """Bytes of the file."""
    modified_ns: int = 0
    content_hash: str = ""
    width: int = 0
    height: int = 0
    thumbnail: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class DeletedPicture:
    """The picture of an item that was deleted."""

    key: str
    source: str
    """Path of the file it was read from, where there was one."""
    content_hash: str
    size: int
    """Bytes of the file."""
    modified_ns: int = 0
    """When the file was last written, in nanoseconds; 0 where that is not known."""


@dataclass(frozen=True)
class NewItem:
    """One item to import: a picture's bytes, a text, ready feature rows, or several; given rows win over computed ones.

    What is not named here stays as it is in an item that exists; an empty value clears.
    """

    key: str
    _: KW_ONLY
    image: Encoded = Encoded()
    """A picture (see ``encoded``)."""
    rows: Mapping[str, "NDArray[np.float32] | Sequence[float]"] = field(default_factory=dict)
    """Feature rows by view name, each of the view's dimension."""
    labels: tuple[str, ...] | None = None
    """None leaves the labels as they are, () removes them."""
    attributes: Attributes | None = None
    """They are added to those that the item has, in place of those of the same name; {} removes all, None none."""
    source: str = ""
    """Path of the file that the picture was read from."""
    text: str | None = None
    """None leaves the text as it is, "" removes it."""
    labels_given: bool = True
    """Whether a person chose the labels; False for a folder's name, which does not replace chosen labels."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion: they replace those of the same notion; () removes these."""
    capture: Capture | None = None
    """None leaves what is known of its file."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "labels")


@dataclass(frozen=True)
class ItemUpdate:
    """A change of one item's labels, attributes or text. None leaves it as it is, an empty value clears."""

    key: str
    """The item's key; or, where paths are matched too, the path of its file, full or below its root."""
    _: KW_ONLY
    labels: tuple[str, ...] | None = None
    attributes: Attributes | None = None
    """They are added to those that the item has, in place of those of the same name; {} removes all."""
    removed_attributes: tuple[str, ...] = ()
    """Names of attributes to remove."""
    text: str | None = None
    labels_given: bool = True
    """Whether a person chose the labels; False for a folder's name, which does not replace chosen labels."""
    notion_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels by notion: they replace those of the same notion; () removes these."""
    capture: Capture | None = None
    """None leaves what is known of its file."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "labels", "removed_attributes")


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """How pictures are indexed."""

    labels: str | Path | None = None
    """``folder``: the label of each picture is the name of its folder, but labels that a person chose stay. Or a CSV
    file (see ``engine.ingest.annotation_file.AnnotationFile``). Fields
    that it does not name keep their values, and an empty value clears a field."""
    captions: str | Path | None = None
    """A CSV file of texts."""
    replace_labels: bool = False
    """Whether pictures that ``labels`` do not name lose theirs, and folders replace labels that a person chose."""
    include_deleted: bool = False
    """Files whose items were deleted stay out, unless they are named themselves, have changed, or this is set."""
    workers: int | None = None
    """Number of processes that read pictures, with limits of time and memory [default: one per core]. 1 reads them in
    this process, without these limits."""
    seed: int = 0
    """Draws the sample that views are fitted on."""
    label_notion: str = ""
    """The notion of similarity that ``labels`` are in; "": none, they are the items' own."""
    new_attributes: bool = False
    """Whether columns of the files may be attributes that no item has, although their names are like known ones."""


DEFAULT_INDEXING = IndexOptions()


@dataclass(frozen=True)
class Failure:
    """One item, file or caption that could not be used, and why."""

    key: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What an import or an indexing run did."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Files that were left out because of what they are, by kind, such as "PDF" or "hidden"."""
    deleted: tuple[str, ...] = ()
    """Keys of files that were left out because their items were deleted; ``include_deleted`` takes them in."""
    gone: tuple[str, ...] = ()
    """Keys of items whose files are no longer below the folders that were searched; the items stay."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Of these, those whose very content is now another item: its key by the old key."""
    notes: tuple[str, ...] = ()
    """Warnings, such as that no picture got a label, a sentence each."""
