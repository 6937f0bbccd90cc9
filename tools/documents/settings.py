"""The page of all settings of a server."""

import ast
import inspect
import itertools
from collections.abc import Iterator
from pathlib import Path

from crossview.server.wire import settings as module
from crossview.server.wire.configuration import SETTINGS, VARIABLE, kind_of
from crossview.server.wire.settings import ServerSettings
from documents.tables import table

_WORDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "path",
    tuple: "list of texts",
}


def settings() -> Iterator[str]:
    """Yield the lines of the page, from the descriptions of the fields."""
    yield (
        "# Settings\n\n`crossview serve` takes its settings from its options, from variables of the environment, and "
        "from the TOML file of `--config` or `CROSSVIEW_CONFIG`, in this order. A path in the file is relative to the "
        f"file, and a list in a variable has commas. `{VARIABLE}PORT` is the variable of `port`. "
        "`crossview serve --print-config` prints all settings with their origin.\n"
    )
    meanings = _field_docstrings()
    rows = [(f"`{name}`", _WORDS[kind_of(name)], _default(name), meanings[name]) for name in SETTINGS]
    yield from table(("setting", "value", "default", "meaning"), rows)


def _default(name: str) -> str:
    default = getattr(ServerSettings, name)
    text = str(default).lower() if isinstance(default, bool) else str(default)
    return "" if default is None or default == () else f"`{text}`"


def _field_docstrings() -> dict[str, str]:
    """Return the description below each field of the classes of ``server/wire/settings.py``."""
    descriptions = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ClassDef):
            for field, text in itertools.pairwise(node.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(description))):
                        descriptions[name] = " ".join(description.split())
    return descriptions
