"""Texts in the sources that people may read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from crossview.features.errors import Argument, Remedy, call
from crossview.server.commands.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
NAMES_A_COMMAND = re.compile(rf"crossview (?:{'|'.join(COMMANDS)})\b|`(?:client|collection|home|keys)\.")
MAKERS = ("calibration_step", "remedy", "step_for_rows")
"""Functions that return a remedy, or a text with some."""
LIBRARY = ("crossview", "engine", "features", "index")


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and text of strings that name a command in the sources, without docstrings and help texts."""
    for folder in ("crossview", "engine", "features", "index", "server"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if {"pb", "demo"} & set(path.parts[len(ROOT.parts) :]):
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
    if _is_message(node):
        yield from (part for part in node.args if isinstance(part, ast.Constant | ast.JoinedStr) or _is_remedy(part))
    if _is_remedy(node):
        yield from (part for part in ast.walk(node) if part is not node)
    if isinstance(node, ast.Expr):
        yield node.value
    if isinstance(node, ast.keyword) and node.arg == "help":
        yield from ast.walk(node.value)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hint", "again"):
        return ast.unparse(node)
    if _is_message(node) or _is_remedy(node):
        text = "".join(map(_part, node.args if _is_message(node) else [node]))
        return text if NAMES_A_COMMAND.search(text) else ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    else:
        return ""
    return text if NAMES_A_COMMAND.search(text) else ""


def library_messages() -> Iterator[tuple[str, str]]:
    """Yield the place and text of each string of the library."""
    for place, node in _nodes():
        if isinstance(node, ast.Constant | ast.JoinedStr) and (text := _part(node)):
            yield place, text


def library_remedies() -> Iterator[tuple[str, Remedy]]:
    """Yield the place of each remedy of the library, with a value for what is not a literal."""
    for place, node in _nodes():
        if _is_remedy(node):
            yield place, _value(node)


def formatted_remedies() -> Iterator[str]:
    """Yield the places of the library where a remedy becomes a part of a plain string."""
    for place, node in _nodes():
        if isinstance(node, ast.FormattedValue) and (_is_remedy(node.value) or _name(node.value) in MAKERS):
            yield place


def _nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(path for folder in LIBRARY for path in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) not in documents:
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", node


def _name(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_remedy(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or _name(node) not in ("call", "Argument"):
        return False
    return bool(node.args) and isinstance(node.args[0], ast.Constant)


def _is_message(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether a node makes a message of several parts."""
    return isinstance(node, ast.Call) and _name(node).endswith(("Error", "Text")) and any(map(_is_remedy, node.args))


def _part(node: ast.AST) -> str:
    if _is_remedy(node):
        return str(_value(node))
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "{}"


def _value(node: ast.expr) -> Any:
    """Return the value of an argument, or a remedy; what is not a literal becomes 1."""
    if _is_remedy(node):
        name, *arguments = map(_value, node.args)
        if _name(node) == "Argument":
            return Argument(name, *arguments)
        return call(name, *arguments, **{one.arg: _value(one.value) for one in node.keywords if one.arg})
    try:
        return ast.literal_eval(node)
    except ValueError:
        return 1
