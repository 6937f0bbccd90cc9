"""The text of the pages of the benchmarks, of their index, and of the table in ``README.md``."""

from collections.abc import Mapping, Sequence

from benchmarks.frame.benchmark import Document
from benchmarks.frame.tables import table
from benchmarks.pages import GROUPS, PAGES, README
from benchmarks.pages.page import Page
from benchmarks.pages.report import Report, Sheet, sheets
from benchmarks.registry import benchmark
from benchmarks.sets.sources import page as data_page

Documents = Mapping[str, Document]
"""Results by the names of their files, without the ending."""
FOLDER = "docs/benchmarks"
MARK = "<!-- figures -->"
_WRITTEN = "<!-- Written by `python -m benchmarks figures` from benchmarks/results/*.json. -->"
_TABLE = ("task and measure", "crossview", "compared with")
_PAPERS = ("method and paper", "command", *_TABLE)
_LEGEND = (
    "± is the standard error over splits, or over queries where there is one split. "
    f"All results and measures: [{FOLDER}]({FOLDER}/index.md)."
)
_INTRODUCTION = """Each page answers one question, and links to CSV files that have every figure. Its last lines have
the command, commit and machine of each run, so that you can repeat it. They mark commits that are not in the
repository, because a branch was rewritten after the run. Published figures stand beside ours; pages state if they are
of other data."""
_CODE = """## Results and their code

Each result in `benchmarks/results` has a digest of the code that made it. It covers the modules of the benchmark and
all modules of crossview that it imports, but not comments, types of arguments and names of local variables.
`python -m benchmarks figures --check` names the results that are older than their code. Their figures need not have
changed. The code of these results is unknown:"""
_REPEATED = """Three results of lost commits were measured again with the same seeds. `multi-npp-printed-corel1k` and
`multi-npp-printed-merged20` replace the earlier ones: 98 % of their 3,354 figures each differ by less than the standard
deviation over three splits. The objectives of `qwise-speed` differ by at most 0.004 %; its times stay."""
_MEASURES = """## Measures

- **Unseen and trained**: *unseen* items were held out, so that no learner has seen them. *Trained* items are those that
  the learner learned from.
- **Across views**: the query and the items have different views, such as colours and SIFT words.
- **mAP**, mean average precision: for each query, the mean of the precisions at the places of all relevant items; then
  the mean over queries. It is 1 if all relevant items come first. An item is relevant if it shares the query's class.
- **k-NN accuracy**: the share of queries whose class the majority of the k nearest items has.
- **Recall@k of copies and concepts**: the share of queries whose right item is among the first k hits.
- **Own-item recall@10**: a query has one view of an item. The measure is the share of queries whose own item is among
  the first ten hits of another view.
- **Coverage**: the share of items that are in the first ten hits of at least one query, divided by the largest possible
  share. A low coverage means that searches never show some items.
- **Hubness**: the skewness of how often an item is among the first ten hits. It is high if a few items are in most
  lists.
- **Match**: the probability that a hit is relevant, as crossview states it. The **calibration error** is the mean
  difference between matches and the shares of relevant hits.
- **AUC**, area under the ROC curve: the probability that a score ranks a random positive above a random negative.
- **Recall of an index**: the share of the true nearest items that an approximate index finds.
- **Error of triplets**: a triplet states that A is more similar to B than to C. The error is the share of held-out
  triplets whose order is wrong. One half is chance.
- **Hierarchical accuracy**: like accuracy, but a wrong class counts in part if it is near in a tree of classes.
- **p50, p95, p99**: half, 95 or 99 per cent of the calls take less than this time.
- **Error bars and ±**: the standard error over random splits or seeds, unless the page states otherwise. A *paired*
  difference compares two methods split by split.

## Data

[Data](data.md) states for every set its source, licence, citation and layout, and the benchmarks that need no download.

The views of photographs are `color` (histogram of colours), `sift` (words of local descriptors), `gist` (the layout of
edges) and `lite0` (rows of the model EfficientNet-Lite0)."""


def texts(documents: Documents) -> dict[str, str]:
    """Return the text of the index, of each page that has a result, and of its CSV files, by the name of the file.

    Raises:
        ValueError: if a result is on no page.
    """
    on_pages = {name for page in PAGES.values() for name in page.results}
    if missing := sorted(set(documents) - on_pages):
        raise ValueError(f"no page has the results {', '.join(missing)}: name them in a page of benchmarks/pages")
    written = {"index.md": index(documents), "data.md": data_page()}
    for page in PAGES.values():
        if names := _results(page, documents):
            reports = {
                name: Report.of(benchmark(documents[name]["benchmark"]).report(documents[name])) for name in names
            }
            files = sheets(reports)
            written[f"{page.name}.md"] = page_text(page, documents, reports, files)
            written |= {f"tables/{page.name}/{sheet.name}.csv": sheet.text() for sheet in files}
    return written


