"""The ask command: asks people which items are similar, and shows and exports their answers."""

import getpass
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from crossview.server.commands.common import JsonOption, NameArgument, print_json, print_result
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.output import say, show, table

if TYPE_CHECKING:
    from crossview.engine.findings.questions.collected_answers import NotionAnswers
    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.server.commands.backend import CollectionBackend

DISPUTES_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The options of the questions and the person who answers."""

    PANEL: ClassVar[str] = "Questions"

    notion: Annotated[
        str, typer.Option(metavar="NOTION", help="Notion of similarity to ask about, such as color or head.")
    ] = ""
    kind: Annotated[
        Literal["grid", "single"],
        typer.Option(help="Kind of question: select near items out of nine, or the nearer of two."),
    ] = "grid"
    person: Annotated[
        str, typer.Option(metavar="PERSON", help="Name of the person who answers [default: the name of this user].")
    ] = ""
    questions: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after this number of answers.")] = None
    view: Annotated[
        str,
        typer.Option(
            metavar="VIEW",
            help="View whose rows choose the most informative questions [default: random questions].",
        ),
    ] = ""
    image: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png", help="File to draw each question in [default: a temporary file, whose path is shown]."
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of the first question [default: random].")] = None


@dataclass(frozen=True)
class WrittenComparisons:
    """The file of comparisons, and their number."""

    path: Path
    comparisons: int


def ask(
    name: NameArgument,
    options: AskOptions,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the comparisons to this file: anchor,near,far,notion."),
    ] = None,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Ask people which items are similar, for train --answers.

    With --notion, the command asks questions until you press q. It stores each answer at once, and you can run the same
    command again to continue. Without --notion, it shows the answers, and the questions on which people disagree.
    --out writes the comparisons to a file; name a notion or a person to select them.

    Examples:
        crossview ask birds --notion head
        crossview ask birds --notion head --out head.csv
    """
    if out is not None:
        _export(name, options, out, connection, as_json)
        return
    if options.notion and as_json:
        raise typer.BadParameter("--json prints answers: leave out --notion, or write comparisons with --out FILE.csv")
    with connection.collection(name) as collection:
        if options.notion:
            _ask(collection, options)
        else:
            _show(collection, options, as_json)


def _export(name: str, options: AskOptions, path: Path, connection: ConnectionOptions, as_json: bool) -> None:
    from crossview.engine.catalog.ingest.comparison_files import write_comparisons

    with connection.collection(name) as collection:
        comparisons = answered(collection, options.notion, options.person)
    write_comparisons(path, comparisons)
    print_result(WrittenComparisons(path, len(comparisons)), f"wrote {len(comparisons)} comparisons to {path}", as_json)


def answered(collection: "CollectionBackend", notion: str = "", person: str = "") -> "ItemComparisons":
    """Return the comparisons of all answers, or only those in one notion or of one person.

    Raises NotReadyError if there are none.
    """
    from crossview.engine.findings.questions.collected_answers import every_answer
    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.engine.values.errors import NotReadyError

    answers = [answer for answer in every_answer(collection.questions, notion, person) if answer.triplets]
    if not answers:
        name = collection.name
        raise NotReadyError(
            f"nobody has compared such items of {name!r}: ask for comparisons with: "
            f"{hint('ask', name, '--notion', notion or 'NOTION')}"
        )
    return ItemComparisons.of_answers(answers)


def _show(collection: "CollectionBackend", options: AskOptions, as_json: bool) -> None:
    from crossview.engine.findings.questions.collected_answers import by_notion, every_answer

    notions = by_notion(every_answer(collection.questions, person=options.person))
    if as_json:
        print_json(notions)
        return
    if not notions:
        say(f"no answers; ask for comparisons with: {hint('ask', collection.name, '--notion', 'NOTION')}")
        return
    rows = table("notion", ">answers", ">comparisons", "by")
    for notion in notions:
        people = ", ".join(f"{who} ({count})" for who, count in notion.people.items())
        rows.add_row(notion.notion, str(notion.answers), str(notion.triplets), people)
    show(rows, *(notion.sentence for notion in notions))
    for notion in notions:
        _show_disputes(notion)


def _show_disputes(notion: "NotionAnswers") -> None:
    if not notion.disputes:
        return
    rows = table("anchor", "nearer", "say", "nearer", "say", title=f"{notion.notion}: answered differently")
    for dispute in notion.disputes[:DISPUTES_SHOWN]:
        rows.add_row(dispute.anchor, *(cell for key, who in dispute.nearer.items() for cell in (key, ", ".join(who))))
    show(rows)
    if (more := len(notion.disputes) - DISPUTES_SHOWN) > 0:
        show(f"and {more} more")


def _ask(collection: "CollectionBackend", options: AskOptions) -> None:
    from crossview.engine.values.comparisons import QuestionRequest
    from crossview.server.commands.sessions import QuestionSession, picture_file

    request = QuestionRequest(
        notion=options.notion,
        person=options.person or getpass.getuser(),
        kind=options.kind,
        view=options.view,
        seed=options.seed,
    )
    with picture_file(options.image, "question.png") as path:
        session = QuestionSession(collection, request, path, options.questions)
        session.run()
    learn = hint("train", collection.name, "--answers", "--views", options.view or collection.views()[0].name)
    say(f"{max(session.given, 0)} answers stored; learn from them with: {learn}")
