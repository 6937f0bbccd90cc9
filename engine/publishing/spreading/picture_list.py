"""The pictures of a folder or pattern in object storage, sorted, with the keys of their items."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from crossview.engine.catalog.checks import check_key, normal
from crossview.engine.catalog.ingest.exclusions import MADE_BY_SYSTEMS
from crossview.engine.catalog.ingest.walk import readable
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.values.errors import InvalidInputError
from crossview.features.formats import SUFFIXES

_WILD = re.compile(r"[*?\[]")
FOLDER = "folder"
"""The option of labels that takes the name of each picture's folder."""


class PictureFile(NamedTuple):
    """One picture in object storage."""

    name: str
    """Its path below the beginning that all pictures share."""
    size: int
    """Bytes."""
    reason: str = ""
    """Why it cannot become an item, as its name shows; "" if it can."""


class PictureList(NamedTuple):
    """The pictures that an address names."""

    base: str
    """The address that the names begin at: the address up to its first wildcard."""
    files: Sequence[PictureFile]
    """By name."""


def listed_pictures(address: str) -> PictureList:
    """Return the pictures below a folder, or the files that match a pattern, as in ``s3://bucket/photos/**/*.jpg``.

    In a folder, files with other suffixes than those of pictures, hidden files, and folders that storage systems make
    are left out.

    Raises InvalidInputError if there are none, NotReadyError, StorageError.
    """
    base, pattern = _divided(address)
    storage = ObjectStorage(base)
    sizes = storage.sizes(pattern)
    names = sorted(sizes if pattern else filter(_is_picture, sizes))
    if not names:
        raise InvalidInputError(
            f"there are no pictures at {address}: name a folder of pictures, or a pattern such as "
            f"{base.rstrip('/')}/**/*.jpg in quotes"
        )
    return PictureList(storage.address, list(_checked(storage.name, names, sizes)))


def key_of(alias: str, name: str) -> str:
    """Return the key of the item of a picture: as a local folder's, the name of the folder and the path below."""
    return f"{alias or 'root'}/{name}"


def label_of(key: str, rule: str) -> str:
    """Return the label of a picture by a rule, ``folder`` or none; "" without a label."""
    return posixpath.basename(posixpath.dirname(key)) if rule == FOLDER else ""


def _divided(address: str) -> tuple[str, str]:
    """Return the part of an address before the folder or name with the first wildcard, and the rest."""
    wildcard = _WILD.search(address)
    if wildcard is None:
        return address, ""
    end = address.rfind("/", 0, wildcard.start()) + 1
    return address[:end].rstrip("/") or ("/" if end else "."), address[end:]


def _is_picture(name: str) -> bool:
    parts = name.split("/")
    visible = MADE_BY_SYSTEMS.isdisjoint(parts) and not any(part.startswith(".") for part in parts)
    return visible and posixpath.splitext(name)[1].lower() in SUFFIXES


def _checked(alias: str, names: Sequence[str], sizes: dict[str, int]) -> Iterator[PictureFile]:
    """Yield the files, those that cannot become items with the reason."""
    forms = dict[str, str]()
    for name in names:
        earlier = forms.setdefault(normal(name), name)
        try:
            name.encode()
            check_key(key_of(alias, name))
            reason = (
                ""
                if earlier == name
                else f"{earlier!r} already has this name, because names are equal in all Unicode forms: rename one file"
            )
        except UnicodeEncodeError:
            reason = "its name is not UTF-8"
        except InvalidInputError as error:
            reason = str(error)
        readable_name = name if name.isascii() else readable(Path(name))
        yield PictureFile(readable_name, sizes[name], reason)
