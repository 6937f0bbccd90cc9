"""Search by examples and counter-examples: scores are those of plain NumPy, and so are the items."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.engine.values.strategy import COMBINE

COUNT, WIDTH, CLASSES = 120, 8, 4


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """Return two views of items in four classes, the second with much noise."""
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(CLASSES, WIDTH))
    y = np.arange(COUNT) % CLASSES
    return {
        "v": (centers[y] + 0.7 * generator.normal(size=(COUNT, WIDTH))).astype(np.float32),
        "w": (3 * centers[y] + 9 * generator.normal(size=(COUNT, WIDTH))).astype(np.float32),
        "y": y,
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Any]) -> Iterator[Collection]:
    home = Home(tmp_path_factory.mktemp("examples"))
    with home.create("made", [f"v=vectors:dim={WIDTH}", f"w=vectors:dim={WIDTH}"]) as collection:
        new = [
            NewItem(
                key(n), rows={"v": rows["v"][n], **({"w": rows["w"][n]} if n % 3 else {})}, labels=str(rows["y"][n])
            )
            for n in range(COUNT)
        ]
        assert collection.items.put(new).failures == ()
        collection.train(Recipe(spec="posteriors,lsh:32", views=("v", "w")), space="codes", activate=False)
        collection.train(Recipe(spec="posteriors,dot", views=("v", "w")), space="classes", activate=False)
        yield collection


def key(number: int) -> str:
    return f"item {number:03}"


def asked(likes: list[int], unlikes: list[int], view: str = "v", **options: Any) -> SearchRequest:
    queries = [Query(view, key=key(n)) for n in likes] + [Query(view, key=key(n), weight=-1) for n in unlikes]
    return SearchRequest(queries, **{"combine": "learn", "space": "raw", "k": COUNT, **options})


def found(made: Collection, request: SearchRequest) -> list[int]:
    (answer,) = made.search(request)
    assert [hit.distance for hit in answer.hits] == sorted(hit.distance for hit in answer.hits)
    assert all(hit.distance >= 0 and hit.target == answer.target for hit in answer.hits)
    return [int(hit.key.split()[1]) for hit in answer.hits]


def by_hand(combine: str, rows: Any, likes: list[int], unlikes: list[int]) -> np.ndarray:
    """Return the scores of all items in one target."""
    x = rows.astype(np.float64)
    p, n = x[likes], x[unlikes]
    if combine == "mean":
        point = p.mean(0) if not unlikes else 2 * p.mean(0) - n.mean(0)
        return -np.linalg.norm(x - point, axis=1)
    near = np.linalg.norm(x[:, None] - p, axis=2)
    if not unlikes:
        return -near.min(1) if combine == "best" else -near.mean(1)
    far = np.linalg.norm(x[:, None] - n, axis=2)
    if combine == "best":
        last = max(near.max(), far.max())
        return -near.min(1) - last * (far.min(1) < near.min(1))
    return np.minimum(far[:, None, :] - near[:, :, None], 0).mean((1, 2)) - 1e-3 * near.mean(1)


@pytest.mark.parametrize("combine", ["mean", "best", "context"])
@pytest.mark.parametrize("unlikes", [[], [1, 2]], ids=["likes", "both"])
def test_scores_are_those_of_plain_numpy(
    made: Collection, rows: dict[str, Any], combine: str, unlikes: list[int]
) -> None:
    likes = [0, 4, 8]
    scores = by_hand(combine, rows["v"], likes, unlikes)
    order = [n for n in np.argsort(-scores, kind="stable").tolist() if n not in (*likes, *unlikes)]
    assert found(made, asked(likes, unlikes, combine=combine)) == order
    with_all = found(made, asked(likes, unlikes, combine=combine, with_examples=True))
    assert [n for n in with_all if n in order] == order
    assert len(with_all) == COUNT
    assert combine != "best" or set(with_all[:3]) == set(likes)


def test_scores_in_several_targets_add_up(made: Collection, rows: dict[str, Any]) -> None:
    """Each has mean 0 and deviation 1; an item that lacks a view has the scores of the others."""
    having = np.flatnonzero(np.arange(COUNT) % 3)
    scores = by_hand("mean", rows["v"], [1, 5], [2])
    scores = (scores - scores.mean()) / scores.std()
    in_w = by_hand("mean", rows["w"][having], [int(np.flatnonzero(having == n)[0]) for n in (1, 5)], [1])
    scores[having] = (scores[having] + (in_w - in_w.mean()) / in_w.std()) / 2
    order = [n for n in np.argsort(-scores, kind="stable").tolist() if n not in (1, 5, 2)]
    assert found(made, asked([1, 5], [2], view="", combine="mean")) == order


@pytest.mark.parametrize("space", ["raw", "classes", "codes"])
@pytest.mark.parametrize("combine", COMBINE)
def test_examples_find_their_class(made: Collection, rows: dict[str, Any], space: str, combine: str) -> None:
    """In vectors and in codes, each way finds more of the class than one example on the mean, or all."""
    likes, unlikes = [0, 4, 8], [1, 2, 3]
    first = found(made, asked(likes, unlikes, view="", space=space, combine=combine, k=15))
    assert np.mean(rows["y"][first] == 0) > 0.75


def test_learning_is_better_than_one_example(made: Collection, rows: dict[str, Any]) -> None:
    one, several = [], []
    for start in range(0, 40, 4):
        for shift in range(CLASSES):
            n = start + shift
            (answer,) = made.search(SearchRequest([Query("v", key=key(n))], space="raw", k=10))
            one.append(np.mean([rows["y"][int(hit.key.split()[1])] == shift for hit in answer.hits]))
            others = [start + (shift + step) % CLASSES for step in (1, 2, 3)]
            first = found(made, asked([n, n + 4, n + 8], others, k=10))
            several.append(np.mean(rows["y"][first] == shift))
    assert 1 - np.mean(several) < (1 - np.mean(one)) * 2 / 3


def test_weights_and_filters_count(made: Collection, rows: dict[str, Any]) -> None:
    queries = [Query("v", key=key(0), weight=3), Query("v", vector=rows["v"][1]), Query("v", key=key(2), weight=-0.5)]
    request = SearchRequest(queries, combine="mean", space="raw", k=COUNT, filter="label in [0, 3]")
    x = rows["v"].astype(np.float64)
    point = 2 * (0.75 * x[0] + 0.25 * x[1]) - x[2]
    order = np.argsort(np.linalg.norm(x - point, axis=1), kind="stable").tolist()
    assert found(made, request) == [n for n in order if n % CLASSES in (0, 3) and n != 0]


def test_the_same_question_has_the_same_answer(made: Collection) -> None:
    assert found(made, asked([0, 4], [1])) == found(made, asked([0, 4], [1]))


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (lambda: SearchRequest([Query("v", key="a", weight=2)]), InvalidInputError, "give `combine`, too"),
        (lambda: asked([], [1]), InvalidInputError, "counter-examples alone"),
        (lambda: asked([1], [], combine="most"), InvalidInputError, "learn, mean, best, context, not by 'most'"),
        (lambda: SearchRequest([Query("v", key="a", weight=0.0)], combine="learn"), InvalidInputError, "other than 0"),
        (lambda: asked([999], []), NotFoundError, "no item"),
        (lambda: asked([0], [], view="w"), InvalidInputError, "no row of view 'w'"),
    ],
)
def test_mistakes_name_their_remedy(made: Collection, request_: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made.search(request_())
