"""Following of folders by the index command: runs of indexing, deletion of items without a file, and watching."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crossview.server.commands.command import again
from crossview.server.commands.common import confirm, print_json
from crossview.server.commands.import_report import SHOWN, show_report, since
from crossview.server.commands.index_options import FollowOptions
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.values.item import ImportReport, IndexOptions
    from crossview.server.commands.backend import CollectionBackend

_SETTLED_MS, _LONGEST_MS = 1_000, 60_000
"""Milliseconds without a change after which a run begins, so that a copied folder is complete, and at most so long."""
_WATCHED_MS = 1_000
"""Milliseconds within which a watch has begun."""
_EVERY_SECONDS = 5.0
"""Seconds between looks at a folder that does not exist."""
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "fuse.", "ceph", "glusterfs", "vboxsf", "prl_fs", "webdav", "davfs")
"""Beginnings of the types of file systems that do not report changes by other machines."""
_FEWEST, _SHARE = 20, 0.1
"""The limit of --prune --yes: so many items of a root, or this share of them if that is more."""
_EMPTIED = 5
"""Number of missing items from which a folder that still exists and has no other items may be an empty mount point."""


@dataclass(frozen=True)
class Follower:
    """A collection that follows folders."""

    collection: "CollectionBackend"
    name: str
    paths: Sequence[Path]
    options: "IndexOptions"
    follow: FollowOptions
    as_json: bool

    def once(self, show_progress: bool = True) -> tuple["ImportReport", str]:
        """Index the folders once, and delete the items of missing files if the options say so.

        Return the report, and why the items stay although the options say so, or "".
        """
        began = time.monotonic()
        with progress_bar(show_progress and not self.as_json, "images") as progress:
            report = self.collection.index(self.paths, self.options, progress=progress)
        if self.follow.on_import is not None and report.added_keys:
            report = replace(report, copies=self._copies(set(report.added_keys)))
        refusal = ""
        if self.follow.prune and report.missing and not self.follow.dry_run:
            follow = self.follow
            report, refusal = pruned(self.collection, self.name, report, self.paths, follow.yes, follow.prune_limit)
        return since(began, report), refusal

    def _copies(self, new: set[str]) -> dict[str, str]:
        """Return which new items are copies of which others, and delete them if they are to be left out.

        Their tombstones keep the files out of later runs.
        """
        from crossview.engine.values.duplicate import DuplicatesRequest

        copies: dict[str, str] = {}
        for group in self.collection.duplicates(DuplicatesRequest()).groups:
            if group.kind == "copies":
                keys = [picture.key for picture in (group.keeper, *group.members)]
                first = next((key for key in keys if key not in new), keys[0])
                copies |= {key: first for key in keys if key in new and key != first}
        if self.follow.on_import == "skip":
            self.collection.items.delete(list(copies))
        return copies

    def watch(self) -> None:
        """Follow the folders until Ctrl-C; print the report of each run that changes something."""
        first, refused = self.once()
        self.show(first)
        self._say_refusal(refused)
        missing = set(first.missing)
        if not self.as_json:
            say("watching; Ctrl-C ends", err=True)
        for _ in self._settled():
            from crossview.engine.values.errors import CrossviewError

            try:
                report, refusal = self.once(show_progress=False)
            except CrossviewError as error:  # for example, the folder is being renamed
                say(f"not indexed: {error}", err=True)
                continue
            new = replace(report, missing=tuple(key for key in report.missing if key not in missing), skipped={})
            missing = set(report.missing)
            if new.added or new.updated or new.moved or new.missing or new.pruned or new.failures:
                self.show(new)
            if refusal != refused:
                self._say_refusal(refusal)
            refused = refusal

    def _say_refusal(self, refusal: str) -> None:
        if refusal:
            say(f"error: {refusal}", err=True)

    def _settled(self) -> Iterator[None]:
        """Yield when the watch has begun, and whenever files in the folders have changed and then rested.

        The run after the beginning of a watch finds the changes of before.
        """
        import watchfiles

        while True:
            if gone := [path for path in self.paths if not path.exists()]:
                say(f"waiting for {gone[0]}, which does not exist", err=True)
                while any(not path.exists() for path in self.paths):
                    time.sleep(_EVERY_SECONDS)
                yield
            polling = any(_reports_no_changes(path) for path in self.paths) or None
            begun = False
            for changes in watchfiles.watch(
                *self.paths,
                watch_filter=None,
                step=_SETTLED_MS,
                debounce=_LONGEST_MS,
                rust_timeout=_WATCHED_MS,
                yield_on_timeout=True,
                force_polling=polling,
                raise_interrupt=True,
            ):
                if changes or not begun:
                    yield
                begun = True
                if not all(path.exists() for path in self.paths):
                    break

    def show(self, report: "ImportReport") -> None:
        """Print a report."""
        if self.as_json:
            print_json(report)
            return
        files = report.added + report.updated + report.unchanged + len(report.failures) + sum(report.skipped.values())
        if files or report.deleted or report.missing or report.pruned:
            follow = self.follow
            skipped = follow.on_import == "skip"
            show_report(report, self.name, dry_run=follow.dry_run, skipped=skipped, pruning=follow.prune)
            return
        from crossview.features.formats import KNOWN

        say(f"no pictures found: folders are searched for {KNOWN} files")


def _reports_no_changes(path: Path) -> bool:
    """Return whether a path is on a file system of another machine, as far as this system tells."""
    try:
        lines = Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    mounts = [(fields[1].replace("\\040", " "), fields[2]) for fields in map(str.split, lines) if len(fields) > 2]
    where = f"{path.absolute()}/"
    around = [mount for mount in mounts if where.startswith(f"{mount[0].rstrip('/')}/")]
    _, kind = max(around, key=lambda mount: len(mount[0]), default=("", ""))
    return kind.startswith(_NETWORK)


def check_follow(follow: FollowOptions) -> None:
    """Raise BadParameter for options that exclude each other."""
    if follow.prune and follow.watch and not follow.yes:
        raise typer.BadParameter("--watch cannot ask before it deletes items: give --yes with --prune")
    if follow.watch and follow.dry_run:
        raise typer.BadParameter("--watch changes the collection, and --dry-run does not: leave one of them out")
    if follow.prune_limit is not None and not (follow.prune and follow.yes):
        raise typer.BadParameter("--prune-limit is the limit of --prune --yes: give both")
    if follow.words and follow.dry_run:
        raise typer.BadParameter("--words adds a view, and --dry-run changes nothing: leave one of them out")
    if follow.on_import is not None and follow.dry_run:
        raise typer.BadParameter("--on-import compares pictures that are in the collection: leave out --dry-run")
    if follow.yes and not follow.prune:
        raise typer.BadParameter("--yes answers the question of --prune: give both")


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
