"""Items of five classes that two attributes order, each in its own way."""

import json

import numpy as np
from numpy.typing import NDArray

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

EACH = 24
CLASSES = ("ant", "bee", "cat", "dog", "elk")
LEVELS = {"width": (0, 1, 2, 3, 4), "height": (1, 0, 3, 4, 2)}
"""How much of each attribute each class has."""
NOISE = 0.25


def rows() -> NDArray[np.float32]:
    """Return the items' rows, (n, 6): the attributes with noise, and four columns of noise; class after class."""
    generator = np.random.default_rng(0)
    levels = np.repeat(np.array(list(LEVELS.values())).T, EACH, axis=0)
    noise = generator.normal(0, NOISE, (len(CLASSES) * EACH, 6))
    found: NDArray[np.float32] = (noise + np.hstack([levels, np.zeros((len(levels), 4))])).astype(np.float32)
    return found


def key(number: int) -> str:
    return f"{CLASSES[number // EACH]}/{number % EACH:02}"


def fill_animals(home: Home, name: str = "animals") -> None:
    """Make a collection of the items, labelled with their classes."""
    with home.create(name, ("view=vectors:dim=6",)) as made:
        items = [
            NewItem(key(number), rows={"view": row}, labels=(CLASSES[number // EACH],))
            for number, row in enumerate(rows())
        ]
        made.items.put(items)


def learner() -> list[str]:
    """Return the options of a training that learns the attributes with their names."""
    orderings = dict(zip(CLASSES, zip(*LEVELS.values(), strict=True), strict=True))
    settings = {"orderings": orderings, "names": list(LEVELS)}
    given = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    return ["--learner", "attributes", "--views", "view", *[part for one in given for part in ("--set", one)]]
