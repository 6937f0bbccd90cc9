"""Search of folders for files to index."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crossview.engine.catalog.ingest.exclusions import IGNORE_FILE, MADE_BY_SYSTEMS, Pattern, read_patterns
from crossview.engine.catalog.roots import free_alias
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure
from crossview.features.extras import install_command
from crossview.features.files import open_regular
from crossview.features.formats import HEAD_BYTES, SUFFIXES, begins_like_a_picture

HIDDEN = "hidden"
PAGES = (".html", ".htm")
"""Suffixes of pages beside pictures."""
SIDECARS = (".xmp", ".XMP")
"""Suffixes of files with metadata beside pictures."""
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
PICTURES = frozenset(_KINDS) - {"PDF", "SVG", "video"}
"""The kinds of skipped files that are pictures."""
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
    sidecar: Path | None = None
    """The file of XMP metadata beside the picture: ``page.png.xmp`` or ``page.xmp`` for ``page.png``."""
    stamp: str = ""
    """A text that changes with the file, its page or its sidecar."""


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
    failures: tuple[Failure, ...]
    """Folders that cannot be read, and lines of ignore files that are not patterns."""
    excluded: frozenset[str]
    """The absolute paths of files and folders that a pattern excludes."""
    made_by_systems: Counter[str]
    """Numbers of folders that are excluded because systems make them, by name."""

    def notes(self) -> tuple[str, ...]:
        """Return notes on skipped files that an extra reads, and on folders that are excluded by default."""
        extras = (
            f"{self.skipped[kind]} {kind} left out, such as {path}: to read them, run: {install_command(_EXTRAS[kind])}"
            for kind, path in sorted(self.examples.items())
        )
        names = ", ".join(f"{count} {name}" for name, count in sorted(self.made_by_systems.items()))
        default = (f"folders that systems make are left out: {names}; to index one, name it as a path",)
        return (*extras, *(default if names else ()))


def walk(paths: Iterable[Path | str], exclude: Iterable[str] = ()) -> Walk:
    """Find the picture files of folders, in the order of their paths, and every file that the paths name.

    Hidden files and folders are skipped, and those that a pattern of ``exclude``, of an ignore file or of
    ``MADE_BY_SYSTEMS`` matches; links to folders are not followed, and a file is found once for each root. A file that
    vanishes during the search has size -1, so that reading it reports the reason.

    Raises InvalidInputError for a path that does not exist, and for an invalid pattern.
    """
    roots = list(dict.fromkeys(Path(os.path.abspath(Path(path).expanduser())) for path in paths))
    for root in roots:
        if not root.exists():
            raise InvalidInputError(f"the file or folder {readable(root)} does not exist")
    search = _Search(tuple(exclude))
    files = tuple(file for root in roots for file in search.files(root))
    return Walk(
        files,
        tuple(root for root in roots if root.is_dir()),
        search.skipped,
        search.examples,
        tuple(search.failures),
        frozenset(search.excluded),
        search.made_by_systems,
    )


@dataclass
class _Search:
    """The search of some roots, and what it leaves out."""

    exclude: tuple[str, ...]
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    excluded: set[str] = field(default_factory=set)
    made_by_systems: Counter[str] = field(default_factory=Counter)

    def files(self, root: Path) -> Iterator[SourceFile]:
        """Yield the files of a root."""
        patterns = {str(root): tuple(Pattern.of(text, str(root)) for text in self.exclude)}
        if not root.is_dir():
            yield _source(root.parent, root, lambda name: (root.parent / name).is_file(), named=True)
            return
        for folder, folders, files in os.walk(root, onerror=self._failed):
            here = patterns.pop(folder)
            if IGNORE_FILE in files:
                own, reasons = read_patterns(Path(folder) / IGNORE_FILE)
                here += own
                self.failures += (Failure(readable(Path(folder) / IGNORE_FILE), reason) for reason in reasons)
            folders[:] = self._searched(folder, folders, here)
            patterns |= {os.path.join(folder, name): here for name in folders}
            there, sidecars = set(files).__contains__, set[str]()
            for name in sorted(files):
                if name not in sidecars and self._is_picture(folder, name, here):
                    yield (file := _source(root, Path(folder) / name, there))
                    sidecars |= {file.sidecar.name} if file.sidecar else set()

    def _failed(self, error: OSError) -> None:
        self.failures.append(Failure(readable(Path(error.filename)), f"the folder cannot be read: {error.strerror}"))

    def _searched(self, folder: str, names: Sequence[str], patterns: Sequence[Pattern]) -> list[str]:
        """Return the folders to search among those in a folder, in order, and count the others."""
        searched = []
        for name in sorted(names):
            if name.startswith("."):
                self.skipped[HIDDEN] += 1
            elif os.path.islink(os.path.join(folder, name)):
                self.skipped["links to folders"] += 1
            elif name in MADE_BY_SYSTEMS:
                self.made_by_systems[name] += 1
                self._exclude(folder, name)
            elif any(pattern.matches(folder, name, is_folder=True) for pattern in patterns):
                self._exclude(folder, name)
            else:
                searched.append(name)
        return searched

    def _is_picture(self, folder: str, name: str, patterns: Sequence[Pattern]) -> bool:
        """Return whether to index a file in a folder, and count the others."""
        suffix = os.path.splitext(name)[1].lower()
        if name.startswith("."):
            self.skipped[HIDDEN] += 1
        elif any(pattern.matches(folder, name, is_folder=False) for pattern in patterns):
            self._exclude(folder, name)
        elif suffix in SUFFIXES or (not suffix and _begins_like_a_picture(os.path.join(folder, name))):
            return True
        else:
            kind = _KIND_OF.get(suffix, "other files")
            self.skipped[kind] += 1
            if kind in _EXTRAS:
                self.examples.setdefault(kind, readable(Path(folder) / name))
        return False

    def _exclude(self, folder: str, name: str) -> None:
        self.skipped["excluded"] += 1
        self.excluded.add(os.path.join(folder, name))


def _begins_like_a_picture(path: str) -> bool:
    """Return whether a file without a suffix has the first bytes of a picture; False if it cannot be read."""
    try:
        with open_regular(path) as file:
            return begins_like_a_picture(file.read(HEAD_BYTES))
    except OSError:
        return False


def _source(root: Path, path: Path, there: Callable[[str], bool], named: bool = False) -> SourceFile:
    """Return a file; ``there`` tells whether its folder has a file of a name."""
    stem = os.path.splitext(path.name)[0]
    page, sidecar = _beside(path, (stem, path.name), PAGES, there), _beside(path, (path.name, stem), SIDECARS, there)
    size, modified = _state(path)
    states = [state for side_file in (page, sidecar) if side_file is not None for state in _state(side_file)]
    return SourceFile(
        root=root,
        relative=readable(path.relative_to(root)),
        path=path,
        size=size,
        modified_ns=modified,
        named=named,
        page=page,
        sidecar=sidecar,
        stamp=" ".join(map(str, (size, modified, *states))),
    )


def _beside(path: Path, stems: Iterable[str], suffixes: Iterable[str], there: Callable[[str], bool]) -> Path | None:
    """Return the file beside a picture with the first of some stems and suffixes, if there is one."""
    names = (stem + suffix for stem in stems for suffix in suffixes)
    return next((path.with_name(name) for name in names if there(name)), None)


def _state(path: Path) -> tuple[int, int]:
    """Return the size and the modification time of a file; -1 and 0 for a missing file."""
    try:
        status = path.stat()
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


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
    name = readable(Path(root.name)) if root.name else "root"
    return aliases.setdefault(readable(root), free_alias(name, aliases.values()))


class RealPaths:
    """Paths with resolved links; each path and folder is resolved once, because resolving takes system calls."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def of(self, path: Path | str) -> str:
        """Return the real path of a file or folder, as text that can be stored."""
        text = str(path)
        if (cached := self._known.get(text)) is not None:
            return cached
        folder, name = os.path.split(text)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        joined = os.path.join(self._folders[folder], name)
        real = os.path.realpath(joined) if os.path.islink(joined) else joined
        result = self._known[text] = os.fsencode(real).decode("utf-8", "backslashreplace")
        return result
