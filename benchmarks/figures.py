"""The figures of the documents, made from the results that are committed.

    python -m benchmarks figures [--check] [--report DIR]

Every ``benchmarks/results/*.json`` is a document that a benchmark wrote. ``benchmarks/pages`` divides them into pages
of ``docs/benchmarks``, with plots and CSV files of all tables, and chooses the headlines that stand in ``README.md``
between two comments. A plot is out of date if the digest of its data differs from the one in its file, so that checks
do not depend on the version of matplotlib. A result whose commit is not in the history of the repository, because its
branch was rewritten, gets the mark ``commit_lost``, which its page shows. The check also names the results that are
older than their code, and does not fail for them: many changes of code change no figure, and some results take an hour.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.frame.benchmark import Document
from benchmarks.frame.charts import Chart
from benchmarks.frame.digest import PARTS, code_digest
from benchmarks.frame.plots import digest_in, draw
from benchmarks.frame.record import ROOT, history, write_json
from benchmarks.pages import PAGES
from benchmarks.pages.writing import FOLDER, texts, with_table
from benchmarks.registry import benchmark

RESULTS, README, PLOTS = "benchmarks/results", "README.md", f"{FOLDER}/plots"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the figures, or with ``--check`` returns 1 if they are not those of the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks figures", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a document or a plot differs")
    parser.add_argument("--report", type=Path, help="folder for a page of each result, and nothing else")
    options = parser.parse_args(arguments)
    if options.report:
        for name, document in results(root / RESULTS).items():
            benchmark(document["benchmark"]).write_report(options.report / name, document)
        return 0
    return check(root) if options.check else write(root)


def write(root: Path) -> int:
    """Write the documents and the plots that differ from the results, and remove those of no result; return 0."""
    for path, document in without_commit(root).items():
        write_json(path, {**document, "commit_lost": True})
    documents, plots = _wanted(root), charts(results(root / RESULTS))
    (root / PLOTS).mkdir(parents=True, exist_ok=True)
    for path in _stale(root, documents, plots):
        if path in documents:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(documents[path], encoding="utf-8")
        elif path.stem in plots and path.parent == root / PLOTS:
            draw(path, plots[path.stem])
        else:
            path.unlink()
    return 0


def check(root: Path) -> int:
    """Name each document, plot and result that is out of date on standard error; return 1 if there are any."""
    stale = _stale(root, _wanted(root), charts(results(root / RESULTS)))
    lost = without_commit(root)
    for path in stale:
        print(f"{path.relative_to(root)} differs from the results: run python -m benchmarks figures", file=sys.stderr)
    for path in lost:
        print(
            f"the repository lacks the commit of {path.name}, which does not state it: run python -m "
            "benchmarks figures",
            file=sys.stderr,
        )
    for part, names in older_than_code(results(root / RESULTS)).items():
        print(f"stale ({part} changed): {', '.join(names)}", file=sys.stderr)
    return int(bool(stale or lost))


def results(folder: Path) -> dict[str, Document]:
    """Return the documents of a folder by the names of their files, in this order, without the endings."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def charts(documents: Mapping[str, Document]) -> dict[str, Chart]:
    """Return what each plot of the pages shows, by its name, as far as there are results."""
    plots = [plot for page in PAGES.values() for plot in page.plots if plot.result in documents]
    return {plot.name: plot.chart(documents) for plot in plots}


def older_than_code(documents: Mapping[str, Document]) -> dict[str, list[str]]:
    """Return the names of results whose code has changed since, by the first of ``PARTS`` that differs.

    A result without a digest is not among them.
    """
    names = defaultdict(list)
    for name, document in documents.items():
        if digest := document.get("digest"):
            now = code_digest(benchmark(document["benchmark"]).run)
            if differing := [part for part in PARTS if digest.get(part) != now.get(part)]:
                names[differing[0]].append(name)
    return {part: names[part] for part in PARTS if part in names}


def without_commit(root: Path) -> dict[Path, Document]:
    """Return the results whose commit is not in the history of the repository, and that do not state it.

    Without git, or with a part of the history, there are none.
    """
    commits = history(root)
    documents = {path: json.loads(path.read_text(encoding="utf-8")) for path in (root / RESULTS).glob("*.json")}
    return {
        path: document
        for path, document in sorted(documents.items())
        if commits is not None and document["commit"] not in commits and not document.get("commit_lost")
    }


def _wanted(root: Path) -> dict[Path, str]:
    """Return the text of each document that the results make."""
    documents = results(root / RESULTS)
    readme = with_table((root / README).read_text(encoding="utf-8"), documents)
    return {root / README: readme, **{root / FOLDER / name: text for name, text in texts(documents).items()}}


def _stale(root: Path, documents: Mapping[Path, str], plots: Mapping[str, Chart]) -> list[Path]:
    """Return the documents and plots that differ from the results, and those that no result makes."""
    drawn = {root / PLOTS / f"{name}.svg": chart.digest() for name, chart in plots.items()}
    texts_differ = [
        path for path, text in documents.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    plots_differ = [path for path, digest in drawn.items() if digest_in(path) != digest]
    expected = {*documents, *drawn}
    leftover = [path for path in (root / FOLDER).rglob("*") if path.is_file() and path not in expected]
    return sorted([*texts_differ, *plots_differ, *leftover])
