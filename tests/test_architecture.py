"""The arrows of ARCHITECTURE.md hold in the code, deferred imports included."""

import ast
import functools
import importlib
import tomllib
from pathlib import Path

import pytest
from checkout import Checkout, cycles, room_of
from setuptools import find_packages

from crossview.engine.learners.registry import LEARNERS as LEARNERS_BY_NAME

ROOT = Path(__file__).resolve().parent.parent
ROOMS_AT_THE_TOP = ("engine", "features", "index", "server")
"""Folders that are installed as packages of ``crossview``."""
HOUSE = Checkout(ROOT)
PACKAGES = {".".join(path.parts[:-1]) for path in HOUSE.sources if path.name == "__init__.py"}
MIGRATIONS = "engine.catalog.migrations"
DRAWING_TOOLS = tuple(
    f"tools/{name}.py" for name in ("difficult_queries", "explanations", "readme_pictures", "screenshots")
)
LOSSES, SOLVERS, SAMPLERS = (f"engine.learners.papers.{name}" for name in ("losses", "solvers", "samplers"))
ENGINE = ("runtime", "learners", "values", "catalog", "spaces", "training", "findings", "collections", "publishing")
"""The rooms of the engine, the lowest first."""


def engine(*names: str) -> set[str]:
    """Return the names of rooms of the engine."""
    return {f"engine.{name}" for name in names}


LOWER = engine("runtime", "learners", "values", "catalog", "spaces")
MAY_IMPORT = {
    "features": set(),
    "index": set(),
    "engine.runtime": set(),
    "engine.learners": engine("runtime") | {"features"},
    "engine.values": engine("runtime", "learners") | {"features"},
    "engine.catalog": engine("runtime", "learners", "values") | {"features"},
    "engine.spaces": engine("runtime", "learners", "values", "catalog") | {"features", "index"},
    "engine.training": LOWER | {"features", "index"},
    "engine.findings": LOWER | {"features", "index"},
    "engine.collections": LOWER - engine("learners") | engine("training", "findings") | {"features"},
    "engine.publishing": LOWER - engine("learners") | engine("training", "collections") | {"features", "index"},
    "server.wire": engine("learners", "values", "catalog") | {"features"},
    "server.client": engine("runtime", "values", "catalog", "findings") | {"server.wire", "features"},
    "server.core": LOWER - engine("learners")
    | engine("training", "collections", "publishing")
    | {"server.wire", "features"},
    "server.edge": LOWER - engine("learners")
    | engine("training", "findings", "collections")
    | {"server.wire", "server.core", "features"},
    "server.commands": engine(*ENGINE)
    | {f"server.{name}" for name in ("wire", "client", "core", "edge")}
    | {"features"},
    "crossview": engine("learners", "values", "collections", "catalog", "publishing")
    | {"server.wire", "server.client", "features"},
    "benchmarks": engine(*ENGINE) | {"server.commands", "features", "index", "crossview"},
    "tools": engine("learners", "values", "training")
    | {"server.wire", "server.core", "server.edge", "server.commands", "crossview"},
}
"""The rooms that the modules of a room may import, besides each other."""
PARTS_OF_LEARNERS = {
    *("papers.attributes.class_relations", "papers.attributes.class_scores", "papers.attributes.described_odds"),
    "hashing.hasher",
    *(
        f"papers.joint.{name}"
        for name in ("comparison_loss", "initial_metrics", "joint_fit", "joint_objects", "losses")
    ),
    *("papers.joint.objectives", "papers.joint.solver"),
    *("subspace.ridge_path", "subspace.span"),
}
"""Modules of a learner's room that define no learner, and that other rooms use: benchmarks measure parts of a paper."""
HOMES = {
    "faiss": (
        *("index/", "engine/learners/hashing/"),
        *("benchmarks/speed/hamming.py", "benchmarks/speed/lean.py", "benchmarks/speed/near_pairs.py"),
        *("benchmarks/scale/", "benchmarks/store/", "benchmarks/serve/"),
    ),
    "grpc": ("server/edge/", "server/client/", "benchmarks/serve/"),
    **dict.fromkeys(("uvicorn", "python_multipart"), ("server/edge/http/",)),
    "starlette": ("server/edge/http/", "server/edge/pages/"),
    **dict.fromkeys(("jinja2", "markupsafe"), ("server/edge/pages/",)),
    "lxml": ("features/",),
    **dict.fromkeys(("onnxruntime", "tokenizers"), ("features/models/", "benchmarks/speed/bare_models.py")),
    "cv2": ("features/", "benchmarks/changes/", "benchmarks/speed/extract.py"),
    "PIL": (
        "features/",
        "server/commands/drawing/",
        "server/commands/demo/",
        "benchmarks/serve/",
        "benchmarks/duplicates/",
        "benchmarks/speed/bare_models.py",
        *DRAWING_TOOLS,
    ),
    "sqlalchemy": ("engine/catalog/",),
    "alembic": ("engine/catalog/",),
    "typer": ("server/", "tools/documents/"),
    "opentelemetry": ("server/core/observing/",),
    "matplotlib": ("benchmarks/",),
}


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(name):
    wrong = [
        f"{module} imports {target}"
        for module, targets in HOUSE.imports.items()
        for target in sorted(targets)
        if room_of(module) == name and room_of(target) not in {name, "engine", "server"} | MAY_IMPORT[name]
    ]
    assert wrong == []


