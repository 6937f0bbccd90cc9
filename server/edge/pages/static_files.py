"""The files that pages use: styles, scripts and the icon, under addresses that change with their content."""

import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from crossview.server.edge.pages.answer import IMMUTABLE, Answer
from crossview.server.edge.pages.page_calls import PageError

if TYPE_CHECKING:
    from crossview.server.edge.pages.visit import Visit

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class StaticFiles:
    """The files of the folder ``static``, in memory. All share one hash, so that scripts can import each other."""

    path = "/static/{hash}/{file}"

    def __init__(self) -> None:
        folder = files("crossview.server.edge.pages") / "static"
        kinds = tuple(f".{ending}" for ending in _TYPES)
        self._files = {one.name: one.read_bytes() for one in folder.iterdir() if one.name.endswith(kinds)}
        content = hashlib.blake2b(digest_size=8)
        for name in sorted(self._files):
            content.update(name.encode() + b"\0" + self._files[name])
        self._hash = content.hexdigest()

    def address(self, name: str) -> str:
        """Return the address of a file; KeyError for an unknown one."""
        self._files[name]
        return f"/static/{self._hash}/{name}"

    async def answer(self, visit: "Visit") -> Answer:
        """Return a file."""
        name = visit.path["file"]
        if visit.path["hash"] != self._hash or name not in self._files:
            raise PageError(404, "there is no such file; load the page again")
        return Answer(self._files[name], _TYPES[name.rpartition(".")[2]], headers=(IMMUTABLE,))
