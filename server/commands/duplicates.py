"""The duplicates command: groups of copies, their files, the judgements of people, and labels spread within groups."""

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.server.commands.common import (
    JsonOption,
    NameArgument,
    YesOption,
    confirm,
    print_json,
    print_result,
    size,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.duplicate_files import COLUMNS, Pictures, check_files, rows_of, write_files, write_report
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table
from crossview.server.commands.report_options import ReportOption, check_report

if TYPE_CHECKING:
    from crossview.engine.values.duplicate import DuplicateGroup, DuplicatePicture, Duplicates, PairJudgement, Relation
    from crossview.server.commands.backend import CollectionBackend

SHOWN = 20
"""Number of groups in the printed table."""


@dataclass(frozen=True, kw_only=True)
class FindOptions:
    """The pictures that count as duplicates."""

    PANEL: ClassVar[str] = "Duplicates"

    against: Annotated[
        str, typer.Option(metavar="OTHER", help="Only copies of pictures of this collection, which are kept.")
    ] = ""
    relation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELATION",
            help="Only these: identical, recompressed, resized, greyscale, cropped, rotated, mirrored, edited, judged "
            "or burst; repeat to add.",
        ),
    ] = None
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of groups, those of the most bytes [default: all].")
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """The judgements of a person on pairs."""

    PANEL: ClassVar[str] = "Judgements"

    same: Annotated[
        tuple[str, str] | None,
        typer.Option("--same", metavar="A B", help="State that two items are the same photograph, for ever."),
    ] = None
    different: Annotated[
        tuple[str, str] | None, typer.Option("--not", metavar="A B", help="State that two items are not duplicates.")
    ] = None
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last statement.")] = False
    judgements: Annotated[bool, typer.Option("--judgements", help="List the statements.")] = False

    def chosen(self) -> int:
        """Return how many of the options are given."""
        return sum((self.same is not None, self.different is not None, self.undo, self.judgements))


@dataclass(frozen=True, kw_only=True)
class DoOptions:
    """The actions besides printing."""

    PANEL: ClassVar[str] = "Actions"

    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write a page (.html), a contact sheet (.png, .jpg, .pdf), a table (.csv), or a script that moves the "
            "copies to a folder (.sh, with --to); repeat to add.",
        ),
    ] = None
    report: ReportOption = None
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="With a script: folder to move the copies to.")] = None
    spread_labels: Annotated[
        bool, typer.Option("--spread-labels", help="Give unlabelled pictures the labels of their group.")
    ] = False
    yes: YesOption = False


@dataclass(frozen=True)
class SpreadLabel:
    """A picture without labels, and those that the labelled pictures of its group have."""

    key: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class SpreadLabels:
    """The pictures that got labels, and the keepers of groups whose pictures have different labels."""

    changed: list[SpreadLabel]
    disagreeing: list[str]


