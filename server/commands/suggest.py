"""The suggest command."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.engine.catalog.ingest.cells import label_cell
from crossview.engine.values.errors import NotFoundError
from crossview.server.commands.common import JsonOption, NameArgument, names, print_json
from crossview.server.commands.connection_options import PICTURES_HERE, PictureConnection
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.hints import hint
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table
from crossview.server.commands.query_options import TargetsOption, existing_keys, query_of

if TYPE_CHECKING:
    from crossview.engine.values.query import LabelShare, LikeliestClass, SuggestedLabels, Suggestions, SuggestRequest
    from crossview.server.commands.backend import CollectionBackend

COLUMNS = ("input", "label", "share", "votes", "suggested")
"""The columns of the printed CSV."""
ACCEPTED = ("key", "label")
"""The columns of the written CSV, as ``annotate --from`` reads it."""
OTHERS_SHOWN = 3
LIKELIEST = (
    "the most likely of all classes by the scores of attributes, including classes that only orderings describe and "
    "that have no items to vote; this share is not calibrated"
)


@dataclass(frozen=True, kw_only=True)
class SuggestOptions:
    """The items to suggest labels for, and the required certainty."""

    PANEL: ClassVar[str] = "Suggestions"

    view: Annotated[
        str, typer.Option(metavar="VIEW", help="View of the query; color+gist joins two views [default: all].")
    ] = ""
    targets: TargetsOption = None
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to search [default: the active one].")] = ""
    voters: Annotated[int, typer.Option(help="Number of labelled items that vote in each target.")] = 10
    min_share: Annotated[
        float, typer.Option(metavar="P", help="Minimum probability that a suggested label is right.")
    ] = 0.5
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the suggestions as key,label, for annotate --from FILE.csv."),
    ] = None

    def request(self, collection: "CollectionBackend", inputs: Sequence[str]) -> "SuggestRequest":
        """Return the request for inputs: each is the key of an item, if it exists, and otherwise a file."""
        from crossview.engine.values.query import SuggestRequest

        keys = existing_keys(collection, inputs)
        queries = [query_of(text, self.view, keys) for text in inputs]
        return SuggestRequest(
            queries, targets=names(self.targets), k=self.voters, space=self.space, min_share=self.min_share
        )


def suggest(
    name: NameArgument,
    options: SuggestOptions,
    conditions: FilterOptions,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="IMAGE|KEY", help="Picture files, or keys of items of the collection."),
    ] = None,
    connection: PictureConnection = PICTURES_HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Suggest labels by vote of the nearest labelled items.

    The command does not change the collection. A share is the probability that the label is right, learned from
    labelled items that the space was not trained on. The command suggests only labels with a sufficient share. An item
    does not vote on itself. In a space of attributes with classes that only orderings describe, which get no votes, the
    command also names the most likely of all classes. To accept labels, run the printed commands, or write all with
    --out FILE.csv and run annotate --from FILE.csv.

    Examples:
        crossview suggest pets new.jpg
        crossview suggest pets photos/1.jpg photos/2.jpg --view color --out labels.csv
        crossview suggest pets --where 'not label exists' --out labels.csv
    """
    check_format(as_json, as_csv)
    if bool(inputs) == conditions.given():
        raise typer.BadParameter("name the items either as IMAGE or KEY, or by --where")
    with connection.collection(name) as collection:
        texts = conditions.keys(collection) if conditions.given() else inputs or []
        if not texts:
            raise NotFoundError(f"no item of collection {name!r} fulfils {conditions.filter()}")
        request = options.request(collection, texts)
        suggestions = collection.suggest(request)
    inputs = [
        text if query.key is not None else str(Path(text).resolve())  # annotate --from identifies pictures by full path
        for text, query in zip(texts, request.queries, strict=True)
    ]
    if options.out is not None:
        _write(options.out, inputs, suggestions)
    if as_json:
        results = [{"input": inputs[result.query], **vars(result)} for result in suggestions.results]
        print_json({"results": results, "calibration": suggestions.calibration})
    elif as_csv:
        print_csv(COLUMNS, _lines(inputs, suggestions))
    else:
        _print(inputs, suggestions)
        keys = {number for number, query in enumerate(request.queries) if query.key is not None}
        for line in _accepting(name, options.out, inputs, suggestions, keys):
            say(line)


def _write(path: Path, inputs: Sequence[str], suggestions: "Suggestions") -> None:
    """Write a line for each suggested label."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(ACCEPTED)
        for result in suggestions.results:
            writer.writerows((inputs[result.query], label_cell([label.label])) for label in result.labels)


def _lines(inputs: Sequence[str], suggestions: "Suggestions") -> Iterator[tuple[Any, ...]]:
    for result in suggestions.results:
        for labels, suggested in ((result.labels, "yes"), (result.others, "no")):
            for label in labels:
                yield inputs[result.query], label.label, label.share, label.votes, suggested


def _print(inputs: Sequence[str], suggestions: "Suggestions") -> None:
    likeliest = ["likeliest class"] if any(result.likeliest for result in suggestions.results) else []
    rows = table("item", "suggested", "less sure", "has", *likeliest)
    for result in suggestions.results:
        rows.add_row(
            inputs[result.query],
            _shares(result.labels) or "no label is sure enough",
            _shares(result.others[:OTHERS_SHOWN]),
            ", ".join(result.known),
            *[_likeliest(result.likeliest) for _ in likeliest],
        )
    show(rows)
    if likeliest:
        say(LIKELIEST)
    say(suggestions.calibration)


def _likeliest(label: "LikeliestClass | None") -> str:
    return f"{label.label} ({label.share:.0%}{', described' if label.described else ''})" if label else ""


def _shares(labels: "Sequence[LabelShare]") -> str:
    return ", ".join(f"{label.label} ({label.share:.0%})" for label in labels)


def _accepting(
    name: str,
    out: Path | None,
    inputs: Sequence[str],
    suggestions: "Suggestions",
    keys: set[int],
) -> Iterator[str]:
    """Yield the commands that accept the suggestions."""
    accepted: list[SuggestedLabels] = [result for result in suggestions.results if result.labels]
    if not accepted:
        return
    if out is not None:
        yield f"wrote {sum(len(result.labels) for result in accepted)} labels to {out}; accept them with:"
        if new := [inputs[result.query] for result in accepted if result.query not in keys]:
            yield "  " + hint("index", name, "--labels", out, "--", *new)
        if len(new) < len(accepted):
            yield "  " + hint("annotate", name, "--from", out)
        return
    if of_items := [result for result in accepted if result.query in keys]:
        yield "accept one with its command, or write all to a file with --out FILE.csv:"
        for result in of_items:
            labels = [word for label in result.labels for word in ("--label", label.label)]
            yield "  " + hint("annotate", name, inputs[result.query], *labels)
