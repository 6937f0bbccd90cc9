"""Searches by changed copies of pictures, as users make them: near copies come first in their lists."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pretrained.rows import COLOR, GIST, MODEL
from benchmarks.pretrained.taught_methods import ALL, RAW, SIFT, TAUGHT, TAUGHT_BESIDE
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.training.copy_recall import Original, Ranks, ranks
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe
from crossview.features.copy_kinds import copies

SPACES = {"raw": RAW, "alone": TAUGHT, "beside": TAUGHT_BESIDE}
"""The names of methods by space."""


def found_copies(
    files: Sequence[Path],
    rows: Mapping[str, NDArray[np.float32]],
    classes: NDArray[np.int64],
    train: NDArray[np.int64],
    asked: NDArray[np.int64],
    model: Path,
    seed: int,
) -> Ranks:
    """Return the ranks of pictures in searches by their copies, in a collection of all pictures.

    Args:
        files: n pictures.
        rows: (n, d) by view, as collections store them; those of the copies are computed by the collection.
        classes: (n,) labels.
        train: the positions of the pictures that the spaces learn from; the others are added later.
        asked: the positions of the pictures whose copies are the queries.
        model: the folder of the model.
        seed: of the training.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.models.add(MODEL, model)
        views = [f"{MODEL}=onnx:{MODEL}", COLOR, f"{SIFT}=vectors:dim={rows[SIFT].shape[1]}", GIST]
        with home.create("pictures", views=views) as collection:
            _put(collection, train, rows, classes)
            collection.train(Recipe(views=(MODEL,), seed=seed), space="alone")
            collection.train(Recipe(views=ALL, seed=seed), space="beside")
            _put(collection, np.setdiff1d(np.arange(len(files)), train), rows, classes)
            drawn = [Original(copies(files[place].read_bytes()), frozenset([_key(place)])) for place in asked]
            request = EvaluationRequest(view=MODEL, spaces=tuple(SPACES), targets=(MODEL,), k=(1,))
            return ranks(collection, drawn, request)


def _put(collection: Collection, places: NDArray[np.int64], rows: Mapping[str, Any], classes: Any) -> None:
    """Add items with their rows; the label is the number of the class."""
    collection.items.put(
        [
            NewItem(
                _key(place),
                rows={view: of_view[place] for view, of_view in rows.items()},
                labels=(str(classes[place]),),
            )
            for place in places.tolist()
        ]
    )


def _key(place: int | np.int64) -> str:
    return f"picture-{place}"
