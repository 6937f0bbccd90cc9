"""A benchmark: its arguments, what it measures, and how its figures are shown."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.digest import code_digest
from benchmarks.frame.record import command, made_of, provenance, record, usable_cores, write_json
from benchmarks.frame.tables import figures_table

Document = Mapping[str, Any]
"""The record of a run: "benchmark", "command", "date", "commit", "base", "dirty", "machine", "versions", "digest",
"settings", "rows", "seconds", and what the benchmark's own report needs besides."""
OUT = Path("bench-out")
"""Default folder for records; git ignores it."""


class MissingDataError(FileNotFoundError):
    """The folder of ``--data`` lacks a file, or a file lacks an array; the message names it."""

    @classmethod
    def of(cls, folder: Path, name: str) -> "MissingDataError":
        """Return the error for a missing file of a set, with the page that describes the sets."""
        return cls(f"{folder} holds no {name}: docs/benchmarks/data.md states where the data come from")


def read_arrays(folder: Path, file: str, *names: str) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz file; MissingDataError where it or one of the named arrays is missing."""
    path = folder / file
    if not path.is_file():
        raise MissingDataError.of(folder, file)
    with np.load(path) as arrays:
        if missing := sorted(set(names) - set(arrays)):
            raise MissingDataError(f"{path} has no {', '.join(missing)}")
        return dict(arrays)


def plain_report(document: Document) -> str:
    """Return every row of the document as a line of one table."""
    return f"# {document['benchmark']}\n\n{figures_table(document['rows'])}\n"


@dataclass(frozen=True)
class Benchmark:
    """One entry of ``python -m benchmarks NAME``.

    Attributes:
        name: NAME.
        description: the text of ``--help``.
        arguments: adds the benchmark's own options to a parser; ``--json`` and ``--report`` are added besides.
        run: measures with the parsed options; returns "settings", "rows" and whatever else its report needs.
        markdown: the report on a document, which starts with a first-level heading.
        plot: draws the PNG of a document; None: no plot.
        caption: of the plot.
        headline: the task and its measure, our figures, and those that they are compared with. None: no headline.
    """

    name: str
    description: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Mapping[str, Any]]
    markdown: Callable[[Document], str] = plain_report
    plot: Callable[[Path, Document], None] | None = None
    caption: str = ""
    headline: Callable[[Document], tuple[str, str, str]] | None = None

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the benchmark, write its document and, where asked for, its report; return the exit status.

        Raises:
            SystemExit: if an option is wrong or data are missing; the message says which.
        """
        options = self.parser().parse_args(arguments)
        began = time.monotonic()
        document = record(self.name, command(self.name, self.parser(), options))
        document["digest"] = code_digest(self.run)
        try:
            document |= {"seconds": 0.0, **self.run(options)}
        except MissingDataError as error:
            raise SystemExit(str(error)) from None
        document["seconds"] = document["seconds"] or time.monotonic() - began
        write_json(options.json, document)
        text = self.report(document)
        Console().print(text, markup=False, highlight=False, soft_wrap=True)
        if options.report:
            self.write_report(options.report, document)
        return 0

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of the command line."""
        parser = argparse.ArgumentParser(
            prog=f"python -m benchmarks {self.name}",
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.arguments(parser)
        default = OUT / f"{self.name}.json"
        parser.add_argument(
            "--json", type=Path, default=default, help=f"where to write the figures [default: {default}]"
        )
        parser.add_argument("--report", type=Path, help="folder for a page to open, and its text, plot and figures")
        return parser

    def report(self, document: Document) -> str:
        """Return the report in Markdown, with the command, commit and machine that the figures come from."""
        return f"{self.markdown(document).rstrip()}\n\n{provenance(document)}\n"

    def write_report(self, folder: Path, document: Document) -> None:
        """Write the page of a document into a folder, and beside it its Markdown, plot and figures."""
        from benchmarks.frame.page import page

        folder.mkdir(parents=True, exist_ok=True)
        text, plot = self.report(document), folder / f"{self.name}.png"
        if self.plot:
            self.plot(plot, document)
            text += f"\n![{self.caption}]({self.name}.png)\n"
        (folder / f"{self.name}.md").write_text(text, encoding="utf-8")
        write_json(folder / f"{self.name}.json", document)
        drawn = plot.read_bytes() if self.plot else None
        facts = made_of(document)
        html = page(self.name, self.markdown(document), facts, self._summary(document), drawn, self.caption)
        (folder / "index.html").write_text(html, encoding="utf-8")

    def _summary(self, document: Document) -> str:
        """Return a sentence: the headline, or else the first line of the description."""
        if self.headline is None:
            return self.description.strip().splitlines()[0]
        task, ours, compared = self.headline(document)
        return f"{task}: {ours}" + (f"; compared with {compared}." if compared else ".")


def trial_arguments(parser: argparse.ArgumentParser, trials: int, workers: int | None = None) -> None:
    """Add ``--trials``, ``--first-seed`` and ``--workers``, by default as many as there are cores."""
    parser.add_argument("--trials", type=positive, default=trials, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first trial; the others follow")
    parser.add_argument("--workers", type=positive, default=workers or usable_cores(), help="processes, a trial each")


def seeds_of(options: argparse.Namespace) -> range:
    """Return the seeds that ``--trials`` and ``--first-seed`` ask for."""
    return range(options.first_seed, options.first_seed + options.trials)


def positive(text: str) -> int:
    """Return a whole number of at least 1, for argparse."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is too small: it must be at least 1")
    return number


def numbers(text: str) -> tuple[int, ...]:
    """Return positive whole numbers in ascending order, for argparse."""
    try:
        return tuple(sorted({positive(part) for part in text.split(",") if part}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers with commas between them") from None
