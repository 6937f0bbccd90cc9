"""Commands on feedback: list, show, undo, delete, and remember it as comparisons."""

import getpass
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.server.commands.common import (
    JsonOption,
    NameArgument,
    YesOption,
    confirm_deletion,
    print_json,
    print_result,
)
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table

if TYPE_CHECKING:
    from crossview.engine.values.feedback import Judgement

FeedbackArgument = Annotated[str, typer.Argument(metavar="FEEDBACK", help="Name of the feedback.")]
AnyPersonOption = Annotated[str, typer.Option(metavar="PERSON", help="Only this person [default: all people].")]
COLUMNS = ("key", "weight", "person", "created")
"""The columns of the CSV."""


@dataclass(frozen=True)
class DeletedJudgements:
    """The feedback, and the number of its deleted judgements that counted in searches."""

    feedback: str
    judgements: int


@dataclass(frozen=True)
class RememberedAnswers:
    """The stored answers that stand for the judgements of feedback in a notion, and their comparisons."""

    feedback: str
    notion: str
    answers: int
    comparisons: int


@dataclass(frozen=True)
class ForgottenAnswers:
    """The feedback, and the number of deleted answers that stood for its judgements."""

    feedback: str
    answers: int


def list_(name: NameArgument, connection: ConnectionOptions = HERE, as_json: JsonOption = False) -> None:
    """List the feedback of a collection, with the number of judgements.

    Examples:
        crossview feedback list pets
        crossview feedback list pets --json
    """
    with connection.collection(name) as collection:
        infos = collection.feedback.list()
    if as_json:
        print_json(infos)
        return
    if not infos:
        say(f"no feedback; keep some with: {hint('search', name, '--like', 'KEY', '--feedback', 'FEEDBACK')}")
        return
    rows = table("feedback", ">examples", ">counter-examples", "by")
    for info in infos:
        people = ", ".join(f"{who} ({count})" for who, count in info.people.items())
        rows.add_row(info.name, str(info.examples), str(info.counter_examples), people)
    show(rows)


def show_(
    name: NameArgument,
    feedback: FeedbackArgument,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Show the judgements of feedback: the last one of each item.

    --csv and --json print them for other programs.

    Examples:
        crossview feedback show pets cats
        crossview feedback show pets cats --csv
    """
    check_format(as_json, as_csv)
    with connection.collection(name) as collection:
        judgements = collection.feedback.get(feedback)
    if as_json:
        print_json(judgements)
    elif as_csv:
        print_csv(COLUMNS, ([getattr(judgement, column) for column in COLUMNS] for judgement in judgements))
    else:
        rows = table("judgement", *(f">{column}" if column == "weight" else column for column in COLUMNS))
        for judgement in judgements:
            created = judgement.created[:19].replace("T", " ")
            rows.add_row(_said(judgement), judgement.key, f"{judgement.weight:g}", judgement.person, created)
        show(rows)


def undo(
    name: NameArgument,
    feedback: FeedbackArgument,
    person: Annotated[
        str, typer.Option(metavar="PERSON", help="Person whose judgement to undo [default: the name of this user].")
    ] = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Undo the last judgement of a person.

    An earlier judgement of the same item counts again. Repeat the command to undo more.

    Examples:
        crossview feedback undo pets cats
        crossview feedback undo pets cats --person ann
    """
    with connection.collection(name) as collection:
        undone = collection.feedback.undo(feedback, person or getpass.getuser())
    print_result(undone, f"undone: {_said(undone)} {undone.key}, by {undone.person}", as_json)


def delete(
    name: NameArgument,
    feedback: FeedbackArgument,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Delete only the judgements of these items.")
    ] = None,
    yes: YesOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Delete feedback, or its judgements of some items.

    Remembered comparisons stay; crossview feedback forget deletes them.

    Examples:
        crossview feedback delete pets cats --yes
        crossview feedback delete pets cats photos/dog.jpg --yes
    """
    if not yes:
        confirm_deletion(
            f"the judgements of {', '.join(keys)} in feedback {feedback}" if keys else f"feedback {feedback}"
        )
    with connection.collection(name) as collection:
        count = collection.feedback.delete(feedback, tuple(keys or ()))
    print_result(DeletedJudgements(feedback, count), f"deleted {count} judgements of {feedback}", as_json)


def remember(
    name: NameArgument,
    feedback: FeedbackArgument,
    notion: Annotated[
        str, typer.Option(metavar="NOTION", help="Notion of similarity in which the judged items are alike.")
    ],
    person: AnyPersonOption = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Store judgements as comparisons, for train --answers.

    Items that a person likes are nearer to each other than to items that the person dislikes. The comparisons are
    answers, as those to crossview ask. To remember again after further judgements replaces them.

    Examples:
        crossview feedback remember pets cats --notion species
        crossview feedback remember pets cats --notion species --person ann
    """
    with connection.collection(name) as collection:
        answers = collection.feedback.remember(feedback, notion, person)
        view = collection.views()[0].name
    report = RememberedAnswers(feedback, notion, len(answers), sum(len(answer.triplets) for answer in answers))
    learn = hint("train", name, "--answers", "--views", view)
    sentence = f"{report.answers} answers in {notion}: {report.comparisons} comparisons; learn from them with: {learn}"
    print_result(report, sentence, as_json)


def forget(
    name: NameArgument,
    feedback: FeedbackArgument,
    notion: Annotated[
        str, typer.Option(metavar="NOTION", help="Notion of similarity to forget them in [default: every one].")
    ] = "",
    person: AnyPersonOption = "",
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
) -> None:
    """Delete the comparisons that remember stored for feedback.

    The feedback itself stays.

    Examples:
        crossview feedback forget pets cats
        crossview feedback forget pets cats --notion species
    """
    with connection.collection(name) as collection:
        count = collection.feedback.forget(feedback, notion, person)
    print_result(ForgottenAnswers(feedback, count), f"deleted {count} answers that remembered {feedback}", as_json)


def _said(judgement: "Judgement") -> str:
    return "like" if judgement.weight > 0 else "unlike"
