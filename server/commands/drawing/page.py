"""Reports as self-contained HTML pages, of the fragments that the pages of a server show; nothing to run or to load."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from crossview.engine.values.markup import Markup, data_uri
from crossview.server.edge.pages.templates import Templates, style

_SHEETS = "page.css", "report.css"


class Fragments:
    """The fragments of pages, with pictures inside the file instead of addresses.

    ``picture`` returns an item's picture from its collection, its key and "large" or "small".
    """

    def __init__(self, picture: Callable[[str, str, str], bytes | None] = lambda *_: None) -> None:
        def address(collection: str, key: str, size: str = "small") -> str:
            return data_uri(picture(collection, key, size) or b"")

        self._templates = Templates(cache(address), lambda collection, key: "", acts=False)

    def __call__(self, template: str, macro: str, *values: Any) -> Markup:
        """Return what a macro of a template writes."""
        return Markup(self._templates.fragment(template, macro, *values))

    def page(self, page: "Page") -> str:
        """Return a report."""
        return self._templates.rendered("report.html", {"page": page, "style": style(*_SHEETS)})


@dataclass(frozen=True)
class Section:
    """A part of a page below a heading."""

    title: str
    content: Markup


@dataclass(frozen=True)
class Page:
    """A report: what it is, what it shows in a sentence, its sections, and how it was made."""

    kind: str
    """The kind of report, such as "Evaluation"."""
    title: str
    summary: str
    sections: Sequence[Section]
    made: Mapping[str, Any] = field(default_factory=dict)
    """How the report was made: command, version, date and so on, in the order to show."""
    notes: Sequence[str] = ()

    def html(self) -> str:
        """Return the page."""
        return Fragments().page(self)


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, which is made if necessary, each at once; return the path of ``index.html``.

    Raises InvalidInputError if the folder is a file, and OSError if a file cannot be written.
    """
    from crossview.engine.values.errors import InvalidInputError

    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"a report needs a folder, and {folder} is a file: name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        data = content.encode() if isinstance(content, str) else content
        write_at_once(folder / file, partial(Path.write_bytes, data=data))
    return folder / "index.html"


def write_at_once(path: Path, write: Callable[[Path], Any]) -> None:
    """Let a function write a file, and replace the file of the path by it."""
    part = path.with_name(f".{path.name}.part")
    write(part)
    part.replace(path)
