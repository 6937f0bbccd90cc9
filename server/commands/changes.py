"""The changes command, which finds the important changes of a page or scene, learned from times alone."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from crossview.server.commands.common import JsonOption, print_json
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.output import say, show, table
from crossview.server.commands.picture_versions import opened
from crossview.server.commands.report_options import made_now

if TYPE_CHECKING:
    from crossview.engine.values.changes import Change, Changes
    from crossview.server.commands.picture_versions import Versions

SHOWN = 10
"""Maximum number of printed changes."""
_DOWN, _ACROSS = ("top", "middle", "bottom"), ("left", "centre", "right")


@dataclass(frozen=True, kw_only=True)
class LearnOptions:
    """The options of the learning."""

    PANEL: ClassVar[str] = "Learning"

    period: Annotated[
        str,
        typer.Option(
            metavar="4h|4steps",
            help="Time after which most versions have changed: a number of steps, min, h, d or w [default: "
            "four times the usual time between versions].",
        ),
    ] = ""
    grid: Annotated[int | None, typer.Option(min=2, max=32, help="Number of regions per side [default: 10].")] = None
    form: Annotated[
        Literal["diagonal", "full", "structural"],
        typer.Option(
            help="Form of the metric: a weight for each region, a full matrix, or a metric learned from rankings."
        ),
    ] = "diagonal"
    important: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="File of labelled pairs: earlier,later,important (yes, no or unclear)."),
    ] = None
    html: Annotated[
        bool,
        typer.Option("--html/--no-html", help="Also compare the pages saved beside the pictures (X.html for X.png)."),
    ] = True


@dataclass(frozen=True, kw_only=True)
class DoOptions:
    """The actions besides printing."""

    PANEL: ClassVar[str] = "Actions"

    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a page with the map, the time line and the pairs.")
    ] = None
    questions: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Ask for the N most informative labels first (needs --important)."),
    ] = None
    image: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="File to draw each pair in [default: a temporary file]."),
    ] = None
    watch: Annotated[
        bool, typer.Option("--watch", help="Continue, and print important changes as pictures arrive.")
    ] = False
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="With --watch: seconds between two checks of the folder.")
    ] = 10.0


def changes(
    source: Annotated[
        str, typer.Argument(metavar="FOLDER|NAME", help="A folder of pictures of one page or view, or a collection.")
    ],
    learn: LearnOptions,
    do: DoOptions,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Collection that stores the pictures of a FOLDER [default: a new one].")
    ] = "",
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
) -> None:
    """Find the important changes between pictures of one page.

    The command learns from time alone: versions near each other in time differ less than versions far apart, except in
    regions that change at random or never. It takes the times from the names of the files (2026-03-09T15-30.png), from
    their EXIF data, or from the files. It stores the pictures of a folder in a collection, so that the next run reads
    only new pictures.

    Examples:
        crossview changes street/
        crossview changes street/ --out why --period 4h
    """
    _check(learn, do)
    from crossview.engine.findings.changes.label_file import read_labels
    from crossview.engine.values.changes import ChangesRequest
    from crossview.server.commands.sessions import LabellingSession, picture_file

    with opened(source, name, learn.grid, connection, not as_json, do.watch) as versions:
        request = ChangesRequest(
            view=versions.view,
            period=learn.period,
            form=learn.form,
            labels=read_labels(learn.important) if learn.important else (),
            structure=learn.html,
            gone=versions.gone,
        )
        if do.watch:
            versions.watch(request, do.every, Printer(as_json))
            return
        if do.questions and learn.important:
            with picture_file(do.image, "pair.png") as picture:
                LabellingSession(versions, request, learn.important, picture, do.questions).run()
            request = replace(request, labels=read_labels(learn.important))
        result = versions.collection.changes(request)
        page = None if do.out is None else _report(do.out, versions, result)
    if as_json:
        print_json(result)
    else:
        _show(result, page)


def _check(learn: LearnOptions, do: DoOptions) -> None:
    if do.questions and learn.important is None:
        raise typer.BadParameter("--questions needs --important FILE.csv, where the answers are kept")
    if do.image and not do.questions:
        raise typer.BadParameter("--image is for the pairs of --questions N")
    if do.watch and (do.questions or do.out):
        raise typer.BadParameter("--watch prints changes only: run the command without it for --questions and --out")
    from crossview.engine.findings.changes.times import Period

    if learn.period:
        Period.parse(learn.period)


def _report(folder: Path, versions: "Versions", result: "Changes") -> Path:
    from crossview.server.commands.drawing.change_report import write_report

    return write_report(folder, versions.drawn(), result, made_now())


def _show(result: "Changes", page: Path | None) -> None:
    learned = result.learned
    order = "" if learned.order is None else f", {learned.order:.0%} of comparisons held out in time in order"
    labels = f" and {learned.labels} labels" if learned.labels else ""
    say(
        f"{result.versions} versions from {result.first:%Y-%m-%d %H:%M} to {result.last:%Y-%m-%d %H:%M} by their "
        f"{result.source}, period {result.period}\nlearned from {learned.quadruplets:,} comparisons of pairs{labels}: "
        f"{learned.form} metric, C={learned.weight:g}{order}"
    )
    for note in result.notes:
        say(f"note: {note}")
    important = sorted((change for change in result.changes if change.important), key=lambda change: -change.importance)
    say(f"{len(important)} of {len(result.changes)} changes are important" + (":" if important else ""))
    if important:
        rows = table("time", ">importance", "earlier", "later", "where")
        for change in important[:SHOWN]:
            rows.add_row(
                f"{change.time:%Y-%m-%d %H:%M}", f"{change.importance:.2f}", change.earlier, change.later, where(change)
            )
        show(rows)
    if len(important) > SHOWN:
        say(f"and {len(important) - SHOWN} more; --json lists them all")
    say("the page is " + str(page) if page else "see why with --out DIR; label some pairs with --questions N")


def where(change: "Change") -> str:
    """Return the ninth of the picture that contributes most to a change, in words."""
    grid = round(len(change.regions) ** 0.5)
    ninths: dict[str, float] = {}
    for place, share in enumerate(change.regions):
        down, across = _DOWN[3 * (place // grid) // grid], _ACROSS[3 * (place % grid) // grid]
        ninths[f"{down} {across}"] = ninths.get(f"{down} {across}", 0.0) + share
    return max(ninths, key=lambda name: ninths[name])


@dataclass(frozen=True)
class Printer:
    """Prints the results of watching, as lines of text or JSON."""

    as_json: bool

    def begun(self, result: "Changes") -> None:
        """Print a summary of the learned state."""
        count = sum(change.important for change in result.changes)
        text = f"{result.versions} versions, {count} important changes so far; waiting for more (Ctrl-C ends)"
        say(text, err=True)

    def change(self, change: "Change") -> None:
        """Print an important change."""
        if self.as_json:
            print_json(change)
        else:
            say(f"{change.time:%Y-%m-%d %H:%M}  {change.importance:.2f}  {change.later}  {where(change)}")

    def note(self, text: str) -> None:
        """Print why watching cannot continue yet."""
        say(text, err=True)
