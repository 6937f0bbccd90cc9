"""The figures of the documents, made from the results that are committed.

    python -m benchmarks figures [--check] [--report DIR]

Every ``benchmarks/results/*.json`` is a document that a benchmark wrote. Its report becomes a chapter of
``docs/benchmarks.md``, and its headline a line of the table that stands in ``README.md`` between two comments. A result
whose commit is not in the history of the repository, because its branch was rewritten, gets the mark ``commit_lost``,
which its chapter shows.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.frame.benchmark import Document
from benchmarks.frame.record import ROOT, history, write_json
from benchmarks.frame.tables import table
from benchmarks.registry import MODULES, benchmark

RESULTS, PAGE, README = "benchmarks/results", "docs/benchmarks.md", "README.md"
MARK = "<!-- figures -->"
LEGEND = f"± is the standard error over splits, or over queries where there is one split. All tables: [{PAGE}]({PAGE})."
INTRODUCTION = """# Benchmarks

<!-- Written by `python -m benchmarks figures` from benchmarks/results/*.json. -->

Every chapter is the report of one run; its last line has the command, the commit and the machine. It marks commits
that the repository does not have, because a branch was rewritten after the run. Published figures stand beside ours;
where they were measured on other data, the chapter says so. Seconds are those of the run, beside whatever else the
machine did; only the benchmarks of speed compare times."""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write the figures, or with ``--check`` returns 1 if they are not those of the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks figures", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a document differs")
    parser.add_argument("--report", type=Path, help="folder for a page of each result, and nothing else")
    options = parser.parse_args(arguments)
    if options.report:
        for path in sorted((root / RESULTS).glob("*.json")):
            document = json.loads(path.read_text(encoding="utf-8"))
            benchmark(document["benchmark"]).write_report(options.report / path.stem, document)
        return 0
    lost = without_commit(root)
    for path, document in {} if options.check else lost.items():
        write_json(path, {**document, "commit_lost": True})
    found = results(root / RESULTS)
    readme = (root / README).read_text(encoding="utf-8")
    wanted = {root / PAGE: page(found), root / README: with_table(readme, found)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.check:
            print(
                f"{path.relative_to(root)} differs from the results: run python -m benchmarks figures", file=sys.stderr
            )
        else:
            path.write_text(wanted[path], encoding="utf-8")
    if options.check:
        for path in lost:
            print(
                f"the repository lacks the commit of {path.name}, which does not state it: run python -m benchmarks "
                "figures",
                file=sys.stderr,
            )
    return int(options.check and bool(stale or lost))


def without_commit(root: Path) -> dict[Path, Document]:
    """Return the results whose commit is not in the history of the repository, and that do not state it.

    Without git, or with a part of the history, there are none.
    """
    known = history(root)
    documents = {path: json.loads(path.read_text(encoding="utf-8")) for path in (root / RESULTS).glob("*.json")}
    return {
        path: document
        for path, document in sorted(documents.items())
        if known is not None and document["commit"] not in known and not document.get("commit_lost")
    }


def results(folder: Path) -> list[Document]:
    """Return the documents of a folder, in the order in which the benchmarks are listed.

    Several of one benchmark, such as ``multi-npp.json`` and ``multi-npp-osr8.json``, are in the order of their names.
    """
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return sorted(found, key=lambda document: list(MODULES).index(document["benchmark"]))


def page(documents: Sequence[Document]) -> str:
    """Return the page of all reports, their headings one level deeper."""
    reports = [benchmark(document["benchmark"]).report(document).strip() for document in documents]
    return "\n\n".join([INTRODUCTION, *(re.sub("^#", "##", report, flags=re.M) for report in reports)]) + "\n"


def with_table(readme: str, documents: Sequence[Document]) -> str:
    """Return the text with the headlines' table between its two comments; of a benchmark's documents, the first's.

    Raises:
        ValueError: if there are not two such comments.
    """
    parts = readme.split(MARK)
    if len(parts) != 3:
        raise ValueError(f"{README} must have {MARK} twice, before and after the table of results")
    first = {document["benchmark"]: document for document in reversed(documents)}
    headlines = [(benchmark(name).headline, first[name]) for name in MODULES if name in first]
    lines = [list(headline(document)) for headline, document in headlines if headline]
    shown = f"\n{table([['task', 'here', 'published'], *lines])}\n\n{LEGEND}\n" if lines else "\n"
    return MARK.join([parts[0], shown, parts[2]])
