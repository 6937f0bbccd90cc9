"""The demo of notions: pictures that are similar by color or by texture, learned from answers of a simulated person."""

import io
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from crossview.engine.collections.home import Home
from crossview.engine.values.comparisons import Answer, Question, QuestionRequest
from crossview.engine.values.query import Hit, HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.backend import CollectionBackend
from crossview.server.commands.demo.dataset import STYLES, Rng, Style, painted
from crossview.server.commands.demo.story import Connect, Echo, command, served
from crossview.server.commands.drawing.search_results import Strip, strips
from crossview.server.commands.drawing.sheet import write_sheet

NAME = "notions"
VIEW = "color+gist"
EXTRACTORS = ("color", "gist")
HUES = {"red": 0.0, "yellow": 0.15, "green": 0.35, "blue": 0.62, "violet": 0.83}
TEXTURES = ("bricks", "dots", "pebbles", "stripes", "weave")
NOTIONS = ("color", "texture")
EACH = 8
"""Number of pictures of each texture in each color."""
GRIDS = 120
"""Number of answered questions in each notion."""
ALPHA = 0.003
"""The setting ``alpha`` of the learner."""
MISTAKES = 0.05
"""Share of the candidates that the simulated person judges wrongly."""
HITS = 8
SHOWN = (("dots", "blue"), ("weave", "red"))
"""The query pictures on the contact sheet."""
TO_TRY = (
    f"search {NAME} {{folder}}/pictures/dots/blue-00.jpg --view {VIEW} --targets color -k 5",
    f"search {NAME} {{folder}}/pictures/dots/blue-00.jpg --view {VIEW} --targets texture -k 5",
    f"ask {NAME}",
)
"""Commands after the demo: the same picture in both notions, and the number of answers."""


def run_notions(folder: Path, sheet: Path, echo: Echo, connect: Connect) -> None:
    """Run the demo in ``folder`` (pictures, home), draw ``sheet``, and print every step with its command.

    Raises ServerUnavailableError if the server does not start.
    """
    began, pictures, home = time.monotonic(), folder / "pictures", folder / "home"
    count = write_combinations(pictures, EACH)
    echo(f"Drew {count} pictures: {len(TEXTURES)} textures in {len(HUES)} colors.")
    command(echo, f"create {NAME} --views {','.join(EXTRACTORS)}")
    with Home(home).create(NAME, views=EXTRACTORS, description="Alike in two ways") as local:
        command(echo, f"index {NAME} {pictures}")
        report = local.index([pictures])
        echo(f"{report.added} pictures in {report.seconds:.1f} s")
    with served(home, folder / "server.log", echo) as address, connect(address) as server:
        collection = server.open(NAME)
        _compare(collection, address, echo)
        command(echo, f"train {NAME} --answers --set alpha={ALPHA} --views {VIEW} --server {address}")
        space = collection.train(Recipe(views=(VIEW,), answers=True, settings={"alpha": ALPHA}), space="alike")
        echo(f"{space.constraints.sentence() if space.constraints else ''}; targets: {', '.join(space.targets)}")
        rows = _search(collection, address, echo)
        write_sheet(sheet, rows, "One picture, two notions of similarity, each learned from answers")
        echo(f"wrote {sheet}")
    echo(f"\nDone in {time.monotonic() - began:.0f} s.")


def write_combinations(folder: Path, each: int) -> int:
    """Write ``folder/TEXTURE/COLOR-NN.jpg`` for every texture and color, always the same, and return the number."""
    for texture in TEXTURES:
        (folder / texture).mkdir(parents=True, exist_ok=True)
        for color in HUES:
            for number in range(each):
                drawn(texture, color, number).save(folder / texture / f"{color}-{number:02d}.jpg", quality=90)
    return len(TEXTURES) * len(HUES) * each


def drawn(texture: str, color: str, number: int) -> Image.Image:
    """Return the picture of a texture in a color with a number, always the same."""
    rng: Rng = np.random.default_rng([TEXTURES.index(texture), list(HUES).index(color), number])
    colours: Style = replace(STYLES[texture], hue=HUES[color], accent=HUES[color])
    return painted(STYLES[texture], colours, rng)


def feature_of(key: str, notion: str) -> str:
    """Return the color or texture of a picture, from its key."""
    texture, file = key.split("/")[-2:]
    return texture if notion == "texture" else file.partition("-")[0]


def answer_to(question: Question, person: str, rng: Rng) -> Answer:
    """Return the answer of a simulated person, who judges a share MISTAKES of the candidates wrongly."""
    feature = feature_of(question.anchor, question.notion)
    judged = {
        key: (feature_of(key, question.notion) == feature) != (rng.random() < MISTAKES) for key in question.candidates
    }
    near = tuple(key for key, is_near in judged.items() if is_near)
    far = tuple(key for key, is_near in judged.items() if not is_near)
    return Answer(notion=question.notion, anchor=question.anchor, near=near, far=far, person=person)


def _compare(collection: CollectionBackend, address: str, echo: Echo) -> None:
    rng = np.random.default_rng(0)
    for notion in NOTIONS:
        command(echo, f"ask {NAME} --notion {notion} --server {address}")
        answers = []
        for seed in range(GRIDS):
            request = QuestionRequest(notion=notion, person="the demo", seed=seed)
            answers.append(collection.questions.answer(answer_to(collection.questions.next(request), "the demo", rng)))
        comparisons = sum(len(answer.triplets) for answer in answers)
        echo(f"{notion}: {GRIDS} grids of nine answered, {comparisons} comparisons, {MISTAKES:.0%} mistaken")


def _search(collection: CollectionBackend, address: str, echo: Echo) -> list[Strip]:
    """Search by new pictures in each notion, and return rows of the contact sheet."""
    rows: list[Strip] = []
    right = {(notion, by): 0 for notion in NOTIONS for by in NOTIONS}
    for texture in TEXTURES:
        for color in HUES:
            data = io.BytesIO()
            drawn(texture, color, EACH).save(data, "JPEG", quality=90)
            queries = [Query(VIEW, image=data.getvalue())]
            results = collection.search(SearchRequest(queries, targets=NOTIONS, k=HITS))
            for notion, hit_list in zip(NOTIONS, results, strict=True):
                for by in NOTIONS:
                    feature = color if by == "color" else texture
                    right[notion, by] += sum(feature_of(hit.key, by) == feature for hit in hit_list.hits)
                if (texture, color) in SHOWN:
                    truth = color if notion == "color" else texture
                    rows += strips(collection.items, queries, [_labelled(hit_list, notion)], truth)
    command(echo, f"search {NAME} IMAGE --view {VIEW} --targets color,texture -k {HITS} --server {address}")
    total = HITS * len(TEXTURES) * len(HUES)
    echo(f"share of {HITS} hits like the query, over {len(TEXTURES) * len(HUES)} new pictures:")
    for notion in NOTIONS:
        echo(f"  by {notion:<8} " + ", ".join(f"the same {by} {right[notion, by] / total:4.0%}" for by in NOTIONS))
    return rows


def _labelled(hit_list: HitList, notion: str) -> HitList:
    """Return the hits with their color or texture as label, so that the sheet can mark right hits."""

    def labelled(hit: Hit) -> Hit:
        return replace(hit, labels=(feature_of(hit.key, notion),))

    return replace(hit_list, hits=tuple(map(labelled, hit_list.hits)))
