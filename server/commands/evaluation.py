"""The evaluate command: one table, with a column for each space, or the same figures as CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from crossview.engine.values.evaluation import DATABASES, LENGTHS, MEAN, RECALLS, EvaluationRequest
from crossview.server.commands.common import JsonOption, NameArgument, names, print_json
from crossview.server.commands.connection_options import HERE, ConnectionOptions
from crossview.server.commands.evaluation_files import NO_FILES, EvaluationFiles
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.hints import completed
from crossview.server.commands.jobs import DetachOption, check_detached, print_detached
from crossview.server.commands.option_groups import Flag, OfRequest
from crossview.server.commands.output import CsvOption, check_format, print_csv, say, show, table
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.query_options import TargetsOption
from crossview.server.commands.report_options import ReportOption

if TYPE_CHECKING:
    from crossview.engine.learners.frame.comparisons import Taxonomy
    from crossview.engine.values.comparisons import ItemComparisons
    from crossview.engine.values.evaluation import Evaluation, EvaluationDifference, EvaluationRow
    from crossview.engine.values.recipe import Grouping

COLUMNS = (
    *("space", "query_view", "database_view", "database", "metric", "k", "value", "standard_error"),
    *("difference", "difference_standard_error"),
)
"""The columns of the CSV; differences are to the first space."""
_MEANS = "means \u00b1 standard errors"

GroupByOption = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="ATTRIBUTE|FILE.csv",
        help="Attribute, or CSV file of key,group or path,group, whose groups stay on one side of a split.",
    ),
]


TaxonomyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File with a tree of the labels: lines of parent: child, child or indented names."
    ),
]


DatabaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(DATABASES),
        help="Items that the held-out queries must find: training items, other unseen items, or both; separate several "
        "with commas [default: trained and unseen, if enough items are held out; of compare, "
        "unseen, or trained if no label is on two held-out items].",
    ),
]


def _listed(lengths: tuple[int, ...]) -> str:
    return ",".join(map(str, lengths))


def _lengths(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in names(text))
    except ValueError:
        raise typer.BadParameter(f"-k takes numbers such as 5,10, not {text!r}") from None


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(OfRequest):
    """The measures and the spaces to measure."""

    PANEL: ClassVar[str] = "Evaluation"
    REQUEST: ClassVar[Any] = EvaluationRequest
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {
        **dict.fromkeys(("view", "targets", "space", "constraints", "taxonomy", "pairs", "database")),
        "by": Flag("labels|items", default="labels, if any"),
        **dict.fromkeys(("copies", "k")),
        "refit": Flag(),
        "test_size": Flag(),
        "splits": Flag("N"),
        "group_by": None,
        "max_queries": Flag("N", name="--max-queries --sample"),
    }
    ELSEWHERE: ClassVar[frozenset[str]] = frozenset(
        {"spaces", "learners", "views", "databases", "where", "per_query", "hits", "details"}
    )

    view: Annotated[str, typer.Option(metavar="VIEW", help="View of the queries [default: each in turn].")] = ""
    targets: TargetsOption = None
    space: Annotated[
        str, typer.Option(metavar="SPACE,...", help="One or several spaces to measure [default: the active one].")
    ] = ""
    constraints: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.csv", help="Measure agreement with comparisons, without labels; repeat for several files."
        ),
    ] = None
    taxonomy: TaxonomyOption = None
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Measure how well pairs of same and different items are distinguished, without labels.",
        ),
    ] = None
    database: DatabaseOption = None
    copies: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Measure how soon N indexed pictures are found by copies of their files: exact, resized, "
            "recompressed, cropped and greyscale.",
        ),
    ] = None
    k: Annotated[
        str | None,
        typer.Option(
            "-k",
            metavar="K,...",
            help=f"Lengths of the hit lists [default: {_listed(LENGTHS)}; by items {_listed(RECALLS)}; of copies "
            "1,3,10].",
        ),
    ] = None
    group_by: GroupByOption = None

    def request(self) -> EvaluationRequest:
        """Return the request of these options."""
        return EvaluationRequest(
            view=self.view,
            spaces=names(self.space),
            targets=names(self.targets),
            databases=names(self.database),
            k=_lengths(self.k),
            group_by=read_grouping(self.group_by),
            constraints=read_constraints(self.constraints),
            taxonomy=read_tree(self.taxonomy),
            pairs=read_constraints([self.pairs] if self.pairs else None),
            **self.passed,
        )


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(OfRequest):
    """The learners to compare, and the splits."""

    PANEL: ClassVar[str] = "Comparison"
    REQUEST: ClassVar[Any] = EvaluationRequest
    FLAGS: ClassVar[Mapping[str, Flag | None]] = {
        **dict.fromkeys(("learners", "space", "views", "splits")),
        "test_size": Flag(),
        "seed": Flag(),
        "group_by": None,
        "database": None,
        "by": Flag("labels|items", default="labels, if any"),
        "k": None,
        "max_queries": Flag("N", name="--max-queries --sample"),
    }

    learners: Annotated[
        str,
        typer.Option(
            metavar="LEARNER,...",
            help="Learners to compare with the first one; separate pipelines with semicolons: 'cca; sqrt,cca'.",
        ),
    ]
    space: Annotated[
        str, typer.Option(metavar="SPACE,...", help="Spaces to fit again and to compare, too, before the learners.")
    ] = ""
    views: Annotated[
        str | None, typer.Option(metavar="VIEWS", help="Views to learn from [default: all that items have].")
    ] = None
    splits: Annotated[int, typer.Option(metavar="N", min=1, help="Number of random splits.")] = 5
    group_by: GroupByOption = None
    database: DatabaseOption = None
    k: Annotated[
        str | None,
        typer.Option("-k", metavar="K,...", help="Lengths of the hit lists [default: 10; by items 1,10]."),
    ] = None

    def request(self) -> EvaluationRequest:
        """Return the request of these options."""
        learners = self.learners.split(";" if ";" in self.learners else ",")
        return EvaluationRequest(
            learners=tuple(filter(None, map(str.strip, learners))),
            spaces=names(self.space),
            views=names(self.views),
            splits=self.splits,
            databases=names(self.database),
            k=_lengths(self.k),
            group_by=read_grouping(self.group_by),
            **self.passed,
        )


def read_constraints(paths: Sequence[Path] | None, weights: Sequence[float] | None = None) -> "ItemComparisons | None":
    """Return the comparisons of files, multiplied by the weights of the files if given; None without a file.

    Raises typer.BadParameter unless there are no weights, or one for each file.
    """
    if weights and len(weights) != len(paths or ()):
        raise typer.BadParameter(
            f"--constraint-weight is given {len(weights)} times and --constraints {len(paths or ())} times: "
            "give a weight for each file, in their order"
        )
    if not paths:
        return None
    from crossview.engine.catalog.ingest.comparison_files import read_comparisons

    comparisons = [read_comparisons(path) for path in paths]
    if weights:
        comparisons = [of_file.weighted(weight) for of_file, weight in zip(comparisons, weights, strict=True)]
    return replace(comparisons[0], others=tuple(comparisons[1:]))


def read_tree(path: Path | None) -> "Taxonomy | None":
    """Return the taxonomy of a file; None without one."""
    if path is None:
        return None
    from crossview.engine.catalog.ingest.taxonomy_file import read_taxonomy

    return read_taxonomy(path)


def read_grouping(text: str | None) -> "Grouping | None":
    """Return the groups of items: by an attribute, or by the groups of a CSV file; None without either."""
    if text is None:
        return None
    if text.lower().endswith(".csv"):
        from crossview.engine.catalog.ingest.table import read_groups

        return read_groups(text)
    from crossview.engine.values.recipe import Grouping

    return Grouping(text)


def evaluate(
    name: NameArgument,
    options: EvaluationOptions,
    conditions: FilterOptions,
    files: EvaluationFiles = NO_FILES,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Measure how well spaces find held-out items.

    The command measures several spaces on the same queries; raw is the views themselves. Without labels, it
    measures how soon items find their own other view. It also measures agreement with comparisons (--constraints),
    the decision whether pairs are the same (--pairs), and how soon pictures are found by changed copies (--copies).
    Files of each query serve paired tests and the programs of TREC; their keys have %20 for a space.

    Examples:
        crossview evaluate pets --view color --targets sift
        crossview evaluate pets --view color --copies 100
        crossview evaluate pets --view color --space raw,cca --refit --splits 5
        crossview evaluate pets --view color --space raw,cca --per-query queries.csv
        crossview evaluate pets --view color --where 'year >= 2021'
        crossview evaluate pets --view color --space raw,cca --report report
    """
    check_format(as_json, as_csv)
    check_detached(detach, connection)
    request = replace(files.request(options.request()), where=conditions.filter())
    if conditions.given() and options.copies is not None:
        raise typer.BadParameter("--where chooses queries among the held-out items, and not copies: leave out one")
    if detach and options.copies is not None:
        raise typer.BadParameter("--copies reads the files of this machine while it runs: leave out --detach")
    if files.given() and (detach or options.copies is not None):
        raise typer.BadParameter("files of each query are written at the end, and not of copies: leave out the other")
    _measure(name, request, options.copies, files, detach, connection, as_json, as_csv)


