"""The evaluate command: one table, with a column for each space, or the same figures as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.evaluation import DATABASES, LENGTHS, RECALLS, EvaluationRequest
from server.commands.common import JsonOption, NameArgument, names, print_json, show, table
from server.commands.connection import HERE, ConnectionOptions
from server.commands.csv_output import CsvOption, check_format, print_csv
from server.commands.hints import completed
from server.commands.jobs import DetachOption, check_detached, print_detached
from server.commands.progress import progress_bar
from server.commands.query import TargetsOption
from server.commands.saying import say

if TYPE_CHECKING:
    from engine.comparisons import ItemComparisons
    from engine.evaluation import Evaluation, EvaluationDifference, EvaluationRow
    from engine.learners.comparisons import Taxonomy
    from engine.recipe import Grouping

COLUMNS = (
    *("space", "query_view", "database_view", "database", "metric", "k", "value", "standard_error"),
    *("difference", "difference_standard_error"),
)
"""Of the CSV; differences are to the first space."""

GroupByOption = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="ATTRIBUTE|FILE.csv",
        help="Splits do not part items of one value, or of one group in a CSV of key,group or path,group.",
    ),
]


TaxonomyOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A tree of the labels, with lines of parent: child, child or indented names."),
]


def _listed(lengths: tuple[int, ...]) -> str:
    return ",".join(map(str, lengths))


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """What is measured, and of which spaces."""

    view: Annotated[str, typer.Option(help="The query view.")]
    targets: TargetsOption = None
    space: Annotated[
        str, typer.Option(metavar="SPACE,...", help="The space, or several side by side (else the active one).")
    ] = ""
    constraints: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.csv", help="Measure agreement with comparisons; no labels are needed. Repeat for more."
        ),
    ] = None
    taxonomy: TaxonomyOption = None
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Measure how pairs are told, the same or not; no labels are needed."),
    ] = None
    database: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(DATABASES),
            help="What the held-out queries are to find: trained items, other unseen ones, or both mixed; several by "
            "commas (else trained and unseen, where enough was held out).",
        ),
    ] = None
    by: Annotated[
        str,
        typer.Option(
            metavar="labels|items",
            help="What is relevant: items that share a label, or the query's own item in another view (else labels, "
            "where there are any).",
        ),
    ] = EvaluationRequest.by
    k: Annotated[
        str | None,
        typer.Option(
            "-k",
            "--k",
            metavar="K,...",
            help=f"Lengths of the hit lists (else {_listed(LENGTHS)}; by items {_listed(RECALLS)}).",
        ),
    ] = None
    refit: Annotated[bool, typer.Option("--refit", help="Fit the learner anew on a split of its own.")] = False
    test_size: Annotated[float, typer.Option(help="With --refit: share of the queries.")] = EvaluationRequest.test_size
    splits: Annotated[int, typer.Option(metavar="N", help="With --refit: splits, over which figures are means.")] = (
        EvaluationRequest.splits
    )
    group_by: GroupByOption = None
    max_queries: Annotated[
        int, typer.Option(metavar="N", help="Of more held-out items so many ask, drawn by chance; all can be found.")
    ] = EvaluationRequest.max_queries
    seed: Annotated[int, typer.Option(help="Draws the queries, and with --refit the splits.")] = EvaluationRequest.seed

    def request(self) -> EvaluationRequest:
        """The request of these options."""
        try:
            lengths = tuple(int(number) for number in names(self.k))
        except ValueError:
            raise typer.BadParameter(f"-k takes numbers such as 5,10, not {self.k!r}") from None
        return EvaluationRequest(
            view=self.view,
            spaces=names(self.space),
            targets=names(self.targets),
            databases=names(self.database),
            by=self.by,
            k=lengths,
            refit=self.refit,
            test_size=self.test_size,
            splits=self.splits,
            seed=self.seed,
            group_by=read_grouping(self.group_by),
            max_queries=self.max_queries,
            constraints=read_constraints(self.constraints),
            taxonomy=read_tree(self.taxonomy),
            pairs=read_constraints([self.pairs] if self.pairs else None),
        )


def read_constraints(paths: Sequence[Path] | None, weights: Sequence[float] | None = None) -> "ItemComparisons | None":
    """The comparisons of files, each with its weight where there are any; None without a file.

    Raises typer.BadParameter where there are weights, but not one for each file.
    """
    if weights and len(weights) != len(paths or ()):
        raise typer.BadParameter(
            f"--constraint-weight is given {len(weights)} times and --constraints {len(paths or ())} times: "
            "give a weight for each file, in their order"
        )
    if not paths:
        return None
    from engine.ingest.comparison_files import read_comparisons

    found = [read_comparisons(path) for path in paths]
    if weights:
        found = [one.weighted(weight) for one, weight in zip(found, weights, strict=True)]
    return replace(found[0], others=tuple(found[1:]))


def read_tree(path: Path | None) -> "Taxonomy | None":
    """The taxonomy of a file; None without one."""
    if path is None:
        return None
    from engine.ingest.taxonomy_file import read_taxonomy

    return read_taxonomy(path)


def read_grouping(text: str | None) -> "Grouping | None":
    """Which items belong together: by an attribute, or by the groups of a CSV file; None without either."""
    if text is None:
        return None
    if text.lower().endswith(".csv"):
        from engine.ingest.group_file import read_groups

        return read_groups(text)
    from engine.recipe import Grouping

    return Grouping(text)


def evaluate(
    name: NameArgument,
    options: EvaluationOptions,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Measure retrieval on items held out of training, agreement with comparisons, or how pairs are told.

    Several spaces are measured on the same queries; raw is the views themselves. Without labels it is measured how soon
    items find their own other view.
    """
    check_format(as_json, as_csv)
    check_detached(detach, connection)
    request = options.request()
    if detach:
        with connection.detached(name) as server:
            job = server.evaluate(request)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        evaluation = collection.evaluate(request, progress=progress)
    if as_json:
        print_json(evaluation)
    elif as_csv:
        _print_csv(evaluation)
    else:
        _print(evaluation)


