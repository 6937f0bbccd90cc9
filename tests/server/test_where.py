"""Conditions choose the items of every command that works on several, here and through a server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that reach a home with ten cats and ten dogs, one of each for each year from 2020 on."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with home.open("rows") as made:
        made.items.update([ItemUpdate(one.key, attributes={"year": 2020 + int(one.key[-1])}) for one in made.items()])
    with reached(home, request.param) as options:
        yield options


def listed(condition: str, where: list[str]) -> list[str]:
    return [one["key"] for one in result_of("list", "rows", "--where", condition, *where)]


def test_items_that_fulfil_a_condition_are_annotated(where: list[str]) -> None:
    """They are all of them, or those among keys."""
    made = result_of("annotate", "rows", "--where", "label = cat and year < 2023", "--attribute", "old=true", *where)
    assert (made["updated"], made["failures"]) == (3, [])
    assert [one["key"] for one in result_of("list", "rows", "--where", "old = true", *where)] == [
        "cat/0",
        "cat/1",
        "cat/2",
    ]
    done("annotate", "rows", "cat/0", "dog/1", "--where", "old exists", "--label", "puma", *where)
    assert [one["key"] for one in result_of("list", "rows", "--where", "label = puma", *where)] == ["cat/0"]
    assert (
        "note: no item has the label 'lion'"
        in run("annotate", "rows", "--where", "label = lion", "--clear", "text", *where).stderr
    )


def test_items_that_fulfil_a_condition_get_suggestions(where: list[str]) -> None:
    found = result_of("suggest", "rows", "--where", "year >= 2028", "--view", "color", *where)
    assert [one["input"] for one in found["results"]] == ["cat/8", "cat/9", "dog/8", "dog/9"]
    for wrong in (("dog/1", "--where", "label = dog"), ()):
        assert run("suggest", "rows", *wrong, "--view", "color", *where).exit_code == 2
    none = run("suggest", "rows", "--where", "year > 2050", "--view", "color", *where)
    assert (none.exit_code, "fulfils year > 2050" in none.stderr) == (1, True)


def test_items_that_fulfil_a_condition_are_embedded(where: list[str], tmp_path: Path) -> None:
    file = tmp_path / "some.npz"
    done("embed", "rows", "--where", "label = dog and year > 2026", "--view", "color", "--out", file, *where)
    with np.load(file) as found:
        assert found["keys"].tolist() == ["dog/7", "dog/8", "dog/9"]
        assert len(found["vectors"]) == 3
    assert run("embed", "rows", "--where", "label = dog", "--view", "color", *where).exit_code == 2


def test_training_learns_from_the_items_that_fulfil_a_condition(where: list[str]) -> None:
    """The others count as held out, beside a share of them or a predefined part."""
    train = ("train", "rows", "--learner", "cca", "--views", "color,gist", "--where", "year < 2028", *where)
    made = result_of(*train)
    assert (made["trained_items"], made["held_out"], made["cost"]["items"]) == (16, 4, 16)
    made = result_of(*train, "--holdout", 0.25)
    assert made["cost"]["items"] == 12
    assert (made["trained_items"] + made["held_out"], made["trained_items"]) in {(20, n) for n in range(10, 15)}
    made = result_of(*train, "--holdout-where", "year < 2021")
    assert (made["trained_items"], made["held_out"], made["cost"]["items"]) == (14, 6, 14)
    nothing = run(*train[:-2], "--where", "year > 2050", *where)
    assert "can be learned from by" in nothing.stderr


def test_queries_of_an_evaluation_fulfil_a_condition(where: list[str]) -> None:
    done("train", "rows", "--learner", "cca", "--views", "color,gist", "--holdout-where", "year >= 2025", *where)
    ask = ("evaluate", "rows", "--view", "color", "--database", "unseen")
    assert result_of(*ask, *where)["queries"] == 10
    found = result_of(*ask, "--where", "label = dog and year != 2029", *where)
    assert found["queries"] == 4
    assert 'queries fulfil: label = "dog" and not year = 2029' in found["protocol"]
    assert result_of(*ask, "--where", "label = dog", "--max-queries", 2, *where)["queries"] == 2
    none = run(*ask, "--where", "year < 2025", *where)
    assert (none.exit_code, "no held-out item with view 'color' fulfils: year < 2025" in none.stderr) == (1, True)
    assert run(*ask, "--where", "year = 2025", "--copies", 3, *where).exit_code == 2


def test_hits_are_within_a_distance(where: list[str]) -> None:
    search = ("search", "rows", "--key", "cat/0", "--view", "color", "-k", 20, *where)
    (every,) = result_of(*search)
    most = every["hits"][4]["distance"]
    (near,) = result_of(*search, "--max-distance", most)
    assert near["hits"] == every["hits"][: len(near["hits"])]
    assert len(near["hits"]) >= 5
    assert "no hit is within a distance of 0" in done(*search, "--max-distance", 0)


def test_a_match_is_a_condition_of_a_search(where: list[str]) -> None:
    search = ("search", "rows", "--key", "cat/0", "--view", "color", "--space", "raw", *where)
    assert "match" in run(*search, "--where", "match >= .5").stderr
    assert run(*search, "--where", "match >= .5", "--min-match", 0.6).exit_code == 1
    assert "match only in a search" in run("list", "rows", "--where", "match >= .5", *where).stderr
