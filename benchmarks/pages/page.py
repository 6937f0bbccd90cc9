"""A page of the benchmarks: one question, and the results that answer it."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.frame.charts import Plot
from benchmarks.pages.report import Excerpt


@dataclass(frozen=True)
class Page:
    """One page, made from results.

    Attributes:
        name: of the file, without its ending.
        title: the heading.
        question: one sentence, which ends with a question mark.
        results: names of files of ``benchmarks/results`` without their endings, in the order of the sections. The first
            one answers the question by its headline.
        plots: the plots, each of which shows one of the results.
        note: what a reader must know who has not read the paper.
        excerpts: the parts of the reports that decide, in the order of the page; CSV files contain all tables in full.
        paper: the authors, the venue and the year of the paper of the method, if ``README.md`` names it.
        method: its name.
        command: the command that uses it.
    """

    name: str
    title: str
    question: str
    results: Sequence[str]
    plots: Sequence[Plot]
    note: str
    excerpts: Sequence[Excerpt] = ()
    paper: str = ""
    method: str = ""
    command: str = ""


@dataclass(frozen=True)
class Group:
    """Pages of one kind, in the order of the index."""

    title: str
    pages: Sequence[Page]
