"""Group files: CSV files that give each item its group."""

from pathlib import Path

from crossview.engine.catalog.ingest.table import Table
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.recipe import Grouping

_NAMES = ("key", "path")
_GROUP = "group"


def read_groups(path: Path | str) -> Grouping:
    """Return the groups of a CSV with the columns ``key`` or ``path``, and ``group``, in any order.

    An item with an empty group is a group of its own. Raises InvalidInputError for an unreadable file, another
    header, a file without groups, an invalid line, or a second group for an item.
    """
    table = Table(path, "groups")
    lines = iter(table)
    header = [cell.lower() for cell in next(lines, (0, [""]))[1]]
    if len(header) != 2 or _GROUP not in header or not set(header) & set(_NAMES):
        named = ",".join(header)
        raise InvalidInputError(f"{path} begins with {named!r}, but the first line must be key,group or path,group")
    groups: dict[str, str] = {}
    column = header.index(_GROUP)
    for line, cells in lines:
        if len(cells) != 2 or not cells[1 - column]:
            raise table.unexpected(line, ",".join(header), cells)
        name, group = cells[1 - column], cells[column]
        if groups.setdefault(name, group) != group:
            raise table.error(line, f"{name} has group {group} here, and group {groups[name]} above: remove one line")
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        raise InvalidInputError(f"{path} contains only the header {','.join(header)}: add lines of items and groups")
    return Grouping(str(path), groups)
