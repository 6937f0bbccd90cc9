"""The audit of a collection: all findings, from one state of the collection in each part."""

from collections.abc import Callable, Iterator, Sequence

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.description import RAW
from crossview.engine.catalog.extractors import view_info
from crossview.engine.catalog.joined import joined_view, part_names
from crossview.engine.catalog.values import REMOTE, remoteness
from crossview.engine.findings.audit.neighbourhoods import Neighbourhoods, Split, doubtful_labels, drift, outliers
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.near_copies import copies_in_view
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.spaces.versions import Versions
from crossview.engine.values.audit import KINDS, Audit, AuditRequest, Finding, Kind
from crossview.engine.values.item import path_of_source
from crossview.features.files import open_regular

_COMPARED = 1_000
"""Number of rows that show how far those of a view are from 0."""
_NEWER = 0.1
"""Share of items newer than the training from which it is a finding."""
_AT_ONCE = 1_000
_COPIES = 10
"""Number of near copies to look at for a held-out item, among which one may be a training item."""


def faulty_files(tx: Transaction, keys: dict[int, str], limit: int) -> Iterator[Finding]:
    """Yield the findings of source files that are gone, and of those that cannot be read or are empty."""
    folders = tuple(sorted(path for path in tx.roots.aliases() if path_of_source(path).is_dir()))
    missing, unreadable = list[tuple[str, str]](), list[tuple[str, str]]()
    for item, source in tx.items.each("source"):
        checkpoint()
        if not source:
            continue
        try:
            with open_regular(path_of_source(source)) as file:
                if not file.read(1):
                    unreadable.append((keys[item], f"{source} is empty"))
        except (FileNotFoundError, NotADirectoryError):
            missing.append((keys[item], f"{source} does not exist"))
        except OSError as error:
            unreadable.append((keys[item], f"{source}: {error.strerror}"))
    kinds: tuple[tuple[Kind, list[tuple[str, str]], str], ...] = (
        (
            "missing_files",
            missing,
            "let the collection follow their folder; it then deletes their items, and a file that is back is indexed",
        ),
        ("unreadable_files", unreadable, "a view that is fitted again cannot read them: replace or remove the files"),
    )
    for kind, faults, words in kinds:
        if faults:
            yield Finding(
                kind=kind,
                count=len(faults),
                sentence=f"{len(faults):,} source {'file is' if len(faults) == 1 else 'files are'} "
                f"{kind.partition('_')[0]}: {words}",
                keys=tuple(key for key, _ in sorted(faults)[:limit]),
                details=tuple(reason for _, reason in sorted(faults)[:limit]),
                values=folders if kind == "missing_files" else (),
            )


def outdated_views(tx: Transaction, keys: dict[int, str], limit: int) -> Iterator[Finding]:
    """Yield the findings of views with rows of an earlier fit, and of views that items with their input lack."""
    sources = {item for item, source in tx.items.each("source") if source}
    inputs = {"image": sources, "text": set(tx.items.with_text())}
    folders = tuple(sorted(tx.roots.aliases()))
    for view in tx.views.all():
        current, stored = set(tx.rows.ids(view).tolist()), set(tx.rows.with_view(view).tolist())
        possible = set[int]().union(
            *(inputs[kind_of_input] for kind_of_input in view_info(view).inputs if kind_of_input in inputs)
        )
        kinds: tuple[tuple[Kind, set[int], str], ...] = (
            ("outdated_rows", stored - current, "have rows of an earlier fit, and no search finds them"),
            ("lacking_rows", possible - stored, "have no row, and no search finds them"),
        )
        for kind, items, words in kinds:
            if items:
                yield Finding(
                    kind=kind,
                    count=len(items),
                    sentence=f"{len(items):,} of {len(keys):,} items {words} by view {view.name!r}: index them again",
                    keys=tuple(sorted(keys[item] for item in items)[:limit]),
                    values=folders,
                    view=view.name,
                )