def compare(
    name: NameArgument,
    options: ComparisonOptions,
    report: ReportOption = None,
    detach: DetachOption = False,
    connection: ConnectionOptions = HERE,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Compare learners on the items of a collection, and store nothing.

    Each learner is fitted on the same random splits. The held-out items then search each other, from every view to
    every other one, and the table has the mean over these directions, too. Differences to the first learner are paired,
    split by split.

    Examples:
        crossview compare pets --learners default,cca,multi-npp,posteriors
        crossview compare pets --learners 'posteriors,dot; instances,dot' --splits 10
        crossview compare pets --learners default,cca --report report
    """
    check_format(as_json, as_csv)
    check_detached(detach, connection)
    files = EvaluationFiles(report=report)
    _measure(name, files.request(options.request()), None, files, detach, connection, as_json, as_csv)


def _measure(
    name: str,
    request: EvaluationRequest,
    copies: int | None,
    files: EvaluationFiles,
    detach: bool,
    connection: ConnectionOptions,
    as_json: bool,
    as_csv: bool,
) -> None:
    if detach and files.report is not None:
        raise typer.BadParameter("--report is written at the end: leave out --detach")
    if detach:
        with connection.detached(name) as server:
            job = server.evaluate(request)
        print_detached(job, as_json)
        return
    with connection.collection(name) as collection, progress_bar(not as_json) as progress:
        if copies is None:
            evaluation = collection.evaluate(request, progress=progress)
        else:
            from crossview.engine.training.copy_recall import evaluate_copies

            evaluation = evaluate_copies(collection, request, copies, progress)
        files.write_report(request, evaluation, collection, name)
    files.write(request, evaluation)
    if as_json:
        print_json(replace(evaluation, per_query=()))
    elif as_csv:
        _print_csv(evaluation)
    else:
        _print(evaluation)


def _print(evaluation: "Evaluation") -> None:
    """Print the figures of one or several spaces, and how they were measured."""
    _print_spaces(evaluation, list(dict.fromkeys(row.space for row in evaluation.rows)))
    counts = ", ".join(f"{evaluation.databases[name]} {name}" for name in DATABASES if name in evaluation.databases)
    measured = f"{evaluation.queries} queries" + (f"; items to find: {counts}" if counts else "")
    if evaluation.comparisons:
        measured = f"{evaluation.comparisons} comparisons"
    say(f"{measured}; {evaluation.seconds:.1f} s")
    say("; ".join(completed(sentence) for sentence in (evaluation.protocol, evaluation.codebook) if sentence))


def _print_spaces(evaluation: "Evaluation", spaces: list[str]) -> None:
    """Print a column of figures for each space, with paired differences to the first space in the other columns."""
    cells = {_key(row): _number(row.value, row.standard_error) for row in evaluation.rows}
    for difference in evaluation.differences:
        cells[_key(difference)] += f" ({_number(difference.value, difference.standard_error, '+')})"
    places = ("database",) if evaluation.databases else ()
    rows = table("query", "target", *places, "metric", ">k", *(f">{space}" for space in spaces))
    for query, target, database, metric, k in dict.fromkeys(key[1:] for key in map(_key, evaluation.rows)):
        values = [cells.get((space, query, target, database, metric, k), "-") for space in spaces]
        rows.add_row(query or MEAN, target, *([database] if places else []), metric, str(k or ""), *values)
    show(rows)
    brackets = f"; in brackets the difference to {spaces[0]}, paired" if evaluation.differences else ""
    say(f"{_MEANS}{brackets}")


def _key(row: "EvaluationRow | EvaluationDifference") -> tuple[str, str, str, str, str, int | None]:
    return row.space, row.query_view, row.database_view, row.database, row.metric, row.k


def _number(value: float, error: float | None, sign: str = "") -> str:
    return f"{value:{sign}.3f}" + ("" if error is None else f" \u00b1 {error:.3f}")


def _print_csv(evaluation: "Evaluation") -> None:
    differences = {_key(row): (row.value, row.standard_error) for row in evaluation.differences}
    none = (None, None)
    print_csv(
        COLUMNS,
        ((*_key(row), row.value, row.standard_error, *differences.get(_key(row), none)) for row in evaluation.rows),
    )
