"""Search of folders for files to index."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crossview.engine.catalog.roots import free_alias
from crossview.engine.errors import InvalidInputError
from crossview.engine.item import Failure
from crossview.features.formats import SUFFIXES

HIDDEN = "hidden"
PAGES = (".html", ".htm")
"""Suffixes of pages beside pictures."""
_KINDS = {
    "HEIC": (".heic", ".heif", ".hif"),
    "AVIF": (".avif",),
    "JPEG XL": (".jxl",),
    "RAW": (".arw", ".cr2", ".cr3", ".dng", ".nef", ".orf", ".pef", ".raf", ".rw2", ".srw"),
    "PSD": (".psb", ".psd"),
    "PDF": (".pdf",),
    "SVG": (".svg",),
    "video": (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"),
}
_EXTRAS = {"HEIC": "heic"}
"""The extra that reads the files of a kind."""
_KIND_OF = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes}


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file to index."""

    root: Path
    """The absolute path of the named folder."""
    relative: str
    """Path below the root, with forward slashes; bytes that are not UTF-8 appear as ``\\xff``."""
    path: Path
    size: int
    modified_ns: int
    named: bool = False
    """Whether the user named the file itself, not a folder above it."""
    page: Path | None = None
    """The HTML file beside the picture: ``page.html`` or ``page.png.html`` for ``page.png``."""
    stamp: str = ""
    """A text that changes with the file or its page."""


@dataclass(frozen=True)
class Walk:
    """The files below some paths."""

    files: tuple[SourceFile, ...]
    folders: tuple[Path, ...]
    """The absolute paths of the searched folders."""
    skipped: Counter[str]
    """Numbers of skipped files and folders by kind."""
    examples: Mapping[str, str]
    """The first of the skipped files of each kind that an extra reads."""
    unreadable: tuple[Failure, ...]
    """Folders that cannot be read."""

    def notes(self) -> tuple[str, ...]:
        """Return a note on each kind of skipped files that an extra reads: the first file, and how to install it."""
        return tuple(
            f"{self.skipped[kind]} {kind} left out, such as {path}: "
            f"to read them, pip install 'crossview[{_EXTRAS[kind]}]'"
            for kind, path in sorted(self.examples.items())
        )


def walk(paths: Iterable[Path | str]) -> Walk:
    """Find the picture files of folders, in the order of their paths, and every file that the paths name.

    Hidden files and folders are skipped, links to folders are not followed, and a file is found once for each root. A
    file that vanishes during the search has size -1, so that reading it reports the reason.

    Raises InvalidInputError for a path that does not exist.
    """
    roots = list(dict.fromkeys(Path(os.path.abspath(Path(path).expanduser())) for path in paths))
    for root in roots:
        if not root.exists():
            raise InvalidInputError(f"the file or folder {readable(root)} does not exist")
    skipped: Counter[str] = Counter()
    examples = dict[str, str]()
    unreadable: list[Failure] = []
    files = tuple(file for root in roots for file in _files(root, skipped, examples, unreadable))
    return Walk(files, tuple(root for root in roots if root.is_dir()), skipped, examples, tuple(unreadable))


def _files(
    root: Path, skipped: Counter[str], examples: dict[str, str], unreadable: list[Failure]
) -> Iterator[SourceFile]:
    if not root.is_dir():
        yield _source(root.parent, root, _page(root.name, lambda name: (root.parent / name).is_file()), named=True)
        return

    def failed(error: OSError) -> None:
        unreadable.append(Failure(readable(Path(error.filename)), f"the folder cannot be read: {error.strerror}"))

    for folder, folders, files in os.walk(root, onerror=failed):
        shown = sorted(name for name in folders if not name.startswith("."))
        skipped[HIDDEN] += len(folders) - len(shown)
        links = {name for name in shown if os.path.islink(os.path.join(folder, name))}
        skipped["links to folders"] += len(links)
        folders[:] = [name for name in shown if name not in links]
        there = set(files).__contains__
        for name in sorted(files):
            suffix = os.path.splitext(name)[1].lower()
            if name.startswith("."):
                skipped[HIDDEN] += 1
            elif suffix in SUFFIXES:
                yield _source(root, Path(folder) / name, _page(name, there))
            else:
                kind = _KIND_OF.get(suffix, "other files")
                skipped[kind] += 1
                if kind in _EXTRAS:
                    examples.setdefault(kind, readable(Path(folder) / name))


def _source(root: Path, path: Path, page: str | None, named: bool = False) -> SourceFile:
    beside = None if page is None else path.with_name(page)
    size, modified = _state(path)
    return SourceFile(
        root=root,
        relative=readable(path.relative_to(root)),
        path=path,
        size=size,
        modified_ns=modified,
        named=named,
        page=beside,
        stamp=" ".join(map(str, (size, modified, *(() if beside is None else _state(beside))))),
    )


def _page(name: str, there: Callable[[str], bool]) -> str | None:
    """Return the name of the HTML beside a picture, if there is one."""
    stems = os.path.splitext(name)[0], name
    return next((page for stem in stems for suffix in PAGES if there(page := stem + suffix)), None)


def _state(path: Path) -> tuple[int, int]:
    """Return the size and the modification time of a file; -1 and 0 for a missing file."""
    try:
        found = path.stat()
    except OSError:
        return -1, 0
    return found.st_size, found.st_mtime_ns


def readable(path: Path) -> str:
    """Return a path as text that can be stored and printed, for any bytes in its name."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def prefix_of(root: Path, aliases: dict[str, str]) -> str:
    """Return the prefix of keys of files below a root: its own alias, or a path below the alias of a root around it.

    A new root gets an alias among ``aliases``, which has the aliases of roots by their paths.
    """
    for folder in (root, *root.parents):
        if (alias := aliases.get(readable(folder))) is not None:
            return alias if folder == root else f"{alias}/{readable(root.relative_to(folder))}"
    wanted = readable(Path(root.name)) if root.name else "root"
    return aliases.setdefault(readable(root), free_alias(wanted, aliases.values()))


class RealPaths:
    """Paths with resolved links; each path and folder is resolved once, because resolving takes system calls."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def of(self, path: Path | str) -> str:
        """Return the real path of a file or folder, as text that can be stored."""
        given = str(path)
        if (known := self._known.get(given)) is not None:
            return known
        folder, name = os.path.split(given)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        joined = os.path.join(self._folders[folder], name)
        real = os.path.realpath(joined) if os.path.islink(joined) else joined
        found = self._known[given] = os.fsencode(real).decode("utf-8", "backslashreplace")
        return found