def index(documents: Documents) -> str:
    """Return the page that leads to all others: a table for each group, the measures and the data."""
    parts = ["# Benchmarks", _WRITTEN, _INTRODUCTION]
    for group in GROUPS:
        pages = [page for page in group.pages if _results(page, documents)]
        lines = [[f"[{page.title}]({page.name}.md)", *_headline(page, documents)] for page in pages]
        if lines:
            parts += [f"## {group.title}", table([["page", *_TABLE], *lines])]
    unknown = [
        [name, document["date"], document.get("digest_reason", "written before results had digests")]
        for name, document in documents.items()
        if not document.get("digest")
    ]
    parts.append(f"{_CODE}\n\n{table([['result', 'date', 'reason'], *unknown])}")
    return "\n\n".join([*parts, _REPEATED, _MEASURES]) + "\n"


def page_text(page: Page, documents: Documents, reports: Mapping[str, Report], files: Sequence[Sheet]) -> str:
    """Return a page: the question, the answer in figures, the plots, the excerpts, the CSV files and the runs."""
    plots = [f"![{plot.alt}](plots/{plot.name}.svg)" for plot in page.plots if plot.result in documents]
    parts = [f"# {page.title}", _WRITTEN, f"**{page.question}**", _answer(page, documents), *plots, page.note]
    parts.append("[Measures](index.md#measures) explains the terms.")
    parts += [_section(page, name, report) for name, report in reports.items()]
    parts += ["## Tables in full and runs", "\n".join(_line(page, sheet) for sheet in files)]
    return "\n\n".join([*filter(None, parts), *(report.run for report in reports.values())]) + "\n"


def with_table(readme: str, documents: Documents) -> str:
    """Return the text with two tables between its two comments: the methods of papers, and the chosen headlines.

    Raises:
        ValueError: if there are not two such comments.
    """
    parts = readme.split(MARK)
    if len(parts) != 3:
        raise ValueError(f"README.md must have {MARK} twice, before and after the table of results")
    pages = [PAGES[name] for name in README if _results(PAGES[name], documents)]
    lines = [[*_headline(page, documents), f"[details]({FOLDER}/{page.name}.md)"] for page in pages]
    tables = [_papers(documents), table([[*_TABLE, "page"], *lines])] if lines else []
    section = "\n\n".join([*filter(None, tables), _LEGEND])
    return MARK.join([parts[0], f"\n{section}\n", parts[2]])


def _papers(documents: Documents) -> str:
    """Return the table of methods of papers, each with its page; "" if no result is of a paper."""
    pages = [page for page in PAGES.values() if page.paper and _results(page, documents)]
    lines = [
        [f"[{page.method}]({FOLDER}/{page.name}.md), {page.paper}", f"`{page.command}`", *_headline(page, documents)]
        for page in pages
    ]
    return table([_PAPERS, *lines]) if lines else ""


def _results(page: Page, documents: Documents) -> list[str]:
    return [name for name in page.results if name in documents]


def _headline(page: Page, documents: Documents) -> Sequence[str]:
    """Return the headline of the page's first result; three empty cells if its benchmark has none."""
    document = documents[_results(page, documents)[0]]
    headline = benchmark(document["benchmark"]).headline
    return headline(document) if headline else ("", "", "")


def _answer(page: Page, documents: Documents) -> str:
    """Return a table of the headlines of a page, one of each benchmark."""
    latest = {documents[name]["benchmark"]: documents[name] for name in reversed(_results(page, documents))}
    headlines = [(benchmark(name).headline, document) for name, document in reversed(latest.items())]
    return table([_TABLE, *(headline(document) for headline, document in headlines if headline)])


def _section(page: Page, name: str, report: Report) -> str:
    """Return the title of a report, its first paragraphs, and the excerpts of its tables; "" of none."""
    parts = [part for excerpt in page.excerpts if excerpt.result == name for part in excerpt.of(report)]
    return "\n\n".join(filter(None, [f"## {report.title}", report.about, *parts])) if parts else ""


def _line(page: Page, sheet: Sheet) -> str:
    """Return the link to a CSV file, with what it contains."""
    return f"- [{sheet.title}](tables/{page.name}/{sheet.name}.csv): {len(sheet.rows):,} rows"