def test_every_arrow_that_is_allowed_is_used():
    """An allowed arrow that no room uses is removed."""
    used = {(room_of(module), room_of(target)) for module, targets in HOUSE.imports.items() for target in targets}
    allowed = {(room, target) for room, targets in MAY_IMPORT.items() for target in targets}
    assert sorted(allowed - used) == []


def test_every_room_has_its_arrows():
    """A new room comes with a line of MAY_IMPORT; nothing stands beside the rooms of the engine and of the server."""
    assert {room_of(module) for module in HOUSE.modules} - {"engine", "server"} == set(MAY_IMPORT)


def test_nothing_imports_itself_in_a_circle():
    """This holds for modules, for the folders inside the rooms, and for the rooms themselves."""
    assert cycles(HOUSE.imports) == []
    assert cycles(HOUSE.folders) == []
    assert cycles(HOUSE.drawing) == []


def test_other_rooms_import_only_public_places_of_the_learners():
    """They are the root, losses, solvers, samplers, modules of a learner, and listed parts; never a private name."""
    learners = {learner.__module__.removeprefix("crossview.") for learner in LEARNERS_BY_NAME.values()}
    public = learners | {f"engine.learners.{part}" for part in PARTS_OF_LEARNERS}
    outside = {name: targets for name, targets in HOUSE.imports.items() if not name.startswith("engine.learners")}
    wrong = [
        f"{module} imports {target}"
        for module, targets in outside.items()
        for target in sorted(targets)
        if target.startswith("engine.learners") and target not in public
        if not target.startswith(
            (
                "engine.learners.frame",
                *(f"engine.learners.{name}" for name in ("registry", "selection")),
                LOSSES,
                SOLVERS,
                SAMPLERS,
            )
        )
    ]
    wrong += [
        f"{module} imports {alias.name} of {node.module}"
        for module in outside
        for node in ast.walk(HOUSE.modules[module])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crossview.engine.learners")
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert wrong == []
    used = {target for targets in outside.values() for target in targets}
    assert public - learners <= used, "a part that nobody imports is not public"


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_used_only_where_it_belongs(library):
    wrong = [
        f"{path} imports {library}"
        for path, tree in HOUSE.trees.items()
        if library in libraries(tree) and not str(path).startswith(HOMES[library])
    ]
    assert wrong == []


@functools.cache
def libraries(tree: ast.AST) -> set[str]:
    """Return the top-level names of all that a module imports."""
    nodes = list(ast.walk(tree))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_room_says_what_it_is_for(package):
    """The docstring of its __init__ says it."""
    assert package.startswith(MIGRATIONS) or ast.get_docstring(HOUSE.modules[package])


def test_every_package_of_the_wheel_is_this_project_s():
    """Each room that has a module is found, at any depth."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    listed = find_packages(str(ROOT), include=settings["include"], exclude=settings["exclude"])
    folders = {path.parent.relative_to(ROOT) for top in ROOMS_AT_THE_TOP for path in (ROOT / top).rglob("__init__.py")}
    rooms = {".".join(["crossview", *folder.parts]) for folder in folders - {Path("server/wire/pb")}}
    assert {"crossview", "crossview.v1", *rooms} == set(listed)
    for name in listed:
        if "migrations" not in name:
            file = importlib.import_module(name).__file__
            assert file is not None
            assert Path(file).is_relative_to(ROOT)


def test_a_room_has_one_name():
    """Its modules are parts of ``crossview`` only, so that an application may have its own ``engine`` or ``server``."""
    for folder in ROOMS_AT_THE_TOP:
        assert (ROOT / "crossview" / folder).resolve() == ROOT / folder
    trees = {path: ast.parse(text) for path, text in (HOUSE.sources | HOUSE.tests).items()}
    assert [str(path) for path, tree in trees.items() if libraries(tree) & set(ROOMS_AT_THE_TOP)] == []


def test_each_test_with_seconds_exists() -> None:
    """A line that names a missing test would count the time of that test among the quick ones."""
    for line in (ROOT / "tests" / "seconds.txt").read_text().splitlines():
        path, _, function = line.split()[1].partition("::")
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), (
            f"{line}: write tests/seconds.txt again"
        )
