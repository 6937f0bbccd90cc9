"""The report of an audit: what it found, with pictures of the items and the commands that mend it."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from crossview.server.commands.drawing.page import Fragments, Page, Section
from crossview.server.commands.drawing.search_results import Items, Strip, Tile, file_name, thumbnail_of
from crossview.server.commands.drawing.sheet import sheet_bytes

if TYPE_CHECKING:
    from crossview.engine.values.audit import Audit, Finding

_ON_SHEET = 200
"""Maximum number of pictures of a finding on a sheet."""


class AuditReport:
    """The findings of an audit, with the command for each."""

    def __init__(self, audit: "Audit", commands: Sequence[str], items: Items) -> None:
        self._audit, self._commands, self._items = audit, commands, items
        self._fragments = Fragments(lambda _, key, size: thumbnail_of(items, key))

    def html(self, made: Mapping[str, Any]) -> str:
        """Return the page; ``made`` states how it was made."""
        audit = self._audit
        sections = [self._section(*pair) for pair in zip(audit.findings, self._commands, strict=True)]
        if len(sections) > 1:
            width = 3 if any(finding.view for finding in audit.findings) else 2
            rows = [[self._title(finding), f"{finding.count:,}", finding.view][:width] for finding in audit.findings]
            table = self._fragments("tables.html", "table", ["finding", ">number", "view"][:width], rows)
            sections.insert(0, Section("Overview", table))
        notes = [f"Not checked, or only in part: {note}." for note in audit.notes]
        how = {**made, "space": audit.space, "learner": audit.spec, "items": f"{audit.items:,}"}
        return Page("Audit", audit.collection, self._summary(), sections, how, notes).html()

    def files(self, figures: str, made: Mapping[str, Any]) -> dict[str, str | bytes]:
        """Return the files of the report by name; ``figures`` is the JSON of the audit."""
        contents: dict[str, str | bytes] = {"index.html": self.html(made), "audit.json": figures}
        strips = [
            Strip(finding.sentence, Tile(None, text=self._counted(finding)), tiles, badge="found")
            for finding in self._audit.findings
            for tiles in [self._tiles(finding)[:_ON_SHEET]]
            if any(tile.picture for tile in tiles)
        ]
        return contents | (
            {"findings.png": sheet_bytes(strips, f"Audit of {self._audit.collection}")} if strips else {}
        )

    def _summary(self) -> str:
        audit = self._audit
        where = f"{audit.items:,} items of {audit.collection}, space {audit.space}"
        if not audit.findings:
            return f"Nothing was found in {where}."
        kinds = ", ".join(map(self._counted, audit.findings))
        return f"Found in {where}: {kinds}."

    def _title(self, finding: "Finding") -> str:
        return self._fragments("findings.html", "title", finding)

    def _counted(self, finding: "Finding") -> str:
        title = self._title(finding)
        words = title[0].lower() + title[1:]
        if finding.count == 1:
            words = f"{words[:-3]}y" if words.endswith("ies") else words.removesuffix("s")
        return f"{finding.count:,} {words}"

    def _section(self, finding: "Finding", command: str) -> Section:
        content = self._fragments("findings.html", "finding", "", finding, command)
        return Section(f"{self._title(finding)}: {finding.count:,}", content)

    def _tiles(self, finding: "Finding") -> list[Tile]:
        pairs = zip_longest(finding.keys, finding.details, fillvalue="")
        return [
            Tile(thumbnail_of(self._items, key), name=file_name(key), key=key, note=detail)
            if key
            else Tile(None, text=detail)
            for key, detail in pairs
        ]
