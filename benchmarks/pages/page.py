"""A page of the benchmarks: one question, and the results that answer it."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.frame.charts import Plot


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
        folded: patterns of headings whose sections a reader opens by a click.
        left_out: patterns of headings whose sections only the results contain.
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
    folded: Sequence[str] = ()
    left_out: Sequence[str] = ()
    paper: str = ""
    method: str = ""
    command: str = ""


@dataclass(frozen=True)
class Group:
    """Pages of one kind, in the order of the index."""

    title: str
    pages: Sequence[Page]
