"""The main demo: create, index, train, serve, search and evaluate; each step prints its command first."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np

from crossview.engine.collections.home import Home
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.backend import Backend, CollectionBackend
from crossview.server.commands.demo.dataset import STYLES, caption, write_captions, write_pictures
from crossview.server.commands.drawing.search_results import Strip, strips
from crossview.server.commands.drawing.sheet import write_sheet
from crossview.server.wire.errors import ServerUnavailableError

NAME = "demo"
CAPTIONS = "captions.csv"
VIEWS = ("color", "sift")
EXTRACTORS = ("color", "sift:words=150", "text:dim=40")
"""Views of the collection; a small collection needs only few visual words."""
WORDS = "words"
"""Name of the space in which texts find pictures."""
PER_CLASS = 24
QUERIES_PER_CLASS = 2
HITS = 8
SHOWN = {"leaves": "color", "bricks": "sift", "rings": "color"}
"""Classes on the contact sheet, with the view of their queries."""
TEXT_QUERY = "waves", "surf and tide, an ocean swell"
"""A class, and the text query for it on the contact sheet."""
TO_TRY = (
    "search demo {folder}/queries/leaves/leaves-00.jpg --view color --targets sift -k 5",
    f'search demo --text "surf and tide" --view text --targets color --space {WORDS} -k 5',
    "index mine {folder}/pictures --labels folder",
)
"""Commands after the demo; the last one takes any folder of pictures."""
ROOT = Path(__file__).resolve().parents[2]
"""The folder of the packages, from which the process of the server imports the same code."""

Echo = Callable[[str], None]
"""Prints a line."""
Connect = Callable[[str], AbstractContextManager[Backend]]
"""Connects to the server at an address ``HOST:PORT``."""


def run_demo(folder: Path, sheet: Path, echo: Echo, connect: Connect) -> None:
    """Run the demo in ``folder`` (pictures, queries, home), draw ``sheet``, and print every step with its command.

    Raises ServerUnavailableError if the server does not start.
    """
    pictures, queries, home = folder / "pictures", folder / "queries", folder / "home"
    began = time.monotonic()
    count = write_pictures(pictures, PER_CLASS, seed=0)
    write_captions(folder / CAPTIONS, pictures)
    write_pictures(queries, QUERIES_PER_CLASS, seed=1)
    echo(f"Drew {count} pictures of {len(STYLES)} classes, and {QUERIES_PER_CLASS * len(STYLES)} more to search with.")
    echo("Each picture has a caption that does not name its class.")
    _build(home, pictures, folder / CAPTIONS, echo)
    with served(home, folder / "server.log", echo) as address, connect(address) as server:
        collection = server.open(NAME)
        rows = _search(collection, address, queries, echo)
        rows += _search_texts(collection, address, echo)
        write_sheet(sheet, rows, "New pictures and texts, and what the server found by colour and by texture")
        echo(f"wrote {sheet}")
        _evaluate(collection, address, echo)
    echo(f"\nDone in {time.monotonic() - began:.0f} s.")


def _build(home: Path, pictures: Path, captions: Path, echo: Echo) -> None:
    command(echo, f"create {NAME} --views {','.join(EXTRACTORS)}")
    with Home(home).create(NAME, views=EXTRACTORS, description="Pictures drawn by the demo") as collection:
        command(echo, f"index {NAME} {pictures} --labels folder --captions {captions}")
        report = collection.index([pictures], IndexOptions(labels="folder", captions=captions))
        done = report.added + report.updated
        echo(f"{done} pictures in {report.seconds:.1f} s, {len(report.failures)} unreadable; the views are fitted")
        command(echo, f"train {NAME} --learner hybrid --views {','.join(VIEWS)} --holdout 0.2")
        space = collection.train(Recipe(spec="hybrid", views=VIEWS, holdout=0.2))
        dims = ", ".join(f"{target} ({space.dim[target]} numbers)" for target in space.targets)
        echo(f"space {space.name}: learned from {space.trained_items} pictures, {space.held_out} held out; {dims}")
        command(echo, f"train {NAME} --learner cca --views text,color --space {WORDS} --no-activate")
        space = collection.train(Recipe(spec="cca", views=("text", "color")), space=WORDS, activate=False)
        echo(f"space {space.name}: learned from {space.trained_items} pictures and their captions")


@contextmanager
def served(home: Path, log: Path, echo: Echo) -> Iterator[str]:
    """Run a server in a separate process, on a free port, with its log in a file; yield its address."""
    command(echo, f"serve --home {home} --port 0")
    program = [sys.executable, "-m", "crossview.server.commands.cli", "serve", "--home", str(home), "--port", "0"]
    with (
        log.open("w") as errors,
        subprocess.Popen(program, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT) as server,
    ):
        try:
            ready = server.stdout.readline().strip() if server.stdout else ""
            if not ready:
                raise ServerUnavailableError(f"the demo's server did not start: {log.read_text().strip()}")
            echo(ready)
            yield ready.rsplit(" ", 1)[-1]
        finally:
            server.terminate()


def _search(collection: CollectionBackend, address: str, folder: Path, echo: Echo) -> list[Strip]:
    example = folder / "leaves" / "leaves-00.jpg"
    command(echo, f"search {NAME} {example} --view color --targets sift -k {HITS} --server {address}")
    rows: list[Strip] = []
    correct = dict.fromkeys(((view, target) for view in VIEWS for target in VIEWS), 0)
    for path in sorted(folder.rglob("*.jpg")):
        name = path.parent.name
        queries = [Query(view, image=path.read_bytes()) for view in VIEWS]
        results = collection.search(SearchRequest(queries, k=HITS))
        for hit_list in results:
            correct[queries[hit_list.query].view, hit_list.target] += sum(name in hit.labels for hit in hit_list.hits)
        if path.stem.endswith("-00"):
            hit_lists = [hit_list for hit_list in results if queries[hit_list.query].view == SHOWN.get(name)]
            rows += strips(collection.items, queries, hit_lists, truth=name, name=path.name)
    pictures = len(STYLES) * QUERIES_PER_CLASS
    echo(f"share of {HITS} hits in the query's class, over {pictures} pictures that are not indexed:")
    for (view, target), count in correct.items():
        echo(f"{view:>6} -> {target:<6} {count / (pictures * HITS):4.0%}")
    return rows


def _search_texts(collection: CollectionBackend, address: str, echo: Echo) -> list[Strip]:
    """Search for pictures by new captions."""
    rng = np.random.default_rng(1)
    captions = [(name, caption(name, rng)) for name in STYLES for _ in range(QUERIES_PER_CLASS)]
    queries = [Query("text", text=text) for _, text in (*captions, TEXT_QUERY)]
    where = f"--view text --targets color --space {WORDS} -k {HITS}"
    command(echo, f'search {NAME} --text "{queries[-1].text}" {where} --server {address}')
    results = collection.search(SearchRequest(queries, targets=("color",), k=HITS, space=WORDS))
    correct = sum(
        name in hit.labels for (name, _), hit_list in zip(captions, results, strict=False) for hit in hit_list.hits
    )
    echo(f"share of {HITS} hits in the class that a caption was made for, over {len(captions)} new captions:")
    echo(f"  text -> color  {correct / (HITS * len(captions)):4.0%}")
    return strips(collection.items, queries, results[-1:], truth=TEXT_QUERY[0])


def _evaluate(collection: CollectionBackend, address: str, echo: Echo) -> None:
    echo("")
    for view in VIEWS:
        echo(f"$ crossview evaluate {NAME} --view {view} -k 5,10 --server {address}")
    for view in VIEWS:
        _print_evaluation(collection.evaluate(EvaluationRequest(view=view, k=(5, 10))), echo)


def _print_evaluation(evaluation: Evaluation, echo: Echo) -> None:
    targets = dict.fromkeys((row.query_view, row.database_view, row.database) for row in evaluation.rows)
    for query, target, database in targets:
        measures = (
            f"{row.metric}{f'@{row.k}' if row.k else ''} {row.value:.3f}"
            for row in evaluation.rows
            if (row.query_view, row.database_view, row.database) == (query, target, database)
        )
        echo(f"{query:>6} -> {target:<6} {database:<8} {', '.join(measures)}")


def command(echo: Echo, command: str) -> None:
    """Print the command that a user would type for the next step."""
    echo(f"\n$ crossview {command}")
