"""The demo of models: words find pictures that nobody has described or labelled, by models of the user's choice."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.features.models.folder import read_folder
from crossview.features.models.trial import check_installed
from crossview.server.commands.demo.story import Connect, Echo, command, served
from crossview.server.commands.demo.things import THINGS, write_things
from crossview.server.commands.drawing.search_results import strips
from crossview.server.commands.drawing.sheet import write_sheet

NAME = "things"
EACH = 12
"""Number of drawn pictures of each thing."""
HITS, SHOWN = 8, 3
"""Number of hits of a search, and of those in print."""
TEXTS = ("an animal", "something to eat", "a vehicle", "a building", "a view of nature")
"""The texts for pictures of the user."""
TO_TRY = (
    f'search {NAME} --text "something to eat" -k 5',
    f'search {NAME} --text "a sunny day" -k 5 --out {{folder}}/sunny.png',
    f"duplicates {NAME}",
)
"""Commands after the demo; they use no drawn picture, because the pictures can be the user's."""


@dataclass(frozen=True)
class ChosenModels:
    """The models of the demo, and the view that they make."""

    folders: Mapping[str, Path]
    """The folders by the names of the models in the home."""
    view: str
    spec: str
    """The extractor of the view."""

    @classmethod
    def of(cls, folders: Sequence[Path]) -> Self:
        """Return the models in folders: one of two towers, or one of pictures, which names classes, and one of texts.

        Raises ModelError for a folder without a usable model and without onnxruntime, InvalidInputError for models by
        which texts find no pictures.
        """
        manifests = {folder: read_folder(folder) for folder in folders}
        for manifest in manifests.values():
            check_installed(manifest)
        towers = {folder: frozenset(manifest.towers) for folder, manifest in manifests.items()}
        if len(folders) == 1 and manifests[folders[0]].shared:
            return cls({"clip": folders[0]}, "clip", "onnx:clip")
        pictures = [folder for folder, kinds in towers.items() if kinds == {"image"}]
        texts = [folder for folder, kinds in towers.items() if kinds == {"text"}]
        if (len(pictures), len(texts), len(folders)) != (1, 1, 2):
            raise InvalidInputError(
                "words find pictures by one model of pictures and texts, or by a model of pictures and one of texts; "
                f"given are {', '.join(f'{folder} ({_of(kinds)})' for folder, kinds in towers.items())}"
            )
        if not manifests[pictures[0]].classes:
            raise InvalidInputError(
                f"{pictures[0]} names no classes, which would lead from its pictures to words: its folder needs "
                "classes.txt, a line for each class, and its model an output logits"
            )
        return cls({"pictures": pictures[0], "texts": texts[0]}, "names", "conse:pictures:texts")


def _of(kinds: frozenset[str]) -> str:
    """Return the inputs of a model in words."""
    return "of " + " and ".join(word for kind, word in (("image", "pictures"), ("text", "texts")) if kind in kinds)


def run_words(
    folder: Path, sheet: Path, echo: Echo, connect: Connect, models: ChosenModels, pictures: Path | None = None
) -> None:
    """Run the demo in ``folder`` (pictures, home), draw ``sheet``, and print every step with its command.

    ``pictures`` is a folder of the user's own pictures [default: drawn ones]. Raises ServerUnavailableError if the
    server does not start, ModelError for a model that fails.
    """
    began, home = time.monotonic(), folder / "home"
    if pictures is None:
        count = write_things(folder / "pictures", EACH)
        echo(f"Drew {count} pictures of {len(THINGS)} things. They have no captions and no labels.")
    _build(home, pictures or folder / "pictures", models, echo)
    texts = TEXTS if pictures else [thing.text for thing in THINGS.values()]
    with served(home, folder / "server.log", echo) as address, connect(address) as server:
        collection, queries = server.open(NAME), [Query(models.view, text=text) for text in texts]
        results = collection.search(SearchRequest(queries, k=HITS))
        _print_hits(queries, results, address, echo)
        if pictures is None:
            _print_share(results, echo)
        rows = strips(collection.items, queries, results)
        rows = [replace(row, title=text) for text, row in zip(texts, rows, strict=True)]
        write_sheet(sheet, rows, "Texts, and the pictures that they found without captions")
        echo(f"\nwrote {sheet}")
    echo(f"\nDone in {time.monotonic() - began:.0f} s.")


def _build(home: Path, pictures: Path, models: ChosenModels, echo: Echo) -> None:
    """Make the home, with the models and a collection of the pictures."""
    local = Home(home)
    for name, source in models.folders.items():
        command(echo, f"model add {name} {shlex.quote(str(source))}")
        model, _ = local.models.add(name, source)
        echo(f"model {name}: {_of(frozenset(model.inputs))}, {model.size / 1e6:.1f} MB")
    view = f"{models.view}={models.spec}"
    command(echo, f"create {NAME} --views {view}")
    with local.create(NAME, views=[view], description="Pictures that words find without captions") as collection:
        command(echo, f"index {NAME} {shlex.quote(str(pictures))}")
        report = collection.index([pictures])
        echo(f"{report.added} pictures in {report.seconds:.1f} s, {len(report.failures)} unreadable")


def _print_hits(queries: Sequence[Query], results: Sequence[HitList], address: str, echo: Echo) -> None:
    """Print the command of each query, and the distances and keys of its first hits."""
    for query, hit_list in zip(queries, results, strict=True):
        command(echo, f'search {NAME} --text "{query.text}" --view {query.view} -k {SHOWN} --server {address}')
        for hit in hit_list.hits[:SHOWN]:
            echo(f"  {hit.distance:.3f}  {hit.key}")


def _print_share(results: Sequence[HitList], echo: Echo) -> None:
    """Print how many hits show the drawn thing that a text means; the folders name the things."""
    right = sum(hit.key.split("/")[1] == name for name, hits in zip(THINGS, results, strict=True) for hit in hits.hits)
    echo(f"\nshare of {HITS} hits that show what the text means: {right / (HITS * len(THINGS)):.0%}; by chance 10%")
    echo("no text names its thing, and the view learned nothing from these pictures")
