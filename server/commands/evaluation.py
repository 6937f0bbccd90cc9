"""The evaluate command: one table, with a column for each space, or the same figures as CSV."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.evaluation import LENGTHS, EvaluationRequest
from server.commands.common import JsonOption, NameArgument, names, print_json, show, table
from server.commands.connection import HERE, ConnectionOptions
from server.commands.csv_output import CsvOption, check_format, print_csv
from server.commands.query import TargetsOption

if TYPE_CHECKING:
    from engine.comparisons import ItemComparisons
    from engine.evaluation import Evaluation, EvaluationDifference, EvaluationRow

COLUMNS = (
    *("space", "query_view", "database_view", "metric", "k", "value", "standard_error"),
    *("difference", "difference_standard_error"),
)
"""Of the CSV; differences are to the first space."""


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """What is measured, and of which spaces."""

    view: Annotated[str, typer.Option(help="The query view.")]
    targets: TargetsOption = None
    space: Annotated[
        str, typer.Option(metavar="SPACE,...", help="The space, or several side by side (else the active one).")
    ] = ""
    constraints: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Measure agreement with comparisons; no labels are needed.")
    ] = None
    k: Annotated[str, typer.Option("-k", "--k", metavar="K,...", help="Lengths of the hit lists.")] = ",".join(
        map(str, LENGTHS)
    )
    refit: Annotated[bool, typer.Option("--refit", help="Fit the learner anew on a split of its own.")] = False
    test_size: Annotated[float, typer.Option(help="With --refit: share of the queries.")] = EvaluationRequest.test_size
    seed: Annotated[int, typer.Option(help="With --refit: draws the split.")] = EvaluationRequest.seed

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
            k=lengths,
            refit=self.refit,
            test_size=self.test_size,
            seed=self.seed,
            constraints=read_constraints(self.constraints),
        )


def read_constraints(path: Path | None) -> "ItemComparisons | None":
    """The comparisons of a file; None without one."""
    if path is None:
        return None
    from engine.ingest.comparison_files import read_comparisons

    return read_comparisons(path)


def evaluate(
    name: NameArgument,
    options: EvaluationOptions,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Measure retrieval on items held out of training, or agreement with comparisons.

    Several spaces are measured on the same queries; raw is the views themselves.
    """
    check_format(as_json, as_csv)
    request = options.request()
    with connection.collection(name) as collection:
        evaluation = collection.evaluate(request)
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
        rows = table("query", "database", "metric", ">k", ">value")
        for row in evaluation.rows:
            rows.add_row(row.query_view, row.database_view, row.metric, str(row.k or ""), f"{row.value:.3f}")
        show(rows)
    measured = f"{evaluation.queries} queries, {evaluation.database} items to find"
    if evaluation.comparisons:
        measured = f"{evaluation.comparisons} comparisons"
    typer.echo(f"{measured}, {evaluation.seconds:.1f} s")
    typer.echo("; ".join(sentence for sentence in (evaluation.protocol, evaluation.codebook) if sentence))


def _print_spaces(evaluation: "Evaluation", spaces: list[str]) -> None:
    """Prints a column for each space: its figures, and of all but the first the paired differences to the first."""
    cells = {_key(row): _number(row.value, row.standard_error) for row in evaluation.rows}
    for one in evaluation.differences:
        cells[_key(one)] += f" ({_number(one.value, one.standard_error, '+')})"
    rows = table("query", "database", "metric", ">k", *(f">{space}" for space in spaces))
    for query, database, metric, k in dict.fromkeys(key[1:] for key in map(_key, evaluation.rows)):
        values = [cells.get((space, query, database, metric, k), "-") for space in spaces]
        rows.add_row(query, database, metric, str(k or ""), *values)
    show(rows)
    brackets = f"; in brackets the difference to {spaces[0]}, paired" if evaluation.differences else ""
    typer.echo(f"means \u00b1 standard errors{brackets}")


def _key(one: "EvaluationRow | EvaluationDifference") -> tuple[str, str, str, str, int | None]:
    return one.space, one.query_view, one.database_view, one.metric, one.k


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
