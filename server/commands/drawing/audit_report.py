"""The report of an audit: what it found, with pictures of the items and the commands that mend it."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from crossview.engine.values.markup import element, markup
from crossview.server.commands.drawing.page import Page, Section, table, tiles
from crossview.server.commands.drawing.search_results import Items, thumbnail_of
from crossview.server.commands.drawing.sheet import sheet_bytes
from crossview.server.commands.drawing.strip import Strip, Tile

if TYPE_CHECKING:
    from crossview.engine.values.audit import Audit, Finding

_ON_SHEET = 200
"""Maximum number of pictures of a finding on a sheet."""


class AuditReport:
    """The findings of an audit with the command for each, and the tiles of their items, which are read once."""

    def __init__(self, audit: "Audit", commands: Sequence[str], items: Items) -> None:
        self._audit = audit
        self._found = list(zip(audit.findings, commands, strict=True))
        self._tiles = [_tiles(finding, items) for finding in audit.findings]

    def html(self, made: Mapping[str, Any]) -> str:
        """Return the page; ``made`` states how it was made."""
        audit = self._audit
        sections = [_section(*one, shown) for one, shown in zip(self._found, self._tiles, strict=True)]
        if len(sections) > 1:
            counts = [[_title(one), f"{one.count:,}", one.view] for one in audit.findings]
            heads = (
                ["finding", ">number", "view"] if any(one.view for one in audit.findings) else ["finding", ">number"]
            )
            rows = [line[: len(heads)] for line in counts]
            sections.insert(0, Section("Overview", table(heads, rows)))
        notes = [f"Not checked, or only in part: {one}." for one in audit.notes]
        how = {**made, "space": audit.space, "learner": audit.spec, "items": f"{audit.items:,}"}
        return Page("Audit", audit.collection, self._summary(), sections, how, notes).html()

    def files(self, figures: str, made: Mapping[str, Any]) -> dict[str, str | bytes]:
        """Return the files of the report by name; ``figures`` is the JSON of the audit."""
        found: dict[str, str | bytes] = {"index.html": self.html(made), "audit.json": figures}
        strips = [
            Strip(one.sentence, Tile(None, text=_counted(one)), shown[:_ON_SHEET], badge="found")
            for one, shown in zip(self._audit.findings, self._tiles, strict=True)
            if any(tile.picture for tile in shown)
        ]
        return found | ({"findings.png": sheet_bytes(strips, f"Audit of {self._audit.collection}")} if strips else {})

    def _summary(self) -> str:
        audit = self._audit
        where = f"{audit.items:,} items of {audit.collection}, space {audit.space}"
        if not audit.findings:
            return f"Nothing was found in {where}."
        kinds = ", ".join(map(_counted, audit.findings))
        return f"Found in {where}: {kinds}."


def _title(finding: "Finding") -> str:
    words = {"held_out_copies": "held-out copies", "drift": "drifted items"}
    return words.get(finding.kind, finding.kind.replace("_", " ")).capitalize()


def _counted(finding: "Finding") -> str:
    words = _title(finding)[0].lower() + _title(finding)[1:]
    if finding.count == 1:
        words = f"{words[:-3]}y" if words.endswith("ies") else words.removesuffix("s")
    return f"{finding.count:,} {words}"


def _section(finding: "Finding", command: str, shown: Sequence[Tile]) -> Section:
    left = finding.count - len(shown)
    more = element("p", f"and {left:,} more; --limit shows more of them", class_="note") if left > 0 and shown else None
    content = markup(
        element("p", f"{finding.sentence}."),
        tiles(shown) if shown else None,
        more,
        element("p", "To mend it:", class_="note"),
        element("pre", command),
    )
    return Section(f"{_title(finding)}: {finding.count:,}", content)


def _tiles(finding: "Finding", items: Items) -> list[Tile]:
    pairs = zip_longest(finding.keys, finding.details, fillvalue="")
    return [
        Tile(
            thumbnail_of(items, key) if key else None,
            name=key.rpartition("/")[2] or key,
            key=key,
            note=detail,
            text="" if key else detail,
        )
        for key, detail in pairs
    ]