def _print(evaluation: "Evaluation") -> None:
    """Prints the figures of one space or several, and how they were measured."""
    spaces = list(dict.fromkeys(row.space for row in evaluation.rows))
    if len(spaces) > 1 or evaluation.comparisons:
        _print_spaces(evaluation, spaces)
    else:
        _print_databases(evaluation)
    counts = ", ".join(f"{evaluation.databases[name]} {name}" for name in DATABASES if name in evaluation.databases)
    measured = f"{evaluation.queries} queries; items to find: {counts}"
    if evaluation.comparisons:
        measured = f"{evaluation.comparisons} comparisons"
    say(f"{measured}; {evaluation.seconds:.1f} s")
    say(completed("; ".join(sentence for sentence in (evaluation.protocol, evaluation.codebook) if sentence)))


def _print_databases(evaluation: "Evaluation") -> None:
    """Prints the figures of one space, a column for each database."""
    cells = {(_figure(row), row.database): f"{row.value:.3f}" for row in evaluation.rows}
    databases = [name for name in DATABASES if name in evaluation.databases]
    rows = table("query", "target", "metric", ">k", *(f">{name}" for name in databases))
    for figure in dict.fromkeys(figure for figure, _ in cells):
        *names, k = figure
        rows.add_row(*names, str(k or ""), *(cells.get((figure, name), "-") for name in databases))
    show(rows)


def _print_spaces(evaluation: "Evaluation", spaces: list[str]) -> None:
    """Prints a column for each space: its figures, and of all but the first the paired differences to the first."""
    cells = {_key(row): _number(row.value, row.standard_error) for row in evaluation.rows}
    for one in evaluation.differences:
        cells[_key(one)] += f" ({_number(one.value, one.standard_error, '+')})"
    rows = table("query", "target", "database", "metric", ">k", *(f">{space}" for space in spaces))
    for query, target, database, metric, k in dict.fromkeys(key[1:] for key in map(_key, evaluation.rows)):
        values = [cells.get((space, query, target, database, metric, k), "-") for space in spaces]
        rows.add_row(query, target, database, metric, str(k or ""), *values)
    show(rows)
    brackets = f"; in brackets the difference to {spaces[0]}, paired" if evaluation.differences else ""
    say(f"means \u00b1 standard errors{brackets}")


def _figure(one: "EvaluationRow") -> tuple[str, str, str, int | None]:
    return one.query_view, one.database_view, one.metric, one.k


def _key(one: "EvaluationRow | EvaluationDifference") -> tuple[str, str, str, str, str, int | None]:
    return one.space, one.query_view, one.database_view, one.database, one.metric, one.k


def _number(value: float, error: float | None, sign: str = "") -> str:
    return f"{value:{sign}.3f}" + ("" if error is None else f" \u00b1 {error:.3f}")


def _print_csv(evaluation: "Evaluation") -> None:
    """Prints a line for each figure of each space."""
    differences = {_key(one): (one.value, one.standard_error) for one in evaluation.differences}
    none = (None, None)
    print_csv(
        COLUMNS,
        ((*_key(one), one.value, one.standard_error, *differences.get(_key(one), none)) for one in evaluation.rows),
    )
