"""Spaces, generations and views are deleted from the command line, here and through a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.collections.items import Items
from crossview.engine.values.recipe import Recipe
from crossview.server.client.remote_collection import RemoteItems


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows``, with a space of two generations."""
    home = Home(tmp_path / "home")
    fill_rows(home, 8)
    with home.open("rows") as made:
        for dim in (2, 3):
            made.train(Recipe(spec="cca", views=("color", "gist"), dim=dim))
    with reached(home, request.param) as options:
        yield options


def test_spaces_generations_and_views_are_deleted(where: list[str]) -> None:
    """Each deletion prints a sentence, and another one if the active space falls back to ``raw``."""
    done("search", "rows", "--key", "cat/3", "--view", "color", *where)
    output = done("space", "delete", "rows", "cca", "--generation", 1, "--yes", *where)
    assert output == "deleted generation 1 of space cca of rows\n"
    output = done("space", "delete", "rows", "cca", "--yes", *where)
    assert "deleted space cca of rows" in output
    assert "searches that name no space now use raw" in output
    assert result_of("show", "rows", *where)["active_space"] == "raw"
    assert done("view", "delete", "rows", "gist", "--yes", *where) == "deleted view gist of rows\n"
    assert [view["name"] for view in result_of("show", "rows", *where)["views"]] == ["color"]
    assert result_of("list", "rows", *where)[0]["views"] == ["color"]
    done("search", "rows", "--key", "cat/3", "--view", "color", *where)


def test_deletions_are_asked_about_first(where: list[str]) -> None:
    """Without a terminal and without --yes nothing is deleted."""
    for command in (("space", "rows", "cca"), ("view", "rows", "gist"), ("item", "rows", "cat/1")):
        result = run(command[0], "delete", *command[1:], *where)
        assert result.exit_code == 1
        assert "needs --yes" in result.stderr
    assert "needs --yes" in run("delete", "rows", *where).stderr
    assert result_of("item", "show", "rows", "cat/1", *where)["labels"] == ["cat"]
    assert {space["name"] for space in result_of("show", "rows", *where)["spaces"]} == {"cca", "raw"}


def test_items_are_deleted_by_key_in_one_write(where: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No item is looked up before: one that another process puts meanwhile would stay."""
    for items in (Items, RemoteItems):
        monkeypatch.setattr(items, "__call__", lambda *_, **__: pytest.fail("items were looked up"))
    output = done("item", "delete", "rows", "cat/1", "nobody", "--yes", *where)
    assert output == "deleted 1 items; 1 did not exist\n"


def test_refusals_are_one_line_with_the_remedy(where: list[str]) -> None:
    """They are the same here and through a server."""
    for part, words in (
        (("space", "cca", "--generation", 2), "crossview space activate rows cca --generation 1"),
        (("space", "no"), "no space 'no' in collection 'rows'; there are: cca, raw"),
        (("space", "raw"), "cannot be deleted"),
        (("view", "gist"), "these spaces use view 'gist': cca (generation 1, 2)"),
    ):
        result = run(part[0], "delete", "rows", *part[1:], "--yes", *where)
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