def duplicates(
    name: NameArgument,
    conditions: FilterOptions,
    find: FindOptions,
    judge: JudgeOptions,
    do: DoOptions,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Find copies of the same photograph, and bursts.

    Each group has a picture that is proposed to be kept, and the others with what they are to it. Nothing is deleted. A
    script moves the others to a folder when you run it.

    Examples:
        crossview duplicates pets
        crossview duplicates pets --out copies.html --out move.sh --to /tmp/copies
        crossview duplicates pets --report copies
        crossview duplicates holiday --against pets --relation identical --csv
        crossview duplicates pets --not photos/1.jpg photos/2.jpg
    """
    check_format(as_json, as_csv)
    _check(judge, do)
    if judge.chosen():
        _judge(name, judge, connection, as_json)
        return
    from crossview.engine.values.duplicate import DuplicatesRequest

    check_files(do.out or (), do.to)
    check_report(do.report)
    request = DuplicatesRequest(
        against=find.against, filter=conditions.filter(), relations=_relations(find), limit=find.limit or 0
    )
    with connection.backend() as backend:
        collection = backend.open(name)
        try:
            result = collection.duplicates(request)
            if do.spread_labels:
                _spread(collection, result, do.yes, as_json)
                return
            where = Pictures(name, collection, backend, find.against)
            written = write_files(do.out or (), do.to, result, where)
            written += write_report(do.report, result, where)
        finally:
            collection.close()
    if as_json:
        print_json(result)
    elif as_csv:
        print_csv(COLUMNS, rows_of(result))
    else:
        _show(result)
    for sentence in () if as_json or as_csv else written:
        say(sentence)


def _relations(find: FindOptions) -> "Sequence[Relation]":
    from crossview.engine.values.duplicate import RELATIONS

    for name in find.relation or ():
        if name not in RELATIONS:
            raise typer.BadParameter(f"--relation is one of {', '.join(RELATIONS)}, not {name!r}")
    return [relation for relation in RELATIONS if relation in (find.relation or ())]


def _check(judge: JudgeOptions, do: DoOptions) -> None:
    if judge.chosen() > 1:
        raise typer.BadParameter("--same, --not, --undo and --judgements exclude each other: give one of them")
    if judge.chosen() and (do.out or do.report or do.spread_labels):
        raise typer.BadParameter("judgements search nothing: give --out, --report and --spread-labels in another call")
    if (do.out or do.report) and do.spread_labels:
        raise typer.BadParameter("--spread-labels writes no file: give --out and --report in another call")


def _judge(name: str, judge: JudgeOptions, connection: ConnectionOptions, as_json: bool) -> None:
    person = getpass.getuser()
    with connection.collection(name) as collection:
        if judge.judgements:
            _list(collection.duplicate_judgements.list(), as_json)
            return
        if judge.undo:
            judgement = collection.duplicate_judgements.undo(person)
            print_result(judgement, f"undone: {_sentence(judgement)}", as_json)
            return
        pair = judge.same or judge.different or ("", "")
        judgement = collection.duplicate_judgements.judge(*pair, judge.same is not None, person=person)
    print_result(judgement, _sentence(judgement), as_json)


def _sentence(pair: "PairJudgement") -> str:
    return f"{pair.first} and {pair.second} are {'' if pair.same else 'not '}the same photograph, by {pair.person}"


def _list(judgements: "list[PairJudgement]", as_json: bool) -> None:
    if as_json:
        print_json(judgements)
    elif not judgements:
        say("no judgements; state some with --same A B and --not A B")
    else:
        rows = table("judgement", "item", "item", "person", "created")
        for pair in judgements:
            said = "same" if pair.same else "not"
            rows.add_row(said, pair.first, pair.second, pair.person, pair.created[:19].replace("T", " "))
        show(rows)


def what(picture: "DuplicatePicture") -> str:
    """Return the relations of a picture to its keeper, in words."""
    words = []
    for relation in picture.relations:
        if relation == "rotated":
            turned = f"{abs(picture.degrees):g} degrees {'clockwise' if picture.degrees > 0 else 'counterclockwise'}"
            words.append(f"rotated by {turned}")
        elif relation == "cropped":
            words.append(f"cropped to {picture.share:.0%}" if picture.share < 1 else f"uncropped, {picture.share:.0%}")
        elif relation == "resized":
            words.append(f"resized to {picture.width} x {picture.height}")
        else:
            words.append("the same, as judged" if relation == "judged" else relation)
    return ", ".join(words)


def _show(result: "Duplicates") -> None:
    for note in result.notes:
        say(f"note: {note}")
    say(_summary(result))
    if not result.groups:
        return
    rows = table(">group", "keep", "why", "copy", "relation", ">sure")
    for number, group in enumerate(result.groups[:SHOWN], 1):
        for place, picture in enumerate(group.members):
            first = (str(number), group.keeper.key, group.reason) if place == 0 else ("", "", "")
            rows.add_row(*first, picture.key, what(picture), f"{picture.confidence:.1%}")
    show(rows)
    if len(result.groups) > SHOWN:
        say(f"and {len(result.groups) - SHOWN} more groups; --csv, --json and --out list them all")


def _summary(result: "Duplicates") -> str:
    copies: list[DuplicateGroup] = [group for group in result.groups if group.kind == "copies"]
    bursts = len(result.groups) - len(copies)
    members = sum(len(group.members) for group in copies)
    more = f"; {bursts:,} bursts" if bursts else ""
    if not copies:
        return f"no copies among {result.pictures:,} pictures{more}"
    disk_space = size(sum(group.size for group in copies))
    return f"{result.pictures:,} pictures: {members:,} copies in {len(copies):,} groups take {disk_space}{more}"


def _spread(collection: "CollectionBackend", result: "Duplicates", yes: bool, as_json: bool) -> None:
    """Give the unlabelled pictures of groups of copies the labels on which the labelled ones agree."""
    from crossview.engine.values.item import ItemUpdate

    planned = _planned(collection, result)
    if not as_json:
        for label in planned.changed:
            say(f"{label.key}: {', '.join(label.labels)}")
        for key in planned.disagreeing:
            say(f"left out: the copies of {key} have different labels")
        if not planned.changed:
            say("no picture without labels has a labelled copy")
    if planned.changed:
        if not yes:
            confirm(f"Label {len(planned.changed)} pictures?", f"labelling {len(planned.changed)} pictures needs --yes")
        collection.items.update([ItemUpdate(label.key, labels=label.labels) for label in planned.changed])
    if as_json:
        print_json(planned)
    elif planned.changed:
        say(f"labelled {len(planned.changed)} pictures")


def _planned(collection: "CollectionBackend", result: "Duplicates") -> SpreadLabels:
    changed, disagreeing = [], []
    for group in result.groups:
        own = [picture for picture in (group.keeper, *group.members) if not picture.collection]
        labels_of = {picture.key: collection.items.get(picture.key).labels for picture in own if group.kind == "copies"}
        label_sets = {labels for labels in labels_of.values() if labels}
        if len(label_sets) > 1:
            disagreeing.append(group.keeper.key)
        elif label_sets:
            changed += [SpreadLabel(key, next(iter(label_sets))) for key, labels in labels_of.items() if not labels]
    return SpreadLabels(changed, disagreeing)
