"""The item of a file: the item read from it earlier, by any path, or a new one below its root's alias."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from crossview.engine.catalog.checks import check_key, normal
from crossview.engine.catalog.ingest.contents import Contents
from crossview.engine.catalog.ingest.walk import RealPaths, SourceFile, prefix_of, readable
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import DeletedPicture, Failure, Stored, may_exist, path_of_source

_CLASH = "{!r} already has this name, because names are equal in all Unicode forms: rename one of the files"


@dataclass(frozen=True)
class FileKeys:
    """The files of a walk by the keys of their items, and the items without a file."""

    files: Mapping[str, SourceFile]
    gone: tuple[str, ...]
    clashing: tuple[Failure, ...]
    """Files whose key is too long, or belongs to another file, because the names differ only in Unicode form."""
    aliases: Mapping[str, str]
    """The alias of each root by its path, also of new roots."""
    hidden: int = 0
    """How many of the items without a file have one that a pattern excludes."""

    def notes(self) -> tuple[str, ...]:
        """Return a note on items whose files exist and are excluded."""
        if not self.hidden:
            return ()
        return (f"{self.hidden} items count as missing, because patterns exclude their files",)


def match_files(
    files: Sequence[SourceFile],
    folders: Sequence[Path],
    stored: Mapping[str, Stored],
    aliases: Mapping[str, str],
    absent: Collection[str],
    paths: RealPaths,
    excluded: Iterable[str] = (),
) -> FileKeys:
    """Return the items of files found below folders; a file found twice counts at its first place.

    ``stored`` has the items by key, oldest first, and ``aliases`` the alias of each root by its path. The paths of the
    items ``absent`` belong to other items. An item has no file if its file, or a folder around it, is ``excluded``.
    """
    roots = dict(aliases)
    sources = {key: item.source for key, item in stored.items()}
    read = {paths.of(source): key for key, source in reversed(list(sources.items())) if source and key not in absent}
    forms = {normal(key): key for key in reversed(list(sources))}
    file_of: dict[str, SourceFile] = {}
    path_of: dict[str, str] = {}
    clashing: list[Failure] = []
    # Known files come first: a new file can have the name of a known one in another Unicode form.
    for path, file in sorted(((paths.of(file.path), file) for file in files), key=lambda pair: pair[0] not in read):
        if path not in read:
            key = f"{prefix_of(file.root, roots)}/{file.relative}"
            if reason := key_error(key):
                clashing.append(Failure(readable(file.path), reason))
                continue
            read[path] = key if key in sources else forms.setdefault(normal(key), key)
        key = read[path]
        if path_of.setdefault(key, path) == path:
            file_of.setdefault(key, file)
        else:
            clashing.append(Failure(readable(file.path), _CLASH.format(readable(file_of[key].path))))
    searched = tuple(f"{paths.of(folder).rstrip('/')}/" for folder in folders)
    hiding = {paths.of(path) for path in excluded}
    gone, hidden = [], 0
    for key, source in sources.items():
        if source and key not in file_of and (path := paths.of(source)).startswith(searched):
            if key in absent or not may_exist(path_of_source(source)):
                gone.append(key)
            elif hiding and not hiding.isdisjoint((path, *map(str, PurePath(path).parents))):
                gone.append(key)
                hidden += 1
    return FileKeys(file_of, tuple(gone), tuple(clashing), roots, hidden)


def key_error(key: str) -> str:
    """Return why no item can have a key, such as that of a file in very many folders; "" for a valid key."""
    try:
        check_key(key)
    except InvalidInputError as error:
        return str(error)
    return ""


def deleted_before(
    keyed: Mapping[str, SourceFile], existing: Collection[str], deleted: Iterable[DeletedPicture], contents: Contents
) -> set[str]:
    """Return the keys of found files that have not changed since a user deleted their items."""
    by_key = {normal(picture.key): picture for picture in deleted}
    paths = RealPaths()
    by_path = {paths.of(picture.source): picture for picture in by_key.values() if picture.source}
    unchanged = set()
    for key, file in keyed.items():
        if not by_key or key in existing or file.named:
            continue
        picture = by_key.get(normal(key)) or by_path.get(paths.of(file.path))
        if picture is not None and contents.is_unchanged(file, picture):
            unchanged.add(key)
    return unchanged
