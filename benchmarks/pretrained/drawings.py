"""The drawings of emoji2 as a collection whose views are by two models, one of pictures and one of texts."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import MissingDataError
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query

FOLDER, ARTISTS, MODELS = "emoji2", ("google", "twitter"), ("lite0", "minilm")
PICTURES, WORDS, NAMES = "lite0", "words", "names"
VIEWS: Mapping[str, str] = {PICTURES: "onnx:lite0", WORDS: "onnx:minilm", NAMES: "conse:lite0:minilm"}
"""The views: rows of pictures, rows of their names, and pictures by the names of the classes that they resemble."""
_AT_ONCE = 200


class Concepts:
    """The drawn concepts: their keys, their names in words, and the files of an artist."""

    def __init__(self, data: Path) -> None:
        path = data / FOLDER / "items.csv"
        if not path.is_file():
            raise MissingDataError.of(path.parent, path.name)
        with path.open(encoding="utf-8") as file:
            self._items = list(csv.DictReader(file))
        self._folder = path.parent
        self.keys = [item["key"] for item in self._items]
        self.names = [item["name"] for item in self._items]
        """Some concepts have equal names."""

    def files(self, artist: str) -> list[Path]:
        """Return the drawing of each concept."""
        return [self._folder / artist / item["category"] / f"{item['key']}.png" for item in self._items]


def home_with_models(place: Path, models: Path) -> Home:
    """Return a home with the models, which keeps their rows for further collections; MissingDataError."""
    home = Home(place)
    for name in MODELS:
        if not (models / name / "model.onnx").is_file():
            raise MissingDataError(f"{models} holds no folder {name} with model.onnx")
        if name not in home.models.names():
            home.models.add(name, models / name)
    return home


@contextmanager
def drawn(home: Home, name: str, concepts: Concepts, artist: str, folds: NDArray[np.int64]) -> Iterator[Collection]:
    """Make a collection of an artist's drawings with their names as texts for the block, and delete it after.

    ``folds`` has the number of each concept's fold, (n,), which is the attribute ``fold``.
    """
    with home.create(name, [f"{view}={kind}" for view, kind in VIEWS.items()]) as collection:
        items = zip(concepts.keys, concepts.names, concepts.files(artist), folds.tolist(), strict=True)
        new_items = [
            NewItem(key, image=file.read_bytes(), text=text, attributes={"fold": fold})
            for key, text, file, fold in items
        ]
        for start in range(0, len(new_items), _AT_ONCE):
            collection.items.put(new_items[start : start + _AT_ONCE])
        yield collection
    home.delete(name)


def unit_rows(collection: Collection, view: str, keys: Sequence[str]) -> NDArray[np.float64]:
    """Return the rows of items in a view, of unit length, (n, d)."""
    answers = collection.embed([Query(view, key=key) for key in keys], targets=[view], space="raw")
    return np.array([answer.vector for answer in answers], np.float64)
