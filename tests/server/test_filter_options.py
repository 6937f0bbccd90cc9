"""The conditions of search, list and delete, here and through a server: one option, and unknown names are noted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate

SEARCH = ("search", "rows", "--key", "cat/0", "--view", "color", "-k", 20)
COMMANDS = (SEARCH, ("list", "rows"), ("item", "delete", "rows"))


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with four cats and four dogs, each of another year."""
    home = Home(tmp_path / "home")
    fill_rows(home, 4)
    with home.open("rows") as made:
        made.items.update(
            [ItemUpdate(item.key, attributes={"year": 2020 + int(item.key[-1])}) for item in made.items()]
        )
    with reached(home, request.param) as options:
        yield options


def keys(where: list[str]) -> list[str]:
    return [item["key"] for item in result_of("list", "rows", *where)]


@pytest.mark.parametrize(
    ("conditions", "passing"),
    [
        (("--where", "label = dog"), ["dog/0", "dog/1", "dog/2", "dog/3"]),
        (("--where", "label != dog and year = 2021"), ["cat/1"]),
        (("--where", "key prefix dog/2"), ["dog/2"]),
        (("--where", "year >= 2022", "--where", "key like *t/?"), ["cat/2", "cat/3"]),
        (("--where", "label = cat and key prefix dog/"), []),
    ],
)
def test_list_and_search_and_delete_take_the_same_filters(
    where: list[str], conditions: tuple[str, ...], passing: list[str]
) -> None:
    """All find the same items, and item delete deletes nothing else."""
    assert [item["key"] for item in result_of("list", "rows", *conditions, *where)] == passing
    (found,) = result_of(*SEARCH, *conditions, *where)
    assert sorted(hit["key"] for hit in found["hits"]) == passing
    others = [key for key in keys(where) if key not in passing]
    assert done("item", "delete", "rows", *conditions, "--yes", *where) == f"deleted {len(passing)} items\n"
    assert keys(where) == others


def test_keys_and_filters_choose_what_passes_both(where: list[str]) -> None:
    """Among the named keys, delete takes those that fulfil the condition."""
    assert (
        done("item", "delete", "rows", "cat/0", "dog/0", "--where", "label = cat", "--yes", *where)
        == "deleted 1 items\n"
    )
    assert "dog/0" in keys(where)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("label = dgo", "no item has the label 'dgo' (similar: dog)"),
        ("label in [bird, dgo]", "no item has the label 'dgo'"),
        ("label = bird and label != Dogs", "no item has the label 'Dogs' (similar: dog)"),
        ("yeear = 2021", "no item has the attribute 'yeear' (similar: year)"),
        ('year = "2021"', 'no item has year = "2021"'),
        ("key prefix cats/", 'no item has key prefix "cats/"'),
    ],
)
def test_a_condition_that_no_item_fulfils_is_noted_with_what_is_like_it(
    where: list[str], command: tuple[object, ...], condition: str, words: str
) -> None:
    """A person mistyped it: an empty answer, or one that the condition does not change, would hide that."""
    result = run(*command, "--where", condition, *where)
    assert f"note: {words}" in result.stderr
    assert result.exit_code == 0
    assert len(keys(where)) == 8


def test_a_condition_that_cannot_be_read_names_the_place(where: list[str]) -> None:
    for command in COMMANDS:
        result = run(*command, "--where", "year => 2021", *where)
        assert result.exit_code == 1
        assert "character 7, marked →: write >=: year =→> 2021" in " ".join(result.stderr.split())


def test_a_filter_deletes_items_and_no_collection(where: list[str]) -> None:
    """A collection with a condition, and items with an empty condition, are usage errors."""
    for words in (("delete", "rows", "--where", "label = cat"), ("item", "delete", "rows", "--where", "")):
        assert run(*words, "--yes", *where).exit_code == 2
    assert len(keys(where)) == 8
