"""The digest of the code that makes a result, by which a check recognises results that are older than their code.

The code of a benchmark is its module and every module of the project that it imports, directly or not, deferred
imports included. The digest does not depend on comments, docstrings, types of arguments, names of local variables, the
order of definitions or their files, so that results stay up to date when people tidy the code. Modules that only write
reports and plots do not count.
"""

import ast
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.frame.record import ROOT

PARTS = ("learners", "benchmark", "product")
"""Parts of the code, the one first whose changes most often change figures; "product" is what the others leave."""
_SHOWN = {
    f"benchmarks.frame.{name}"
    for name in ("benchmark", "charts", "digest", "headlines", "journal", "page", "plots", "record", "tables")
}
"""Modules that measure nothing, besides the reports."""
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DIGITS = 16


def code_digest(run: Callable[..., Any]) -> dict[str, str]:
    """Return the digest of each of ``PARTS`` that the code of a benchmark's function has."""
    return module_digest(getattr(run, "func", run).__module__)  # a partial has the module of functools


def module_digest(module: str, root: Path = ROOT) -> dict[str, str]:
    """Return the digest of each part of the code of a module, given the folder of the project."""
    parts: defaultdict[str, set[str]] = defaultdict(set)
    seen: set[Path] = set()
    waiting, root = [module], root.resolve()
    while waiting:
        path = _file(waiting.pop(), root)
        if path is None or path in seen:
            continue
        seen.add(path)
        definitions, imports = _read(path)
        parts[_part(path.relative_to(root))] |= definitions
        waiting += imports
    return {part: _hash("".join(sorted(definitions))) for part, definitions in sorted(parts.items())}


@cache
def _file(module: str, root: Path) -> Path | None:
    """Return the file of a module; None if it is of another project, or shows results only."""
    if module.startswith("benchmarks.") and (module.endswith("report") or module in _SHOWN):
        return None
    path = root.joinpath(*module.split("."))
    return next((file.resolve() for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


def _part(path: Path) -> str:
    if path.parts[0] == "benchmarks":
        return "benchmark"
    return "learners" if path.parts[:2] == ("engine", "learners") else "product"


@cache
def _read(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return digests of the definitions of a file, and the names of what it imports."""
    tree = ast.parse(path.read_bytes())
    imports = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(_hash(repr(definition)) for definition in _plain(tree.body, {})), frozenset(imports)


def _plain(value: Any, names: Mapping[str, str]) -> Any:
    """Return what matters of a part of a syntax tree, with the new names of local variables."""
    if isinstance(value, list):
        return tuple(_plain(part, names) for part in value if not _skipped(part))
    if not isinstance(value, ast.AST):
        return value
    if isinstance(value, ast.Name):
        return names.get(value.id, value.id)
    if isinstance(value, ast.arg):
        return value.arg
    if isinstance(value, _NESTED) and not names:
        names = _local_names(value)
    fields = [(name, field) for name, field in ast.iter_fields(value) if name != "returns" and field not in (None, [])]
    return (type(value).__name__, *((name, _plain(field, names)) for name, field in fields))


def _skipped(node: Any) -> bool:
    """Return whether a statement is a docstring or an import."""
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or isinstance(node, ast.Import | ast.ImportFrom)


def _local_names(function: ast.AST) -> dict[str, str]:
    """Return new names of the local variables of a function, which callers cannot use: arguments keep theirs."""
    nodes = list(ast.walk(function))
    kept = {node.arg for node in nodes if isinstance(node, ast.arg)}
    kept |= {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {name: f"{number}" for number, name in enumerate(dict.fromkeys(stored)) if name not in kept}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
