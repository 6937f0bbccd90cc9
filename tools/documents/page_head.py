"""The metadata of pages, for search engines and previews of links."""

from html import escape
from typing import Any

from docutils import nodes

_MOST_LETTERS = 160
"""Maximum length of a description; search engines cut longer ones."""


def describe_page(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Add the metadata of a page, and the level of the headings of its menu, for the event ``html-page-context``."""
    paragraphs = tree.findall(nodes.paragraph) if tree is not None else ()
    text = next((paragraph.astext() for paragraph in paragraphs), context.get("title", ""))
    address = app.config.html_baseurl
    metadata = {
        'name="description"': _cut(text),
        'property="og:title"': context.get("title", ""),
        'property="og:description"': _cut(text),
        'property="og:type"': "website",
    }
    if address:  # these must be whole addresses
        metadata |= {
            'property="og:url"': f"{address}{name}.html",
            'property="og:image"': f"{address}_static/photographs.jpg",
        }
    tags = (f'<meta {key} content="{escape(value)}">' for key, value in metadata.items())
    context["metatags"] = "\n".join((context.get("metatags", ""), *tags))
    menu = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = menu.replace('role="heading"', 'role="heading" aria-level="2"')


def _cut(text: str) -> str:
    """Return the first words of a text, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS].rpartition(" ")[0] + " ..."
