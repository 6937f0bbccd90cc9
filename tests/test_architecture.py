"""The arrows of ARCHITECTURE.md hold in the code, deferred imports included."""

import ast
import functools
import importlib
import tomllib
from pathlib import Path

import pytest
from house import Checkout, cycles

ROOT = Path(__file__).resolve().parent.parent
HOUSE = Checkout(ROOT)
PACKAGES = {".".join(path.parts[:-1]) for path in HOUSE.sources if path.name == "__init__.py"}
MIGRATIONS = "engine.catalog.migrations"
GROUND_FLOOR = "engine.runtime"
"""The room that every room may import, except ``features`` and ``index``, which know nothing of the engine."""
SERVICES = "engine.services"
"""The room above all others of the engine, which ``engine.collection`` alone imports."""
STEPS, COMPARISONS = "engine.learners.steps", "engine.learners.comparisons"
LEARNERS = {"engine.learners"} | {package for package in PACKAGES if package.startswith("engine.learners.")}
ROOMS = {
    *("engine", "engine.catalog", "engine.changes", "engine.ingest", "engine.questions", "engine.spaces"),
    "engine.training",
    *LEARNERS,
}
MAY_IMPORT = {
    "features": set(),
    "index": set(),
    GROUND_FLOOR: set(),
    "engine": {*ROOMS, SERVICES, "features", "index"},
    SERVICES: {*ROOMS, "features", "index"},
    "engine.catalog": {"engine", "features"},
    "engine.ingest": {"engine", "engine.catalog", COMPARISONS, "features"},
    "engine.spaces": {"engine", "engine.catalog", *LEARNERS, "features", "index"},
    "engine.questions": {"engine", "engine.catalog", "engine.spaces", COMPARISONS},
    "engine.changes": {"engine", "engine.catalog", *LEARNERS, "features"},
    "engine.training": {"engine", "engine.catalog", "engine.spaces", *LEARNERS, "features"},
    "engine.learners": LEARNERS,
    "engine.learners.attributes": {"engine.learners", STEPS, "engine.learners.metrics", "engine.learners.subspace"},
    "engine.learners.hashing": {"engine.learners", STEPS, "engine.learners.npp", "engine.learners.subspace"},
    "engine.learners.joint": {"engine.learners", "engine.learners.metrics", "engine.learners.subspace"},
    "engine.learners.metrics": {"engine.learners", STEPS, "engine.learners.subspace"},
    "engine.learners.musl": {"engine.learners", STEPS},
    "engine.learners.npp": {"engine.learners", STEPS, "engine.learners.subspace"},
    "engine.learners.steps": {"engine.learners"},
    "engine.learners.subspace": {"engine.learners", STEPS},
    "server": {
        *("server.commands", "server.jobs", "server.writing", "features"),
        *("engine", "engine.changes", "engine.questions", "engine.ingest", "engine.spaces", "engine.training"),
        *("engine.catalog.extractors", "engine.catalog.roots", COMPARISONS),
    },
    "server.jobs": {
        *("server", "engine", "engine.training", "engine.catalog.file_errors", "engine.catalog.private", "features"),
    },
    "server.writing": {"server", "engine", "engine.ingest", "features"},
    "server.commands": {
        *("server", "server.demo", "server.drawing"),
        *("engine", "engine.changes", "engine.questions", "engine.ingest", "engine.spaces", "engine.training"),
        "features",
        COMPARISONS,
    },
    "server.demo": {"server.drawing", "server.backend", "server.errors", "engine", "engine.changes"},
    "server.drawing": {"engine", "engine.changes", "engine.ingest", "features"},
    "benchmarks": {*ROOMS, "features", "index", "crossview"},
    "tools": {*ROOMS, "features", "index", "server.cli"},
    "crossview": {"server", "engine", "engine.changes", *LEARNERS},
}
"""Rooms, and single modules, that the modules of a room may import, besides each other and the ground floor.

That no room of the engine imports ``collection`` or ``home``, which are above the rooms, follows as there is no cycle.
"""
HOMES = {
    "faiss": (
        *("index/", "engine/learners/hashing/"),
        *("benchmarks/speed/hamming.py", "benchmarks/store/", "benchmarks/serve/"),
    ),
    "grpc": ("server/", "benchmarks/serve/"),
    "lxml": ("features/",),
    "cv2": ("features/", "benchmarks/changes/", "benchmarks/speed/extract.py"),
    "PIL": ("features/", "server/drawing/", "server/demo/", "benchmarks/serve/"),
    "sqlalchemy": ("engine/catalog/",),
    "alembic": ("engine/catalog/",),
    "typer": ("server/", "tools/documents.py"),
    "matplotlib": ("benchmarks/",),
}


def room(module: str) -> str:
    """The package that a module is in; of a package itself, that one; a benchmark's folder is of benchmarks."""
    package = module if module in PACKAGES else module.rpartition(".")[0]
    top = package.partition(".")[0]
    return top if top in ("benchmarks", "tools") or not package else package


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(name):
    may = MAY_IMPORT[name] if name in ("features", "index") else MAY_IMPORT[name] | {GROUND_FLOOR}
    wrong = [
        f"{module} imports {target}"
        for module, targets in HOUSE.imports.items()
        for target in sorted(targets)
        if room(module) == name and room(target) != name and not may & {target, room(target)}
    ]
    assert wrong == []


def test_every_room_has_its_arrows():
    """A new room comes with a line of MAY_IMPORT."""
    assert {room(module) for module in HOUSE.modules if not module.startswith(MIGRATIONS)} == set(MAY_IMPORT)


def test_nothing_imports_itself_in_a_circle():
    """Neither modules, whatever their package, nor the boxes of the engine's drawing."""
    assert cycles(HOUSE.imports) == []
    assert cycles(HOUSE.drawing) == []


def test_every_room_has_a_budget_of_its_own_and_keeps_it():
    """A new room comes with a line of [tool.house.rooms] in pyproject.toml."""
    rooms = {name.replace(".", "/") for name in MAY_IMPORT}
    assert rooms == set(HOUSE.budgets) - {MIGRATIONS.replace(".", "/")}
    assert [message for room in HOUSE.rooms for message in room.excesses()] == []


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
    """Top-level names of all that a module imports."""
    nodes = list(ast.walk(tree))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_room_says_what_it_is_for(package):
    """In the docstring of its __init__."""
    assert package.startswith(MIGRATIONS) or ast.get_docstring(HOUSE.modules[package])


def test_every_package_is_listed_for_the_wheel_and_is_this_project_s():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    installed = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for folder in ("features", "index", "engine", "server", "crossview")
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert sorted(listed) == sorted(installed)
    for name in listed:
        if "migrations" not in name:
            file = importlib.import_module(name).__file__
            assert file is not None
            assert Path(file).is_relative_to(ROOT)
