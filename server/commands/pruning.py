"""Deletion of items whose files are missing, unless a disk or a large part of a folder seems to be out of reach."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crossview.server.commands.command import again
from crossview.server.commands.common import confirm
from crossview.server.commands.import_report import SHOWN
from crossview.server.commands.output import say

if TYPE_CHECKING:
    from crossview.engine.values.item import ImportReport
    from crossview.server.commands.backend import CollectionBackend

_FEWEST, _SHARE = 20, 0.1
"""The limit of --prune --yes: so many items of a root, or this share of them if that is more."""
_EMPTIED = 5
"""Number of missing items from which a folder that still exists and has no other items may be an empty mount point."""


@dataclass(frozen=True)
class Losses:
    """The missing and all items below the folders that a command follows, by the real paths of their files."""

    roots: Sequence[str]
    missing: Counter[str]
    """Number of missing items below each folder, directly or deeper."""
    items: Counter[str]

    @classmethod
    def of(cls, collection: "CollectionBackend", folders: Iterable[Path], keys: Iterable[str]) -> "Losses":
        """Count the items below the folders, and those of ``keys`` whose files do not exist."""
        from crossview.engine.catalog.ingest.walk import RealPaths
        from crossview.engine.values.item import may_exist, path_of_source
        from crossview.server.wire.pages import LARGEST_SIZE

        paths, lost = RealPaths(), set(keys)
        missing, items = Counter[str](), Counter[str]()
        after = ""
        while page := collection.items(after=after, limit=LARGEST_SIZE):
            for item in page:
                if item.source:
                    folder = str(Path(paths.of(item.source)).parent)
                    items[folder] += 1
                    # An excluded file exists, so no disk is missing.
                    missing[folder] += item.key in lost and not may_exist(path_of_source(item.source))
            after = page[-1].key
        roots = sorted({paths.of(path.expanduser().absolute()) for path in folders if path.is_dir()})
        return cls(roots, _below(+missing), _below(items))

    def reasons(self) -> Iterator[str]:
        """Yield a sentence on each root, and on each folder of a root, whose files seem to be out of reach."""
        for root in self.roots:
            lost, count = self.missing[root], self.items[root]
            if lost and lost == count:
                yield f"all {count} files of {root} are missing"
            elif lost > (limit := max(_FEWEST, int(_SHARE * count))):
                yield f"{lost} of the {count} files of {root} are missing, more than --yes deletes ({limit})"
            for folder in self._whole(root) if lost < count else ():
                if self.missing[folder] >= _EMPTIED and Path(folder).exists():
                    yield f"all {self.missing[folder]} files of {folder} are missing, although the folder exists"
                elif self.missing[folder] > _FEWEST and Path(folder).parent == Path(root):
                    yield f"all {self.missing[folder]} files of {folder} are missing"

    def _whole(self, root: str) -> list[str]:
        """Return the outermost folders below a root of which all items are missing.

        Unmounting a disk leaves an empty folder, or removes the folder, as in /media and /Volumes.
        """
        whole = {folder for folder, lost in self.missing.items() if lost == self.items[folder]}
        inside = root.rstrip("/") + "/"
        return sorted(folder for folder in whole if folder.startswith(inside) and str(Path(folder).parent) not in whole)


def _below(counts: Counter[str]) -> Counter[str]:
    """Return the sums of the counts of folders and of all folders below them."""
    sums = Counter[str]()
    for folder, count in counts.items():
        for path in (Path(folder), *Path(folder).parents):
            sums[str(path)] += count
    return sums


def pruned(
    collection: "CollectionBackend",
    name: str,
    report: "ImportReport",
    folders: Sequence[Path],
    yes: bool,
    limit: int | None,
) -> tuple["ImportReport", str]:
    """Delete the items of missing files, after a question unless ``yes``; return the new report and a refusal or "".

    With ``yes``, the deletion is refused for more than ``limit`` items or, without a limit, if files seem to be out of
    reach.
    """
    missing, count = report.missing, len(report.missing)
    losses = list(Losses.of(collection, folders, missing).reasons()) if limit is None else []
    if yes and (losses or count > (limit or count)):
        reason = "; ".join(losses) or f"{count} files are missing, more than the limit of {limit}"
        return report, (
            f"{reason}: is a disk not mounted? The items stay. If the files are deleted, delete the items of all "
            f"{count} missing files with: {again('--prune-limit', str(count))}"
        )
    if not yes:
        for key in missing[:SHOWN]:
            say(f"  {key}", err=True)
        if count > SHOWN:
            say(f"  and {count - SHOWN} more; --dry-run --json lists them all", err=True)
        for loss in losses:
            say(f"  {loss}: is a disk not mounted?", err=True)
        confirm(
            f"Delete these {count} items of {name}, whose files are missing?",
            f"{count} files are missing; deleting their items needs --yes",
        )
    collection.items.delete(list(missing))
    return replace(report, missing=(), pruned=missing), ""
