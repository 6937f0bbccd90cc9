import ast
import builtins
import importlib
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import crossview
from crossview import EvaluationRequest, NewItem, NotFoundError, Query, Recipe, SearchRequest
from crossview.engine.learners.registry import LEARNERS
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

ROOT = Path(crossview.__file__).parent.parent


@pytest.mark.parametrize("name", crossview.__all__)
def test_every_name_resolves(name: str) -> None:
    """Type checkers see the same names as programs."""
    assert getattr(crossview, name) is not None
    assert name in dir(crossview)


def test_a_star_import_shadows_no_builtin() -> None:
    """A program that has ``from crossview import *`` still opens files; collections are opened by their full name."""
    assert not set(crossview.__all__) & set(dir(builtins))
    assert "open" in dir(crossview)


def test_type_checkers_see_what_programs_see() -> None:
    """The imports for type checkers name the modules from which the package loads each name."""
    tree = ast.parse(Path(crossview.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {one.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for one in node.names}
    assert seen.pop("learners") == seen.pop("extractors") == "crossview"
    assert set(seen) == set(crossview.__all__) - {"__version__", "connect", "create", "extractors", "learners"}
    for name, module in seen.items():
        assert getattr(importlib.import_module(str(module)), name) is getattr(crossview, name)


def test_every_error_has_one_root() -> None:
    """A program that catches CrossviewError catches all that its user can cause, unreadable pictures as well."""
    exported = [getattr(crossview, name) for name in crossview.__all__ if name.endswith("Error")]
    assert {crossview.ImageError, crossview.TruncatedImageError} <= set(exported)
    assert [one for one in exported if not issubclass(one, crossview.CrossviewError)] == []
    assert issubclass(crossview.ImageError, ValueError)


@pytest.mark.parametrize("module", ["query", "hits", "evaluation", "errors"])
def test_what_is_asked_and_answered_is_exported(module: str) -> None:
    """Programs annotate requests, results and errors without knowing the rooms of the engine."""
    found = importlib.import_module(f"crossview.engine.values.{module}")
    public = {name for name, one in vars(found).items() if isinstance(one, type) and one.__module__ == found.__name__}
    assert {name for name in public if not name.startswith("_")} <= set(crossview.__all__)


def test_every_learner_is_there() -> None:
    """The package has each learner that collections know, by its class name."""
    ours = {
        one.__name__ for one in LEARNERS.values() if one.__module__.startswith("crossview.engine.")
    }  # benchmarks add some
    for_authors = {"Capabilities", "LinearLearner", "MultiViewLearner", "SeparateLearner", "Supervision"}
    for_authors |= {"Dimensions", "Rows", "Share", "check_learner", "present_rows"}
    assert ours | for_authors | {"Chain"} == set(crossview.learners.__all__)
    assert crossview.__version__ == version("crossview")
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = crossview.magic


def test_importing_loads_nothing() -> None:
    """An import loads neither NumPy nor a database, a learner or gRPC; and the package is this project's."""
    code = (
        "import sys, crossview; print(*sorted({'engine', 'grpc', 'numpy', 'server', 'sqlalchemy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_a_program_from_end_to_end(tmp_path: Path) -> None:
    """It creates, imports, trains, searches and evaluates; then it does the same through a server."""
    rng = np.random.default_rng(0)
    items = [
        NewItem(f"{label}/{number}", rows={view: rng.normal(at, 0.1, 3) for view in "ab"}, labels=(label,))
        for at, label in enumerate(("cat", "dog"))
        for number in range(10)
    ]
    request = SearchRequest([Query("a", key="cat/0")], targets=("b",), k=3)
    with crossview.create("pets", ["a=vectors:dim=3", "b=vectors:dim=3"], home=tmp_path) as pets:
        assert pets.items.put(items).added == 20
        assert pets.train(Recipe(spec="cca", views=("a", "b"), dim=1, holdout=0.2)).trained_items == 16
    with crossview.open("pets", home=tmp_path) as pets:
        (found,) = pets.search(request)
        assert {hit.labels for hit in found.hits} == {("cat",)}
        rows = pets.evaluate(EvaluationRequest(view="a", targets=("b",), k=(1,))).rows
    with RunningServer(ServerSettings(home=tmp_path, port=0)) as server, crossview.connect(server.address) as client:
        assert client.open("pets").search(request) == [found]
        assert client.open("pets").evaluate(EvaluationRequest(view="a", targets=("b",), k=(1,))).rows == rows
        with pytest.raises(NotFoundError, match="there are: pets"):
            client.open("no")
