"""An extension of Sphinx that writes the pages which are made from the code, before ``make docs`` reads the pages."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.util import logging

from documents.commands import commands
from documents.docstrings import read_docstring, skip_foreign
from documents.errors import errors
from documents.json_results import json_results
from documents.learners import learners
from documents.links import Links
from documents.metrics import metrics
from documents.page_head import describe_page
from documents.python_names import python_names, shorten_annotations
from documents.remote_calls import remote_calls
from documents.settings import settings

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = {f"{name}.md": f"docs/{name.lower()}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING")}
"""The page of each document at the root of the repository."""
_log = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, Any]:
    """Register the extension, and the setting ``repository``: the address of the files of the documented version."""
    app.add_config_value("repository", "", "env", [str])
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _read_page)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("html-page-context", describe_page, priority=900)  # after furo, which makes the menu
    return {"parallel_read_safe": True}


def pages() -> Iterator[tuple[str, str]]:
    """Yield each generated page: its path below ``docs``, without the suffix, and its text."""
    single = {
        "commands": commands(),
        "json": json_results(),
        "learners": learners(),
        "settings": settings(),
        "metrics": metrics(),
        "errors": errors(),
    }
    for name, lines in {**single, **remote_calls(ROOT / "proto"), **python_names()}.items():
        yield f"reference/{name}", "\n".join(lines) + "\n"


def _write_pages(app: Any) -> None:
    """Write the generated pages, and those of the documents at the root; unchanged files keep their times."""
    written = {f"docs/{name}.md": text for name, text in pages()}
    for source, page in ROOT_PAGES.items():
        written[page] = _links(app).resolved((ROOT / source).read_text(encoding="utf-8"), source, page)
    for page, text in written.items():
        path = ROOT / page
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    shorten_annotations()


def _read_page(app: Any, name: str, source: list[str]) -> None:
    """Resolve the links of a page to files outside ``docs``, and add the pages below it to the table of contents."""
    page = f"docs/{name}.md"
    source[0] = _links(app).resolved(source[0], page, page)
    if below := _contents().get(name):
        source[0] += "\n".join(line for caption, names in below.items() for line in _toctree(caption, names))


def _toctree(caption: str, names: list[str]) -> Iterator[str]:
    yield from ("", "```{toctree}", ":hidden:", ":glob:", *([f":caption: {caption}"] if caption else ()), "")
    yield from (*names, "```", "")


@cache
def _contents() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((ROOT / "docs" / "contents.toml").read_text(encoding="utf-8"))


def _links(app: Any) -> Links:
    return Links(ROOT, app.config.repository, ROOT_PAGES, _log.warning)
