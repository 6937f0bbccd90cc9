"""The page of the JSON that commands print."""

import dataclasses
import inspect
from collections.abc import Iterator

from crossview.server.commands.result_types import RESULTS, field_types, named, types_below
from documents.tables import table


def json_results() -> Iterator[str]:
    """Yield the lines of the page: the envelope, the result of each command, and the fields of its types."""
    yield (
        "# JSON\n\nWith `--json`, every command prints one JSON object on one line, and errors on stderr:\n\n"
        '```text\n{"command": "search", "collection": "pets", "result": ...}\n```\n\n'
        "`collection` is null if the command names none. The table shows the type of `result`, which is a job with "
        "`--detach`. `changes --watch` prints an object for each Change. Fields can be added in later versions.\n"
    )
    yield from table(("command", "result"), [(f"`{name}`", named(result)) for name, result in RESULTS.items()])
    types = {cls for result in RESULTS.values() for cls in types_below(result)}
    for cls in sorted(types, key=lambda cls: cls.__name__):
        yield f"## {cls.__name__}\n\n{(inspect.getdoc(cls) or '').splitlines()[0]}\n"
        hints = field_types(cls)
        rows = [(f"`{field.name}`", named(hints[field.name])) for field in dataclasses.fields(cls)]
        yield from table(("field", "value"), rows)
