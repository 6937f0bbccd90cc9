"""Texts in the sources that people may read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from crossview.server.commands.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
NAMES_A_COMMAND = re.compile(rf"crossview (?:{'|'.join(COMMANDS)})\b|`(?:collection|home)\.")
LIBRARY = ("crossview", "engine", "features", "index")


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and text of strings that name a command in the sources, without docstrings and help texts."""
    for folder in ("crossview", "engine", "features", "index", "server"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if {"pb", "demo"} & set(path.parts[len(ROOT.parts) :]) and "commands" not in path.parts:
                continue
            tree = ast.parse(path.read_text())
            left_out = {id(part) for node in ast.walk(tree) for part in _not_printed(node)}
            for node in ast.walk(tree):
                if id(node) not in left_out and (text := _text(node)):
                    yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text


def _not_printed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the strings below a node that are parts of another string, documentation, or help of an option."""
    if isinstance(node, ast.JoinedStr):
        yield from (value for value in node.values if isinstance(value, ast.Constant))
    if isinstance(node, ast.Expr):
        yield node.value
    if isinstance(node, ast.keyword) and node.arg == "help":
        yield from ast.walk(node.value)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hint", "again"):
        return ast.unparse(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    else:
        return ""
    return text if NAMES_A_COMMAND.search(text) else ""


def library_messages() -> Iterator[tuple[str, str]]:
    """Yield the place and text of each string of the library, with a value for each placeholder."""
    for path in sorted(path for folder in LIBRARY for path in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        left_out = {id(part) for node in ast.walk(tree) for part in _not_printed(node)}
        for node in ast.walk(tree):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            if id(node) not in left_out:
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", "".join(map(_filled, parts))


def _filled(node: ast.AST) -> str:
    if isinstance(node, ast.FormattedValue):
        return "'x'" if node.conversion == ord("r") else "[1]"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
