"""Pages of the documents that are made from the code: an MkDocs hook, run by ``make docs``."""

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
    pages = {"commands": commands(), "learners": learners(), "grpc": grpc()}
    for name, lines in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content="\n".join(lines) + "\n"))
    return files


def commands() -> Iterator[str]:
    """Yield the page of all commands, from the command line's own help."""
    import typer

    from crossview.server.cli import app

    yield "# Commands\n\nEvery command has `--help`. `CROSSVIEW_HOME` or `--home` is the folder of the collections."
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        context = command.context_class(command, info_name=f"crossview {name}")
        yield f"\n## {name}\n\n{command.help or ''}\n\n```text\n{' '.join(command.get_usage(context).split())}\n```\n"
        described = [one.get_help_record(context) for one in command.params]
        yield from _table(("option", "meaning"), [(f"`{one[0]}`", one[1]) for one in described if one])


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
        yield from _table(("setting", "meaning", "values", "default", "tried by `--tune`"), rows)


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


def _comment(lines: str) -> str:
    return " ".join(line.strip().removeprefix("//").strip() for line in lines.splitlines())


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        for row in (header, ("---",) * len(header), *rows):
            yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
