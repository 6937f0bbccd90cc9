"""The audit command."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.engine.values.audit import Audit, AuditRequest, Finding
from crossview.server.commands.common import JsonOption, NameArgument, json_text, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.report_options import ReportOption, check_report, made_now

if TYPE_CHECKING:
    from crossview.server.commands.backend import CollectionBackend

SHOWN = 5
"""Default number of keys of a finding."""


@dataclass(frozen=True, kw_only=True)
class AuditedFinding(Finding):
    """A finding with the command that mends it."""

    command: str


@dataclass(frozen=True)
class PrintedAudit:
    """The findings of an audit, and what it did not check."""

    collection: str
    space: str
    items: int
    findings: list[AuditedFinding]
    notes: list[str]


def audit(
    name: NameArgument,
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to search [default: the active one].")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of items to name for each finding.")] = SHOWN,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a page with thumbnails to this .html file."),
    ] = None,
    report: ReportOption = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Find what makes searches worse, or figures too good.

    The command finds held-out near copies of training items, doubtful labels, outliers, labels that no view tells,
    missing and unreadable files, rows and spaces that are out of date, and newer items that differ from the training
    items. It changes nothing: each finding names the command that mends it. A server does not open the source files.

    Examples:
        crossview audit pets
        crossview audit pets --limit 20 --report audit
    """
    if out is not None and out.suffix != ".html":
        raise typer.BadParameter(f"--out writes an HTML page: give a file that ends in .html, not {out}")
    check_report(report)
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        result = collection.audit(AuditRequest(space=space, limit=limit), progress=progress)
        commands = [command_of(name, result, finding) for finding in result.findings]
        printed = _printed(result, commands)
        written = _written(out, report, result, commands, printed, collection)
    if as_json:
        print_json(printed)
        return
    _print(result, commands)
    for path in written:
        say(f"wrote {path}", err=True)


def _printed(result: Audit, commands: list[str]) -> PrintedAudit:
    pairs = zip(result.findings, commands, strict=True)
    findings = [AuditedFinding(**vars(finding), command=command) for finding, command in pairs]
    return PrintedAudit(result.collection, result.space, result.items, findings, list(result.notes))


def _written(
    out: Path | None,
    report: Path | None,
    result: Audit,
    commands: list[str],
    printed: PrintedAudit,
    collection: "CollectionBackend",
) -> list[Path]:
    """Write the page and the report, where the options want them, and return their pages."""
    if out is None and report is None:
        return []
    from crossview.server.commands.drawing.audit_report import AuditReport
    from crossview.server.commands.drawing.page import write_at_once, write_files

    origin, drawn = made_now(), AuditReport(result, commands, collection.items)
    written = []
    if out is not None:
        write_at_once(out, lambda path: path.write_text(drawn.html(origin), encoding="utf-8"))
        written.append(out)
    if report is not None:
        written.append(write_files(report, drawn.files(json_text(printed) + "\n", origin)))
    return written


def command_of(name: str, result: Audit, finding: Finding) -> str:
    """Return the command line that mends a finding, or shows its items."""
    return _COMMANDS[finding.kind](name, result, finding)


def _delete(name: str, _: Audit, finding: Finding) -> str:
    return hint("item delete", name, "--", *finding.keys)


def _prune(name: str, _: Audit, finding: Finding) -> str:
    return hint("index", name, "--prune", "--", *(finding.values or ("PATH",)))


def _relabel(name: str, _: Audit, finding: Finding) -> str:
    return hint("annotate", name, "--label", finding.values[0], "--", finding.keys[0])


def _look(name: str, _: Audit, finding: Finding) -> str:
    return hint("item show", name, "--", finding.keys[0])


def _delete_view(name: str, _: Audit, finding: Finding) -> str:
    return hint("view delete", name, finding.view)


def _centred(name: str, _: Audit, finding: Finding) -> str:
    return hint("index", name, "--view", finding.view, "--vectors", "FILE.npy", "--keys", "FILE.txt")


def _index(name: str, _: Audit, finding: Finding) -> str:
    return hint("index", name, "--", *(finding.values or ("PATH",)))


def _train(name: str, result: Audit, finding: Finding) -> str:
    from crossview.engine.values.labels import as_list

    learner = ("--learner", result.spec) if result.spec else ()
    ignored = ("--ignore-labels", as_list(finding.values)) if finding.values else ()
    return hint("train", name, "--space", result.space, *learner, *ignored)


_COMMANDS: Mapping[str, Callable[[str, Audit, Finding], str]] = {
    "held_out_copies": _delete,
    "doubtful_labels": _relabel,
    "outliers": _look,
    "unclear_labels": _train,
    "missing_files": _prune,
    "unreadable_files": _delete,
    "outdated_rows": _index,
    "lacking_rows": _index,
    "equal_rows": _delete_view,
    "remote_rows": _centred,
    "outdated_space": _train,
    "newer_items": _train,
    "drift": _train,
}


def _print(result: Audit, commands: list[str]) -> None:
    for finding, command in zip(result.findings, commands, strict=True):
        say(f"{finding.kind.replace('_', ' ')}: {finding.sentence}")
        for key, detail in zip_longest(finding.keys, finding.details, fillvalue=""):
            say("  " + ": ".join(filter(None, (key, detail))))
        more = finding.count - max(len(finding.keys), len(finding.details))
        if more > 0 and (finding.keys or finding.details):
            say(f"  and {more:,} more")
        say(f"  {command}")
    if not result.findings:
        say(f"nothing found in {result.items:,} items of {result.collection}, space {result.space}")
    for note in result.notes:
        say(f"note: {note}", err=True)
