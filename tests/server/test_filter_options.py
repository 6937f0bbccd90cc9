"""The filters of search, list and delete, here and through a server: the same options, and unknown names are errors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.home import Home
from crossview.engine.item import ItemUpdate

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
        (("--filter-label", "dog"), ["dog/0", "dog/1", "dog/2", "dog/3"]),
        (("--filter-without", "dog", "--filter-attribute", "year=2021"), ["cat/1"]),
        (("--filter-prefix", "dog/2"), ["dog/2"]),
        (("--filter-attribute", "year=2023"), ["cat/3", "dog/3"]),
        (("--filter-label", "cat", "--filter-prefix", "dog/"), []),
    ],
)
def test_list_and_search_and_delete_take_the_same_filters(
    where: list[str], conditions: tuple[str, ...], passing: list[str]
) -> None:
    """What one finds, the others find; item delete deletes nothing else."""
    assert [item["key"] for item in result_of("list", "rows", *conditions, *where)] == passing
    (found,) = result_of(*SEARCH, *conditions, *where)
    assert sorted(hit["key"] for hit in found["hits"]) == passing
    others = [key for key in keys(where) if key not in passing]
    assert done("item", "delete", "rows", *conditions, "--yes", *where) == f"deleted {len(passing)} items\n"
    assert keys(where) == others


def test_keys_and_filters_choose_what_passes_both(where: list[str]) -> None:
    """Of the keys that are named, delete takes those that fulfil the condition."""
    assert (
        done("item", "delete", "rows", "cat/0", "dog/0", "--filter-label", "cat", "--yes", *where)
        == "deleted 1 items\n"
    )
    assert "dog/0" in keys(where)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (("--filter-label", "dgo"), "no item has the label 'dgo' (similar: dog)"),
        (("--filter-label", "cat", "--filter-label", "dgo"), "no item has the label 'dgo'"),
        (("--filter-without", "Dogs"), "no item has the label 'Dogs' (similar: dog)"),
        (("--filter-attribute", "yeear=2021"), "no item has the attribute 'yeear' (similar: year)"),
        (("--filter-attribute", 'year="2021"'), 'no item has the attribute year="2021"'),
        (("--filter-prefix", "cats/"), "no key begins with 'cats/'"),
    ],
)
def test_a_condition_that_no_item_fulfils_is_an_error_with_what_is_like_it(
    where: list[str], command: tuple[object, ...], condition: tuple[str, ...], words: str
) -> None:
    """A person mistyped it: an empty answer, or one that the condition leaves as it is, would hide that."""
    result = run(*command, *condition, *where)
    assert result.exit_code == 1
    assert words in result.stderr
    assert len(keys(where)) == 8


@pytest.mark.parametrize("pair", ["year>=2021", "year>2021", "year<=2021", "year==2021", "year!=2021", "year~2021"])
def test_another_comparison_than_equality_is_refused_with_what_to_write(pair: str) -> None:
    """It would be taken for an attribute of another name or value; a value may hold the same characters."""
    for command in COMMANDS:
        result = run(*command, "--filter-attribute", pair)
        assert result.exit_code == 2
        assert "write year=2021" in " ".join(result.stderr.split())
    result = run("list", "rows", "--filter-attribute", "url=http://a?b==c>d", "--home", "/nowhere")
    assert "no collection" in result.stderr


def test_a_filter_deletes_items_and_no_collection(where: list[str]) -> None:
    """A collection with a condition, and items without a condition but an empty one, are usage errors."""
    for words in (("delete", "rows", "--filter-label", "cat"), ("item", "delete", "rows", "--filter-prefix", "")):
        assert run(*words, "--yes", *where).exit_code == 2
    assert len(keys(where)) == 8