def poor_views(tx: Transaction) -> Iterator[Finding]:
    """Yield the findings of views whose rows are all equal, and of those that float32 rounds too much."""
    for record in tx.views.all():
        checkpoint()
        view = joined_view(tx, record.name)
        ids, words = view.ids(tx), ""
        kind: Kind | None = None
        some = view.rows(tx, ids[:: max(1, len(ids) // _COMPARED)].tolist()).rows
        if view.has_equal_rows(tx):
            kind, words = "equal_rows", "are equal, so that they tell no item from another: delete the view"
        elif (times := remoteness(some)) > REMOTE:
            kind = "remote_rows"
            words = (
                f"are {times:.0e} times as far from 0 as from each other, and float32 rounds their differences: "
                "subtract their mean, and add them again"
            )
        if kind is not None:
            sentence = f"the {len(ids):,} rows of view {view.name!r} {words}"
            yield Finding(kind=kind, count=len(ids), sentence=sentence, view=view.name)


def state_of_space(tx: Transaction, space: Space, split: Split, limit: int) -> Iterator[Finding]:
    """Yield the findings of labels that the space does not recognise, of a view fitted again, and of newer items."""
    unclear = [label for label in space.labels if label.faults]
    if unclear:
        yield Finding(
            kind="unclear_labels",
            count=len(unclear),
            sentence=f"{len(unclear):,} of {len(space.labels):,} labels are perhaps not classes, because no view tells "
            "their items from others, or because of their names: train without them",
            details=tuple(f"{label.label}: {label.reason()}" for label in unclear[:limit]),
            values=tuple(label.label for label in unclear),
        )
    if space.name == RAW:
        return
    if (view := space.outdated(tx.views.all())) is not None:
        yield Finding(
            kind="outdated_space",
            count=len(split.trained),
            sentence=f"view {view.name!r} was fitted again after the training of space {space.name!r}, which cannot "
            "answer: train it again",
            view=view.name,
        )
    total = len(split.trained) + len(split.held_out) + len(split.newer)
    if total and len(split.newer) >= _NEWER * total:
        yield Finding(
            kind="newer_items",
            count=len(split.newer),
            sentence=f"{len(split.newer) / total:.0%} of the items are newer than the training of space "
            f"{space.name!r}, which knows nothing of them: train it again",
            keys=split.names(split.newer[::-1][:limit].tolist()),
        )


def audit(versions: Versions, tx: Transaction, space: Space, request: AuditRequest, progress: Progress | None) -> Audit:
    """Return the findings; see ``Collection.audit``. ``space`` is the space of the request."""
    split, keys = Split.of(tx, space), tx.items.keys()
    views = tuple(dict.fromkeys(part for view in space.views for part in part_names(view)))
    fresh = space.outdated(tx.views.all()) is None
    steps: list[Callable[[], list[Finding]]] = [
        lambda: list(state_of_space(tx, space, split, request.limit)),
        lambda: [*outdated_views(tx, keys, request.limit), *poor_views(tx)],
        lambda: list(faulty_files(tx, keys, request.limit)) if request.files else [],
        lambda: _held_out_copies(versions, space, split, request.limit) if fresh else [],
        lambda: _in_views(versions, split, views, space.ignored_labels, request.limit) if keys else [],
    ]
    findings = list[Finding]()
    for number, step in enumerate(steps, 1):
        checkpoint()
        findings += step()
        if progress is not None:
            progress("auditing", number, len(steps))
    return Audit(
        collection=tx.name(),
        space=space.name,
        spec=space.spec,
        items=len(keys),
        findings=tuple(sorted(findings, key=lambda finding: KINDS.index(finding.kind))),
        notes=tuple(_notes(space, request, split, fresh)),
    )


def _notes(space: Space, request: AuditRequest, split: Split, fresh: bool) -> Iterator[str]:
    if space.name == RAW:
        yield "the space 'raw' learns nothing: copies of training items, newer items and drift are not checked"
    elif not len(split.held_out):
        yield f"space {space.name!r} held no item out: copies of training items are not checked"
    elif not space.sketches:
        yield f"space {space.name!r} has no sketches of rows: copies of training items are not checked; train it again"
    if not fresh:
        yield f"space {space.name!r} is out of date: copies of training items are not checked"
    if not request.files:
        yield "the source files of the items are not opened: a server does not, so audit them without a server"


def _in_views(
    versions: Versions, split: Split, views: Sequence[str], ignored: Sequence[str], limit: int
) -> list[Finding]:

    def targets(_: Version, raw: Space) -> list[Target]:
        return [target for target in raw.targets if target.view in views]

    def findings(raw: SearchState) -> list[Finding]:
        usable_views = [view for view in views if view in raw.space.views]
        near = Neighbourhoods(raw, split, usable_views)
        return [*doubtful_labels(near, ignored, limit), *outliers(near, limit), *drift(near, limit)]

    return versions.answered(RAW, targets, findings)


def _held_out_copies(versions: Versions, space: Space, split: Split, limit: int) -> list[Finding]:
    """Return the finding of held-out items whose row nearly equals that of a training item.

    As in searches, a view whose rows hardly differ between a picture and a changed copy decides, if the space has one.
    """
    sketches = [sketch for sketch in space.sketches if sketch.view == (space.robust_view or sketch.view)]
    if not sketches or not len(split.held_out):
        return []

    def copies_by_item(state: SearchState) -> dict[int, int]:
        copies, trained = dict[int, int](), set(split.trained.tolist())
        for sketch in sketches:
            for start in range(0, len(split.held_out), _AT_ONCE):
                checkpoint()
                with state.version.read() as tx:
                    rows = joined_view(tx, sketch.view).rows(tx, split.held_out[start : start + _AT_ONCE].tolist())
                near = copies_in_view(state, sketch.view, rows.rows, rows.ids.tolist(), _COPIES)
                for item, some in zip(rows.ids.tolist(), near, strict=True):
                    if (copy := next((candidate for candidate in some if candidate in trained), None)) is not None:
                        copies.setdefault(item, copy)
        return copies

    copies = versions.answered(space.name, lambda _, own: [sketch.target for sketch in own.sketches], copies_by_item)
    if not copies:
        return []
    items = sorted(copies)[:limit]
    share = len(copies) / len(split.held_out)
    are = "item is a near copy" if len(copies) == 1 else "items are near copies"
    return [
        Finding(
            kind="held_out_copies",
            count=len(copies),
            sentence=f"{len(copies):,} held-out {are} of training items, {share:.0%} of those held out: they flatter "
            "every evaluation. Delete them, or train with a group for each picture and its copies",
            keys=split.names(items),
            details=tuple(f"a copy of {split.keys[copies[item]]}" for item in items),
        )
    ]
