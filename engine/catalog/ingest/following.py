"""Items follow their files: files that moved or were renamed, alone or with their root folder, keep their items.

A file is recognised by its content. Its bytes are read only if its size is that of a file that is no longer in its
place, and if the name and the time of the last write do not already identify it. A size and a time that several files
have, such as uncompressed pictures from one archive, identify none of them.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.ingest.contents import UNKNOWN_SIZE, Contents
from crossview.engine.catalog.ingest.file_keys import FileKeys, key_error, match_files
from crossview.engine.catalog.ingest.walk import RealPaths, SourceFile, Walk, prefix_of, readable
from crossview.engine.values.item import FileChanges, FileMove, Stored, may_exist, path_of_source

_PROBED = 8
"""Number of files whose content is compared to recognise a renamed root."""


@dataclass(frozen=True)
class Found:
    """The files of some folders, beside the items and roots of a collection."""

    files: Sequence[SourceFile]
    folders: Sequence[Path]
    known: Mapping[str, Stored]
    """The items by key, oldest first."""
    aliases: Mapping[str, str]
    """The alias of each root by its path."""
    contents: Contents = field(default_factory=Contents)
    paths: RealPaths = field(default_factory=RealPaths)

    def following(self) -> "Following":
        """Return the changes by which items follow their files; the folders of ``found`` can be renamed roots."""
        self.contents.distrust(self._shared())
        roots = self._renamed_roots()
        stored = {key: _in_root(item, roots) for key, item in self.known.items()}
        aliases = {roots.get(path, path): alias for path, alias in self.aliases.items()}
        search = _Search(Found(self.files, self.folders, stored, aliases, self.contents, self.paths))
        places, displaced = search.places(), search.displaced
        moves = tuple(
            FileMove(key, *places.get(key, (key, stored[key].source)))
            for key, before in self.known.items()
            if key in places or stored[key].source != before.source
        )
        new = {}
        for key, item in stored.items():
            name, source = places.get(key, (key, item.source))
            new[name] = item._replace(source=source, missing=item.missing or key in displaced)
        absent = {places[key][0] for key in displaced} | search.shadowed
        return Following(moves, roots, new, search.aliases, frozenset(absent), tuple(displaced), self.paths)

    def _shared(self) -> set[tuple[int, int]]:
        """Return each size and time of several items of different contents, or of several files of which one is new."""
        contents: dict[tuple[int, int], str] = {}
        shared = set()
        for item in self.known.values():
            if contents.setdefault(_state(item), item.content_hash) != item.content_hash:
                shared.add(_state(item))
        places = {self.paths.of(item.source) for item in self.known.values() if item.source}
        files = {self.paths.of(file.path): _state(file) for file in self.files}
        counts = Counter(files.values())
        return shared | {state for path, state in files.items() if counts[state] > 1 and path not in places}

    def _renamed_roots(self) -> dict[str, str]:
        """Return the new paths of roots by their former paths: new folders that have the files of a missing root."""
        missing = [path for path in self.aliases if not may_exist(path_of_source(path))]
        renamed: dict[str, str] = {}
        for folder in self.folders if missing else ():
            if not any(readable(path) in self.aliases for path in (folder, *folder.parents)):
                below = {file.relative: file for file in self.files if file.root == folder}
                same = {root: self._same(root, below) for root in missing if root not in renamed}
                root = max(same, key=lambda path: same[path], default="")
                if root and same[root]:
                    renamed[root] = readable(folder)
        return renamed

    def _same(self, root: str, below: Mapping[str, SourceFile]) -> int:
        """Return how many files of a folder are those of a root; 0 if they are fewer than half of its items."""
        own = {item.source[len(root) + 1 :]: item for item in self.known.values() if item.source.startswith(f"{root}/")}
        fewest = max(1, (len(own) + 1) // 2)
        dated = {relative: item for relative, item in own.items() if item.modified_ns}
        names = {_name(relative, item) for relative, item in dated.items() if self.contents.identify(*_state(item))}
        same = sum(_name(file.relative, file) in names for file in below.values())
        if same >= fewest:
            return same
        # The files of a copied folder have other times.
        pairs = [(file, own[name]) for name, file in below.items() if name in own]
        pairs = [(file, item) for file, item in pairs if item.size in (file.size, UNKNOWN_SIZE)]
        probed = pairs[:: max(1, len(pairs) // _PROBED)]
        equal = sum(self.contents.is_unchanged(file, item) for file, item in probed)
        return len(pairs) if len(pairs) >= fewest and 2 * equal >= len(probed) else 0


@dataclass(frozen=True)
class Following:
    """The changes by which items follow their files, and the state after them."""

    moves: tuple[FileMove, ...]
    roots: Mapping[str, str]
    """New paths of renamed roots by their former paths."""
    known: Mapping[str, Stored]
    """The items by key after the changes, oldest first."""
    aliases: Mapping[str, str]
    absent: frozenset[str]
    """Keys of missing items whose path belongs to another item, after the changes."""
    displaced: tuple[str, ...]
    """Keys, before the changes, of items that lost their path to another file, and so are missing now."""
    paths: RealPaths

    @property
    def moved(self) -> dict[str, str]:
        """The new keys of moved items by their former keys."""
        return {move.key: move.new_key for move in self.moves if move.key != move.new_key}

    def matched(self, walked: Walk) -> FileKeys:
        """Return the item of each found file after the changes."""
        excluded = walked.excluded
        return match_files(walked.files, walked.folders, self.known, self.aliases, self.absent, self.paths, excluded)

    def changes(self, matched: FileKeys) -> FileChanges:
        """Return the changes to write, with those of missing files."""
        former = {move.new_key: move.key for move in self.moves}
        missing = [former.get(key, key) for key in matched.gone if not self.known[key].missing]
        back = [key for key in matched.files if key in self.known and self.known[key].missing]
        return FileChanges(self.moves, (*missing, *self.displaced), tuple(former.get(key, key) for key in back))

    def notes(self) -> tuple[str, ...]:
        """Return a sentence about each renamed root."""
        followed = dict.fromkeys(self.roots.values(), 0)
        for new in followed:
            followed[new] = sum(item.source.startswith(f"{new}/") for item in self.known.values())
        return tuple(f"{former} is now {new}; {followed[new]} items follow it" for former, new in self.roots.items())


def _state(file: SourceFile | Stored) -> tuple[int, int]:
    """Return the size and the time of the last write."""
    return file.size, file.modified_ns


def _name(path: str, file: SourceFile | Stored) -> tuple[str, int, int]:
    """Return what nearly always differs between files: the name, the size and the time of the last write."""
    return os.path.basename(path), *_state(file)


def _in_root(stored: Stored, roots: Mapping[str, str]) -> Stored:
    """Return an item with the path of its file below the renamed root."""
    for former, new in roots.items():
        if stored.source.startswith(f"{former}/"):
            return stored._replace(source=new + stored.source[len(former) :])
    return stored


class _Search:
    """The search for the items of files that are not in the place where they were read.

    A file with unknown content in a known place is a change of the item there. A file with the content of another item
    takes the place: the item that was there is elsewhere, or its file is missing. An item whose file is missing only
    gets a file of its content back.
    """

    def __init__(self, found: Found) -> None:
        self._found, stored = found, found.known
        self.aliases = dict(found.aliases)
        """The roots, with new ones that moved files need."""
        self.displaced: tuple[str, ...] = ()
        paths = found.paths
        self._files = {paths.of(file.path): file for file in reversed(found.files)}
        places = [(paths.of(old.source), key) for key, old in reversed(list(stored.items())) if old.source]
        live = {path: key for path, key in places if not stored[key].missing}
        self._at = {path: key for path, key in places if stored[key].missing} | live
        self.shadowed = {key for path, key in places if stored[key].missing and self._at[path] != key}
        """Missing items whose path belongs to another item."""
        here = [path for path in self._files if path in self._at]
        unchanged = {path for path in here if found.contents.is_unchanged(self._files[path], stored[self._at[path]])}
        home = {self._at[path] for path in unchanged}
        homeless = {old.content_hash for key, old in stored.items() if key not in home} - {""}
        self._changed = {self._at[path]: path for path in here if path not in unchanged}
        """The path of each item whose file has other content."""
        self._giving_way = {
            key
            for key, path in self._changed.items()
            if stored[key].missing or found.contents.of(self._files[path]) in homeless
        }
        self._strangers = {
            path: file
            for path, file in self._files.items()
            if path not in self._at or self._at[path] in self._giving_way
        }
        sizes = {UNKNOWN_SIZE, *(file.size for file in self._strangers.values())}
        self._absent = {
            key: old
            for key, old in stored.items()
            if key not in home and old.source and old.content_hash and old.size in sizes and self._is_absent(key, old)
        }

    def _is_absent(self, key: str, stored: Stored) -> bool:
        if key in self._changed:
            return key in self._giving_way
        return stored.missing or not may_exist(path_of_source(stored.source))

    def places(self) -> dict[str, tuple[str, str]]:
        """Return the new key and the new source of each moved item, by its former key."""
        matched = self._by_name()
        matched |= self._by_content(matched)
        keys = {
            key: (f"{prefix_of(file.root, self.aliases)}/{file.relative}", readable(file.path))
            for key, (_, file) in matched.items()
        }
        keys = {key: place for key, place in keys.items() if not key_error(place[0])}
        keys = self._possible(keys, {key: path for key, (path, _) in matched.items()})
        taken_paths = {matched[key][0] for key in keys}
        self.displaced = tuple(
            key
            for key, path in self._changed.items()
            if key in self._giving_way and key not in keys and (self._found.known[key].missing or path in taken_paths)
        )
        forms = {normal(key) for key in self._found.known} | {normal(key) for key, _ in keys.values()}
        for key in self.displaced:
            name = next(candidate for number in count(1) if normal(candidate := f"{key}~{number}") not in forms)
            forms.add(normal(name))
            keys[key] = name, self._found.known[key].source
        return keys

    def _by_name(self) -> dict[str, tuple[str, SourceFile]]:
        """Return the new files of items that only one has the name, size and time of, without reading them."""
        identify = self._found.contents.identify
        names = {key: _name(item.source, item) for key, item in self._absent.items()}
        new = {path: _name(file.relative, file) for path, file in self._strangers.items() if path not in self._at}
        once, once_new = Counter(names.values()), Counter(new.values())
        by_name = {name: path for path, name in new.items() if once_new[name] == 1 and name[2] and identify(*name[1:])}
        return {
            key: (by_name[name], self._strangers[by_name[name]])
            for key, name in names.items()
            if once[name] == 1 and name in by_name
        }

    def _by_content(self, matched: Mapping[str, tuple[str, SourceFile]]) -> dict[str, tuple[str, SourceFile]]:
        """Return the files with the content of the other items: those of the same name first."""
        rest = {key: item for key, item in self._absent.items() if key not in matched}
        sizes = {item.size for item in rest.values()}
        used = {path for path, _ in matched.values()}
        by_content: dict[str, list[str]] = defaultdict(list)
        for path, file in self._strangers.items():
            if path not in used and (file.size in sizes or UNKNOWN_SIZE in sizes):
                by_content[self._found.contents.of(file)].append(path)
        keys_of: dict[str, list[str]] = defaultdict(list)
        for key, item in rest.items():
            keys_of[item.content_hash].append(key)
        pairs = {}
        for content, keys in keys_of.items():
            paths = sorted(by_content.get(content, ()))
            for key, path in _paired(sorted(keys), paths, lambda key: self._absent[key].source):
                pairs[key] = path, self._strangers[path]
        return pairs

    def _possible(self, keys: dict[str, tuple[str, str]], paths: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return the moves to places that no other item keeps."""
        forms = {normal(key): key for key in self._found.known}
        while True:
            staying = {key for key in self._found.known if key not in keys and key not in self._giving_way}
            bad = [
                key
                for key, (new, _) in keys.items()
                if forms.get(normal(new)) in staying or self._at.get(paths[key]) in staying
            ]
            if not bad:
                return keys
            keys = {key: place for key, place in keys.items() if key not in bad}


def _paired(keys: Sequence[str], paths: Sequence[str], source: Callable[[str], str]) -> Iterable[tuple[str, str]]:
    """Yield pairs of items and files of equal content: those of the same name, then the others in their order."""
    free = list(paths)
    unpaired = []
    for key in keys:
        same = next((path for path in free if os.path.basename(path) == os.path.basename(source(key))), None)
        if same is None:
            unpaired.append(key)
        else:
            free.remove(same)
            yield key, same
    yield from zip(unpaired, free, strict=False)
