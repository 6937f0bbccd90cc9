"""The audit of a collection: all findings, from one state of the collection in each part."""

from collections.abc import Callable, Iterator, Sequence

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.description import RAW
from crossview.engine.catalog.joined import joined_view, part_names
from crossview.engine.findings.audit.neighbourhoods import Neighbourhoods, doubtful_labels, drift, outliers
from crossview.engine.findings.audit.split import Split
from crossview.engine.findings.audit.upkeep import faulty_files, outdated_views, poor_views, state_of_space
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.near_copies import copies_in_view
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.spaces.versions import Versions
from crossview.engine.values.audit import KINDS, Audit, AuditRequest, Finding

_AT_ONCE = 1_000
_COPIES = 10
"""Number of near copies to look at for a held-out item, among which one may be a training item."""


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
        findings=tuple(sorted(findings, key=lambda one: KINDS.index(one.kind))),
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
    """Return the findings from the nearest items in single views."""

    def targets(_: Version, raw: Space) -> list[Target]:
        return [target for target in raw.targets if target.view in views]

    def found(raw: SearchState) -> list[Finding]:
        chosen = [view for view in views if view in raw.space.views]
        near = Neighbourhoods(raw, split, chosen)
        return [*doubtful_labels(near, ignored, limit), *outliers(near, limit), *drift(near, limit)]

    return versions.answered(RAW, targets, found)


def _held_out_copies(versions: Versions, space: Space, split: Split, limit: int) -> list[Finding]:
    """Return the finding of held-out items whose row nearly equals that of a training item.

    As in searches, a view whose rows hardly differ between a picture and a changed copy decides, if the space has one.
    """
    sketches = [one for one in space.sketches if one.view == (space.robust_view or one.view)]
    if not sketches or not len(split.held_out):
        return []

    def found(state: SearchState) -> dict[int, int]:
        copies, trained = dict[int, int](), set(split.trained.tolist())
        for sketch in sketches:
            for start in range(0, len(split.held_out), _AT_ONCE):
                checkpoint()
                with state.version.read() as tx:
                    rows = joined_view(tx, sketch.view).rows(tx, split.held_out[start : start + _AT_ONCE].tolist())
                near = copies_in_view(state, sketch.view, rows.rows, rows.ids.tolist(), _COPIES)
                for item, some in zip(rows.ids.tolist(), near, strict=True):
                    if (copy := next((one for one in some if one in trained), None)) is not None:
                        copies.setdefault(item, copy)
        return copies

    copies = versions.answered(space.name, lambda _, one: [sketch.target for sketch in one.sketches], found)
    if not copies:
        return []
    shown = sorted(copies)[:limit]
    share = len(copies) / len(split.held_out)
    are = "item is a near copy" if len(copies) == 1 else "items are near copies"
    return [
        Finding(
            kind="held_out_copies",
            count=len(copies),
            sentence=f"{len(copies):,} held-out {are} of training items, {share:.0%} of those held out: they flatter "
            "every evaluation. Delete them, or train with a group for each picture and its copies",
            keys=split.names(shown),
            details=tuple(f"a copy of {split.keys[copies[item]]}" for item in shown),
        )
    ]
