"""The settings of Sphinx, which builds this site by ``make docs``."""

import os
import sys
import tomllib
from importlib.metadata import version as installed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "crossview"
author = PROJECT["authors"][0]["name"]
version = release = os.environ.get("SITE_VERSION") or installed("crossview")

extensions = [
    "documents",  # tools/documents: the pages that are made from the code
    "myst_nb",
    "sphinx_copybutton",
]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!crossview\.\w+$).*")]  # all but public names: other sites and internal types
smartquotes = False  # -- is an option, not a dash
highlight_language = "text"

# The address of the files of this version, for links to files that are no pages; without it these are plain text.
source = PROJECT.get("urls", {}).get("Source", "")
repository = f"{source}/blob/{os.environ.get('SITE_VERSION', 'main')}" if source else ""

myst_heading_anchors = 3
nb_execution_mode = "off"  # a long test runs the notebooks, and compares what they show with what is stored

toc_object_entries = False  # each class has a heading
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80

html_theme = "furo"
BRAND = [f"color-brand-{use}" for use in ("primary", "content", "visited")]
html_theme_options = {  # the colours of the pages of a server
    "light_css_variables": dict.fromkeys(BRAND, "#0a7068"),
    "dark_css_variables": dict.fromkeys(BRAND, "#5fd3c6"),
}
html_title = f"crossview {version}"
html_baseurl = PROJECT.get("urls", {}).get("Documentation", "")  # for canonical addresses and previews of links
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static", "readme/photographs.jpg"]
templates_path = ["_templates"]
html_additional_pages = {"404": "404.html"}
html_js_files = [("site.js", {"defer": "defer"})]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_use_index = html_copy_source = html_show_sourcelink = False
html_css_files = ["site.css"]
copybutton_exclude = ".linenos, .gp, .go"
