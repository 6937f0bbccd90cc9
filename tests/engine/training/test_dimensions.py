"""The data bound the sizes that a recipe may request; defaults shrink to them."""

import re

import numpy as np
import pytest

from crossview.engine.catalog.extractors import parse_view
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe, Tune

BOTH = ("few", "many")
CLASSES = ("ant", "bee", "cat", "dog")


@pytest.fixture
def narrow(home):
    """Return 24 labelled items in four classes with views of 4 and 6 numbers."""
    generator = np.random.default_rng(0)
    with home.create("narrow", ["few=vectors:dim=4", "many=vectors:dim=6"]) as made:
        made.items.put(
            [
                NewItem(
                    f"{label}/{number}",
                    rows={
                        view: generator.uniform(0, 1, width) + place for view, width in zip(BOTH, (4, 6), strict=True)
                    },
                    labels=(label,),
                )
                for place, label in enumerate(CLASSES)
                for number in range(6)
            ]
        )
        yield made


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ("cca", 4),
        ("pls", 4),
        ("sqrt,cca", 4),
        ("pca", 6),
        ("fantope", 6),
        ("lmnn", 6),
        ("hybrid", 6),
        ("lda", 3),
        ("multi-npp", 10),
        ("kernel:rbf,cca", 24),
        ("kernel:rbf,multi-npp", 48),
    ],
)
def test_more_dimensions_than_there_can_be_are_refused(narrow, spec, most):
    """Any option may give them; all possible dimensions are learned, and a default shrinks without a message."""
    words = f"dim {most + 1} is more than the {most} dimensions that {spec.split(',')[-1]} can have: "
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        narrow.train(Recipe(spec=spec, views=BOTH, dim=most + 1))
    with pytest.raises(InvalidInputError, match=f"n_components {most + 1} is more than the {most} dimensions"):
        narrow.train(Recipe(spec=spec, views=BOTH, settings={"n_components": most + 1}))
    with pytest.raises(InvalidInputError, match=f"n_components {most + 1} is more than the {most} dimensions"):
        narrow.train(Recipe(spec=f"{spec}:{most + 1}", views=BOTH))
    assert max(narrow.train(Recipe(spec=spec, views=BOTH, dim=most)).dim.values()) <= most
    assert narrow.train(Recipe(spec=spec, views=BOTH)).generation == 2  # the refused training made no generation


def test_the_refusal_names_what_bounds_it(narrow):
    """The message has the numbers of every view, and the items that have it."""
    with pytest.raises(InvalidInputError, match="view few has 4 numbers, view many has 6 numbers, 24 training items"):
        narrow.train(Recipe(spec="cca", views=BOTH, dim=5))
    with pytest.raises(InvalidInputError, match="n_components 9 is more than the 4 dimensions"):
        narrow.train(Recipe(spec="cca", views=BOTH, tune=Tune({"n_components": (2, 9)})))


@pytest.mark.parametrize(
    ("spec", "settings", "words"),
    [
        ("multi-npp", {"n_components": 10**6}, "n_components must be a whole number from 1 to 65,536, not 1000000"),
        ("lsh:5000", {}, "n_bits must be a whole number from 1 to 4,096 or null, not 5000"),
        ("npp-hash:5000", {}, "n_bits must be a whole number from 1 to 4,096, not 5000"),
        ("musl:5000", {}, "n_bits must be a whole number from 1 to 4,096, not 5000"),
        ("musl", {"n_metrics": 10**6}, "n_metrics must be a whole number from 1 to 4,096 or 'class', not 1000000"),
        ("kernel,cca", {"kernel__n_landmarks": 10**6}, "kernel__n_landmarks must be a whole number from 1 to 10,000"),
        ("fantope", {"n_constraints": 10**9}, "n_constraints must be a whole number from 1 to 10,000,000"),
        ("npp-hash", {"max_rows": 10**6}, "max_rows must be a whole number from 2 to 16,384"),
    ],
)
def test_what_would_take_all_memory_is_refused(narrow, spec, settings, words):
    """It is refused before anything is read."""
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        narrow.train(Recipe(spec=spec, views=BOTH, settings=settings))


def test_a_view_of_one_item_is_told_by_its_name(narrow):
    """The message has no position instead, and comes before any fit."""
    narrow.items.delete([item.key for item in narrow.items() if item.key != "ant/0"])
    with pytest.raises(NotReadyError, match="1 training items have view 'few', and learning needs at least 2"):
        narrow.train(Recipe(spec="pca", views=BOTH))


def test_a_dimension_out_of_range_is_refused(narrow):
    """The message has the name of the option."""
    for dim in (0, 10**6):
        with pytest.raises(InvalidInputError, match=f"dim must be a whole number from 1 to 65,536, not {dim}"):
            narrow.train(Recipe(spec="multi-npp", views=BOTH, dim=dim))


@pytest.mark.parametrize("spec", ["sift:words=65537", "forest:words=65538", "text:dim=4097", "vectors:dim=65537"])
def test_views_are_of_bounded_width(tmp_path, spec):
    """The message states the allowed width."""
    with pytest.raises(InvalidInputError, match=r"must be an? (whole|even) number from \d+ to [\d,]+, not \d+"):
        parse_view(spec, tmp_path)
