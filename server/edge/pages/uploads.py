"""Pictures that a browser has uploaded, kept in memory for a while so that addresses can name them."""

import hashlib
from collections import OrderedDict
from typing import ClassVar

_TYPES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
}
_MOST, _MOST_BYTES = 24, 96 << 20
"""Maximum number of pictures of a session, and of their bytes; the oldest make room."""


class Uploads:
    """The uploaded pictures of a session, by an id that follows from their content."""

    MOST_OF_ALL: ClassVar[int] = 512 << 20
    """Maximum bytes of all sessions."""

    def __init__(self) -> None:
        self._pictures: OrderedDict[str, bytes] = OrderedDict()
        self.size: int = 0
        """Bytes of all pictures."""

    def add(self, picture: bytes) -> str:
        """Keep a picture; return its id."""
        upload_id = hashlib.blake2b(picture, digest_size=12).hexdigest()
        if upload_id not in self._pictures:
            self._pictures[upload_id] = picture
            self.size += len(picture)
        self._pictures.move_to_end(upload_id)
        while len(self._pictures) > _MOST or (self.size > _MOST_BYTES and len(self._pictures) > 1):
            self.size -= len(self._pictures.popitem(last=False)[1])
        return upload_id

    def get(self, upload_id: str) -> bytes | None:
        """Return the picture of an id; None if it is not there any more."""
        return self._pictures.get(upload_id)

    def clear(self) -> None:
        """Forget all pictures."""
        self._pictures.clear()
        self.size = 0


def media_type(picture: bytes) -> str | None:
    """Return the type by which a browser may show a picture; None for one that it should not show."""
    if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _TYPES.items() if picture.startswith(start)), None)
