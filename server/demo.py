"""The whole story on pictures drawn on the spot: create, index, train, serve, search, evaluate."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from engine.evaluation import Evaluation, EvaluationRequest
from engine.home import Home
from engine.item import IndexOptions
from engine.query import Query, SearchRequest
from engine.recipe import Recipe
from server.backend import CollectionBackend
from server.client import Client
from server.errors import ServerUnavailableError
from server.pictures import STYLES, caption, write_captions, write_pictures
from server.results import strips
from server.sheet import Strip, write_sheet

NAME = "demo"
CAPTIONS = "captions.csv"
VIEWS = ("color", "sift")
EXTRACTORS = ("color", "sift:words=150", "text:dim=40")
"""What the collection is created with; few words do for few pictures."""
WORDS = "words"
"""Name of the space in which words find pictures."""
PER_CLASS = 24
QUERIES_PER_CLASS = 2
HITS = 8
SHOWN = {"leaves": "color", "bricks": "sift", "rings": "color"}
"""Classes on the contact sheet, and by which view they are searched."""
SPOKEN = "waves", "surf and tide, an ocean swell"
"""A class and the words that it is searched with on the contact sheet."""
ROOT = Path(__file__).resolve().parent.parent
"""Where the packages are, so that the server's process finds the same ones."""

Say = Callable[[str], None]


def run_demo(folder: Path, sheet: Path, say: Say) -> None:
    """Works in ``folder`` (pictures, queries, home) and draws ``sheet``; says what it does and by which command."""
    pictures, queries, home = folder / "pictures", folder / "queries", folder / "home"
    began = time.monotonic()
    drawn = write_pictures(pictures, PER_CLASS, seed=0)
    write_captions(folder / CAPTIONS, pictures)
    write_pictures(queries, QUERIES_PER_CLASS, seed=1)
    say(f"Drew {drawn} pictures in {len(STYLES)} classes, and {QUERIES_PER_CLASS * len(STYLES)} others to search with;")
    say("each has a caption, which does not name its class.")
    _build(home, pictures, folder / CAPTIONS, say)
    with _served(home, folder / "server.log", say) as address, Client(address) as client:
        collection = client.open(NAME)
        rows = _search(collection, address, queries, say)
        rows += _search_words(collection, address, say)
        write_sheet(sheet, rows, "New pictures and words, and what the server found by colour and by texture")
        say(f"wrote {sheet}")
        _evaluate(collection, address, say)
    say(f"\nDone in {time.monotonic() - began:.0f} s.")


def _build(home: Path, pictures: Path, captions: Path, say: Say) -> None:
    _command(say, f"create {NAME} --views {','.join(EXTRACTORS)}")
    with Home(home).create(NAME, views=EXTRACTORS, description="Pictures drawn by the demo") as collection:
        _command(say, f"index {NAME} {pictures} --labels folder --captions {captions}")
        report = collection.index([pictures], IndexOptions(labels="folder", captions=captions))
        done = report.added + report.updated
        say(f"{done} pictures in {report.seconds:.1f} s, {len(report.failures)} could not be read; views were fitted")
        _command(say, f"train {NAME} --learner hybrid --views {','.join(VIEWS)} --holdout 0.2")
        space = collection.train(Recipe(spec="hybrid", views=VIEWS, holdout=0.2))
        dims = ", ".join(f"{target} ({space.dim[target]} numbers)" for target in space.targets)
        say(f"space {space.name}: learned from {space.trained_items} pictures, {space.held_out} held out; {dims}")
        _command(say, f"train {NAME} --learner cca --views text,color --space {WORDS} --no-activate")
        space = collection.train(Recipe(spec="cca", views=("text", "color")), space=WORDS, activate=False)
        say(f"space {space.name}: learned from {space.trained_items} pictures and their captions")


@contextmanager
def _served(home: Path, log: Path, say: Say) -> Iterator[str]:
    """A server in a process of its own, on a free port, its log in a file; yields its address."""
    _command(say, f"serve --home {home} --port 0")
    command = [sys.executable, "-m", "server.cli", "serve", "--home", str(home), "--port", "0"]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT) as server,
    ):
        try:
            ready = server.stdout.readline().strip() if server.stdout else ""
            if not ready:
                raise ServerUnavailableError(f"the demo's server did not start: {log.read_text().strip()}")
            say(ready)
            yield ready.rsplit(" ", 1)[-1]
        finally:
            server.terminate()


def _search(collection: CollectionBackend, address: str, queries: Path, say: Say) -> list[Strip]:
    example = queries / "leaves" / "leaves-00.jpg"
    _command(say, f"search {NAME} {example} --view color --targets sift -k {HITS} --server {address}")
    rows: list[Strip] = []
    right = dict.fromkeys(((view, target) for view in VIEWS for target in VIEWS), 0)
    for path in sorted(queries.rglob("*.jpg")):
        name = path.parent.name
        asked = [Query(view, image=path.read_bytes()) for view in VIEWS]
        found = collection.search(SearchRequest(asked, k=HITS))
        for answer in found:
            right[asked[answer.query].view, answer.target] += sum(name in hit.labels for hit in answer.hits)
        if path.stem.endswith("-00"):
            shown = [answer for answer in found if asked[answer.query].view == SHOWN.get(name)]
            rows += strips(collection, asked, shown, truth=name)
    total = len(STYLES) * QUERIES_PER_CLASS * HITS
    say(f"of {HITS} hits, of the query's class, over {len(STYLES) * QUERIES_PER_CLASS} pictures that are not indexed:")
    for (view, target), count in right.items():
        say(f"{view:>6} -> {target:<6} {count / total:4.0%}")
    return rows


def _search_words(collection: CollectionBackend, address: str, say: Say) -> list[Strip]:
    """Searches pictures with captions that none of them has."""
    rng = np.random.default_rng(1)
    captions = [(name, caption(name, rng)) for name in STYLES for _ in range(QUERIES_PER_CLASS)]
    asked = [Query("text", text=text) for _, text in (*captions, SPOKEN)]
    where = f"--view text --targets color --space {WORDS} -k {HITS}"
    _command(say, f'search {NAME} --text "{asked[-1].text}" {where} --server {address}')
    found = collection.search(SearchRequest(asked, targets=("color",), k=HITS, space=WORDS))
    right = sum(name in hit.labels for (name, _), answer in zip(captions, found, strict=False) for hit in answer.hits)
    say(f"of {HITS} hits, of the class that a caption was made for, over {len(captions)} captions of no picture:")
    say(f"  text -> color  {right / (HITS * len(captions)):4.0%}")
    return strips(collection, asked, found[-1:], truth=SPOKEN[0])


def _evaluate(collection: CollectionBackend, address: str, say: Say) -> None:
    say("")
    for view in VIEWS:
        say(f"$ crossview evaluate {NAME} --view {view} -k 5,10 --server {address}")
    for view in VIEWS:
        _tell(collection.evaluate(EvaluationRequest(view=view, k=(5, 10))), say)


def _tell(evaluation: Evaluation, say: Say) -> None:
    targets = dict.fromkeys((row.query_view, row.database_view) for row in evaluation.rows)
    for query, database in targets:
        measures = (
            f"{row.metric}{f'@{row.k}' if row.k else ''} {row.value:.3f}"
            for row in evaluation.rows
            if (row.query_view, row.database_view) == (query, database)
        )
        say(f"{query:>6} -> {database:<6} {', '.join(measures)}")


def _command(say: Say, command: str) -> None:
    say(f"\n$ crossview {command}")
