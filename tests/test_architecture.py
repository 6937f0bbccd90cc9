"""The arrows of ARCHITECTURE.md hold in the code."""

import ast
import importlib
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("features", "index", "engine", "server", "benchmarks")
ALLOWED = {
    "features": {"features"},
    "index": {"index"},
    "engine": {"engine", "features", "index"},
    "engine/learners": {"engine.learners"},
    "server": {"server", "engine", "features"},
    "benchmarks": {"benchmarks", "engine", "features", "index"},
}
HOMES = {
    "faiss": ("index/", "engine/learners/hashing/", "benchmarks/speed/hamming.py"),
    "grpc": ("server/",),
    "cv2": ("features/", "benchmarks/speed/extract.py"),
    "PIL": ("features/", "server/sheet.py", "server/lettering.py", "server/pictures.py"),
    "sqlalchemy": ("engine/catalog/",),
    "alembic": ("engine/catalog/",),
    "typer": ("server/",),
    "matplotlib": ("benchmarks/",),
}


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path):
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            yield ".".join([*base, node.module] if node.module else base)


def sources(folder: str):
    return [path for path in (ROOT / folder).rglob("*.py") if "pb" not in path.relative_to(ROOT).parts]


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_folder_imports_only_what_it_may(folder):
    wrong = []
    for path in sources(folder):
        for name in imports(path):
            mine = name.split(".")[0] in OURS
            if mine and not any(name == one or name.startswith(one + ".") for one in ALLOWED[folder]):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_used_only_where_it_belongs(library):
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in OURS
        for path in sources(folder)
        for name in imports(path)
        if name.split(".")[0] == library and not str(path.relative_to(ROOT)).startswith(HOMES[library])
    ]
    assert wrong == []


def test_every_package_is_listed_for_the_wheel_and_is_this_project_s():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for folder in ("features", "index", "engine", "server")
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert sorted(listed) == sorted(there)
    for name in listed:
        if "migrations" not in name:
            file = importlib.import_module(name).__file__
            assert file is not None
            assert Path(file).is_relative_to(ROOT)
