"""Pages of the documents that are made from the code: an MkDocs hook, run by ``make docs``."""

import ast
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from mkdocs.structure.files import File  # noqa: E402

_RPC = re.compile(r"((?:^ *//.*\n)*)^ *rpc (\w+)\((stream )?(\w+)\) returns \((stream )?([\w.]+)\)", re.M)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to those that lie in ``docs``."""
    pages = {
        "commands": commands(),
        "json": json_results(),
        "learners": learners(),
        "grpc": grpc(),
        "settings": settings(),
    }
    for name, lines in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content="\n".join(lines) + "\n"))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content="\n\n".join(notebook(path)) + "\n"))
    return files


def notebook(path: Path) -> Iterator[str]:
    """Yield the cells of a notebook with their results, as Markdown."""
    import json

    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            shown, text = data.get("text/html"), data.get("text/plain", output.get("text", ""))
            yield re.sub(r"\n\s*\n", "\n", "".join(shown)) if shown else f"```text\n{''.join(text).strip()}\n```"
    yield f"[Download this notebook]({path.name})."


def commands() -> Iterator[str]:
    """Yield the page of all commands, from the command line's own help."""
    import typer

    from crossview.server.cli import COMMANDS, app
    from crossview.server.commands.command import SETTINGS, Text, panels

    yield (
        "# Commands\n\nEvery command has `-h`. `CROSSVIEW_HOME` or `--home` is the folder of the collections, "
        "`CROSSVIEW_SERVER` or `--server` the address of a server; `--home` goes before `CROSSVIEW_SERVER`, which goes "
        "before `CROSSVIEW_HOME`. `crossview --install-completion` installs completion for your shell."
    )
    for name in COMMANDS:
        command: Any = typer.main.get_command(app)
        for word in name.split():
            command = command.commands[word]
        context, text = command.context_class(command, info_name=f"crossview {name}", **SETTINGS), Text.of(command.help)
        prose = "\n\n".join(filter(None, (text.summary, text.body)))
        lines = "\n".join((" ".join(command.get_usage(context).split()), "", *text.examples))
        yield f"\n## {name}\n\n{prose}\n\n```text\n{lines}\n```\n"
        for panel, rows in panels(command, context).items():
            yield from _table((panel, ""), [(f"`{option}`", meaning) for option, meaning in rows])
            yield ""


def json_results() -> Iterator[str]:
    """Yield the page of the JSON that commands print: the envelope, the result of each command, and its types."""
    import dataclasses
    import inspect

    from crossview.server.commands.result_types import RESULTS, field_types, named, types_below

    yield (
        "# JSON\n\nWith `--json`, every command prints one JSON object on one line, and errors on stderr:\n\n"
        '```json\n{"command": "search", "collection": "pets", "result": ...}\n```\n\n'
        "`collection` is null if the command names none. The table shows the type of `result`, which is a job with "
        "`--detach`. `changes --watch` prints an object for each Change. Fields can be added in later versions.\n"
    )
    yield from _table(("command", "result"), [(f"`{name}`", named(result)) for name, result in RESULTS.items()])
    for one in sorted(
        {one for result in RESULTS.values() for one in types_below(result)}, key=lambda one: one.__name__
    ):
        yield f"\n## {one.__name__}\n\n{(inspect.getdoc(one) or '').splitlines()[0]}\n"
        hints = field_types(one)
        yield from _table(
            ("field", "value"), [(f"`{field.name}`", named(hints[field.name])) for field in dataclasses.fields(one)]
        )


def learners() -> Iterator[str]:
    """Yield the page of all learners: every setting, what it means, its default, and what tuning tries."""
    from crossview.engine.training.guide import learner_guides

    yield "# Learners\n\nEvery learner and setting, as `crossview learners NAME` prints it. Stages serve another one."
    for one in learner_guides():
        yield f"\n## {one.name}\n\n{one.summary}\n\nNeeds {one.needs()}. Gives {one.gives()}.\n"
        yield from (f"{paragraph}\n" for paragraph in one.description)
        rows = [
            (f"`{s.name}`", s.meaning, s.values, f"`{s.default}`", ", ".join(map(str, s.tuned))) for s in one.settings
        ]
        yield from _table(("setting", "meaning", "values", "default", "tried by `tune`"), rows)


def grpc() -> Iterator[str]:
    """Yield the page of all remote calls, from the comments of the proto files."""
    yield "# gRPC\n\nThe interface is `proto/crossview/v1`; health checking and reflection are served beside it."
    for path in sorted((ROOT / "proto" / "crossview" / "v1").glob("*.proto")):
        if calls := _RPC.findall(path.read_text(encoding="utf-8")):
            yield f"\n## {path.name}\n"
            rows = [
                (f"`{name}`", f"{sent}`{request}`", f"{returned}`{response}`", _comment(comment))
                for comment, name, sent, request, returned, response in calls
            ]
            yield from _table(("call", "request", "response", ""), rows)


def settings() -> Iterator[str]:
    """Yield the page of all settings of a server, from the descriptions of their fields."""
    from crossview.server.configuration import SETTINGS, VARIABLE, kind_of
    from crossview.server.settings import ServerSettings

    yield (
        "# Settings\n\n`crossview serve` takes its settings from its options, from variables of the environment, and "
        "from the TOML file of `--config` or `CROSSVIEW_CONFIG`, in this order. A path in the file is relative to the "
        f"file, and a list in a variable has commas. `{VARIABLE}PORT` is the variable of `port`. "
        "`crossview serve --print-config` prints all settings with their origin.\n"
    )
    meanings = _field_docstrings(ROOT / "server" / "settings.py")
    words = {
        bool: "true or false",
        int: "whole number",
        float: "number",
        str: "text",
        Path: "path",
        tuple: "list of texts",
    }
    rows = []
    for name in SETTINGS:
        default = getattr(ServerSettings, name)
        text = str(default).lower() if isinstance(default, bool) else str(default)
        shown = "" if default is None or default == () else f"`{text}`"
        rows.append((f"`{name}`", words[kind_of(name)], shown, meanings[name]))
    yield from _table(("setting", "value", "default", "meaning"), rows)


def _field_docstrings(path: Path) -> dict[str, str]:
    """Return the description below each field of the classes of a file."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            for field, text in itertools.pairwise(node.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(description))):
                        found[name] = " ".join(description.split())
    return found


def _comment(lines: str) -> str:
    return " ".join(line.strip().removeprefix("//").strip() for line in lines.splitlines())


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        for row in (header, ("---",) * len(header), *rows):
            yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
