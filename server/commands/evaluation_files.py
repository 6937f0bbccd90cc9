"""The files of an evaluation: the figures of each query as CSV, and the rankings and relevant items as TREC files."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TextIO
from urllib.parse import quote

import typer

from crossview.engine.values.evaluation import EvaluationRequest
from crossview.server.commands.common import json_text
from crossview.server.commands.output import say, write_csv
from crossview.server.commands.report_options import ReportOption, check_report, made_now

if TYPE_CHECKING:
    from crossview.engine.values.evaluation import Evaluation, PerQuery
    from crossview.server.commands.backend import CollectionBackend

DEPTH = 1_000
"""Default number of hits of each query in a run, as in the evaluations of TREC."""
COLUMNS = ("space", "query_view", "database_view", "database", "split", "query")
"""The columns of the CSV before the figures."""
_SEPARATING = re.compile(r"[\s%\x00-\x1f\x7f]")
"""Characters of a key that would end a column of a TREC file, and %, which marks their escapes."""


@dataclass(frozen=True, kw_only=True)
class EvaluationFiles:
    """A report, and new files for the figures and hits of each query."""

    PANEL: ClassVar[str] = "Files"

    report: ReportOption = None

    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="New file for the figures of each query.")
    ] = None
    trec_run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="New file for the hits of each query, as a TREC run; several spaces have a file each, such as "
            "run.cca.txt for run.txt.",
        ),
    ] = None
    trec_qrels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="New file for the relevant items of each query, as TREC qrels."),
    ] = None
    trec_depth: Annotated[
        int, typer.Option(metavar="N", min=1, help="With --trec-run: maximum number of hits of each query.")
    ] = DEPTH

    def given(self) -> bool:
        """Return whether there is a file of each query to write."""
        return any((self.per_query, self.trec_run, self.trec_qrels))

    def request(self, request: EvaluationRequest) -> EvaluationRequest:
        """Return a request that also wants what the files contain.

        Raises typer.BadParameter for files that exist or cannot be written, and for TREC files of several rankings.
        """
        check_report(self.report)
        if self.report is not None:
            request = replace(request, details=request.constraints is None and request.pairs is None)
        if not self.given():
            return request
        paths = [path for path in (self.per_query, self.trec_qrels) if path is not None]
        if self.trec_run is not None:
            paths += [self._run_of(space, request) for space in request.measured or ("",)]
        for path in paths:
            if path.exists():
                raise typer.BadParameter(f"{path} exists already: name a new file")
            if not path.parent.is_dir():
                raise typer.BadParameter(f"there is no folder {path.parent} for {path.name}")
        if len(set(paths)) < len(paths):
            raise typer.BadParameter("give each file a name of its own")
        trec = self.trec_run is not None or self.trec_qrels is not None
        if trec and (len(request.targets) != 1 or len(request.databases) != 1 or request.splits > 1):
            raise typer.BadParameter(
                "a TREC file holds the rankings of one target, one database and one split: give one --targets and one "
                "--database"
            )
        return replace(request, per_query=True, hits=self.trec_depth if trec else 0)

    def write(self, request: EvaluationRequest, evaluation: "Evaluation") -> None:
        """Write the files of the result of a request, and print their names on stderr."""
        tables = evaluation.per_query
        if self.per_query is not None:
            names = list(dict.fromkeys(name for table in tables for name in table.figures))
            with _new(self.per_query) as file:
                write_csv(file, [*COLUMNS, *names], _rows(tables, names))
        if self.trec_qrels is not None:
            with _new(self.trec_qrels) as file:
                file.writelines(_qrels(tables[0]))
        for table in tables if self.trec_run is not None else ():
            with _new(self._run_of(table.space, request)) as file:
                file.writelines(_run(table))

    def write_report(
        self, request: EvaluationRequest, evaluation: "Evaluation", collection: "CollectionBackend", name: str
    ) -> None:
        """Write the report of the result of a request, and print its page on stderr."""
        if self.report is None:
            return
        from crossview.server.commands.drawing.evaluation_report import evaluation_files
        from crossview.server.commands.drawing.page import write_files

        names = dict.fromkeys(row.space for row in evaluation.rows if row.space not in request.learners)
        spaces = [collection.spaces.get(space) for space in names]
        figures = json_text(replace(evaluation, per_query=())) + "\n"
        origin = made_now(collection=name, seed=request.seed)
        files = evaluation_files(name, evaluation, spaces, collection.items, figures, origin)
        say(f"wrote {write_files(self.report, files)}", err=True)

    def _run_of(self, space: str, request: EvaluationRequest) -> Path:
        """Return the file for the run of a space; if there are several, it has the space's name before its suffix."""
        path = self.trec_run or Path()
        return path if len(request.measured) < 2 else path.with_name(f"{path.stem}.{space}{path.suffix}")


NO_FILES = EvaluationFiles()


@contextmanager
def _new(path: Path) -> Iterator[TextIO]:
    """Open a new file, print its name at the end, and remove the file if the writing fails."""
    with path.open("x", encoding="utf-8", newline="") as file:
        try:
            yield file
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
    say(f"wrote {path}", err=True)


def _rows(tables: Sequence["PerQuery"], names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield a row for each query; a figure that does not count the query is None."""
    for table in tables:
        place = table.space, table.query_view, table.database_view, table.database, table.split
        columns = [
            table.figures[name].tolist() if name in table.figures else [math.nan] * len(table.keys) for name in names
        ]
        for key, *values in zip(table.keys, *columns, strict=True):
            yield *place, key, *(None if math.isnan(value) else value for value in values)


def _run(table: "PerQuery") -> Iterator[str]:
    for query, hits in table.run():
        name = _escaped(query)
        for rank, (item, score) in enumerate(hits.items(), 1):
            yield f"{name} Q0 {_escaped(item)} {rank} {score:.0f} {table.space}\n"


def _qrels(table: "PerQuery") -> Iterator[str]:
    for query, relevant in table.qrels():
        name = _escaped(query)
        for item, grade in relevant.items():
            yield f"{name} 0 {_escaped(item)} {grade}\n"


def _escaped(key: str) -> str:
    """Return a key without white space, as one column of a TREC file; ``urllib.parse.unquote`` returns the key."""
    return _SEPARATING.sub(lambda match: quote(match[0]), key)
