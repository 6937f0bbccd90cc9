"""Defaults are stated once: a command without options asks for what a program's bare request does."""

from pathlib import Path

import pytest

from crossview.engine.catalog.ingest.orderings_file import read_orderings
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.evaluation import EvaluationOptions
from crossview.server.commands.filter_options import FilterOptions
from crossview.server.commands.learn import RecipeOptions
from crossview.server.commands.query_options import ExampleOptions
from crossview.server.commands.search_options import ScoreOptions, SearchOptions
from crossview.server.wire.convert import to_message, to_value
from crossview.v1.collections_pb2 import TrainRequest


def test_bare_commands_ask_for_what_bare_requests_do() -> None:
    """These are the commands of training, evaluation and search."""
    assert RecipeOptions(views="color").recipe() == Recipe(views=("color",))
    assert EvaluationOptions(view="color").request() == EvaluationRequest(view="color")
    asked = SearchOptions().request(ExampleOptions(view="color", key="a"), FilterOptions(), ScoreOptions())
    assert asked == SearchRequest([Query("color", key="a")])


@pytest.mark.parametrize("lines", ["wide: cat < dog\n", "wide: items: a/1 < a/2\n"], ids=["classes", "items"])
def test_orderings_choose_the_same_learner_everywhere(lines: str, tmp_path: Path) -> None:
    """A command, a program and gRPC choose the only one that takes orderings, which names the space."""
    path = tmp_path / "orderings.txt"
    path.write_text(lines, encoding="utf-8")
    orderings = read_orderings(path)
    recipe = Recipe(views=("color",), settings=orderings.settings(), constraints=orderings.items)
    assert recipe.spec == RecipeOptions(views="color", orderings=path).recipe().spec == "attributes"
    assert to_value(Recipe, to_message(TrainRequest, recipe)).spec == recipe.space_name() == "attributes"
