"""An audit as a self-contained HTML page: findings with thumbnails of their items and the commands that mend them."""

import base64
from collections.abc import Callable, Sequence
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossview.engine.audit.report import Audit, Finding

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#26282c;background:#fafaf8;max-width:1000px;margin:2em auto;"
    "padding:0 1em}section{border-top:1px solid #dedfdc;padding:.6em 0 1em}h1,h2{line-height:1.2}h2{font-size:1.1em}"
    ".items{display:flex;flex-wrap:wrap;gap:.9em}figure{margin:0;width:150px;overflow-wrap:anywhere}"
    "figcaption{font-size:.8em;color:#555}img{max-width:100%;border-radius:4px}"
    "pre{white-space:pre-wrap;background:#efefeb;padding:.5em;border-radius:4px}"
)


def page(audit: "Audit", commands: Sequence[str], thumbnail: Callable[[str], bytes | None]) -> str:
    """Return the page; ``commands`` has the command of each finding, and ``thumbnail`` returns the JPEG of a key."""
    of = f"{audit.items:,} items, space {audit.space}"
    parts = [f"<h1>Audit of {escape(audit.collection)}</h1>", f"<p>{escape(of)}</p>"]
    parts += [_section(one, command, thumbnail) for one, command in zip(audit.findings, commands, strict=True)]
    parts += ["<p>Nothing was found.</p>"] * (not audit.findings)
    parts += [f"<p>Note: {escape(one)}.</p>" for one in audit.notes]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    body = "\n".join(parts)
    style = f"<title>Audit of {escape(audit.collection)}</title><style>{_STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}{style}</head><body>\n{body}\n</body></html>\n'


def _section(finding: "Finding", command: str, thumbnail: Callable[[str], bytes | None]) -> str:
    title = f"{finding.kind.replace('_', ' ').capitalize()}: {finding.count:,}"
    figures = [
        f"<figure>{_picture(thumbnail(key)) if key else ''}<figcaption>{escape(key)}<br>{escape(detail)}</figcaption>"
        "</figure>"
        for key, detail in zip_longest(finding.keys, finding.details, fillvalue="")
    ]
    return (
        f"<section><h2>{escape(title)}</h2><p>{escape(finding.sentence)}.</p>"
        f'<div class="items">{"".join(figures)}</div><pre>{escape(command)}</pre></section>'
    )


def _picture(jpeg: bytes | None) -> str:
    return "" if not jpeg else f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}">'
