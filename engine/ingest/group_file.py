"""Group files: CSV files of which items belong together."""

from pathlib import Path

from crossview.engine.errors import InvalidInputError
from crossview.engine.ingest.table import Table
from crossview.engine.recipe import Grouping

_NAMES = ("key", "path")
_GROUP = "group"


def read_groups(path: Path | str) -> Grouping:
    """Return the groups of a CSV with the columns ``key`` or ``path``, and ``group``, in any order.

    An item with an empty group is left out, and so alone. Raises InvalidInputError for a file that cannot be read, has
    another header, holds no group, or has a line that is none or gives an item a second group.
    """
    table = Table(path, "groups")
    lines = iter(table)
    header = [cell.lower() for cell in next(lines, (0, [""]))[1]]
    if len(header) != 2 or _GROUP not in header or not set(header) & set(_NAMES):
        named = ",".join(header)
        raise InvalidInputError(f"{path} begins with {named!r}, not with its columns: key,group or path,group")
    groups: dict[str, str] = {}
    column = header.index(_GROUP)
    for line, cells in lines:
        if len(cells) != 2 or not cells[1 - column]:
            raise table.unexpected(line, ",".join(header), cells)
        name, group = cells[1 - column], cells[column]
        if groups.setdefault(name, group) != group:
            raise table.error(line, f"{name} is of group {group} here, and of group {groups[name]} above")
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        raise InvalidInputError(f"{path} holds no groups but for its header {','.join(header)}")
    return Grouping(str(path), groups)
