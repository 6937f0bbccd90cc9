"""The pages of all public names of Python, which Sphinx describes from their docstrings."""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import crossview
from documents.annotations import shorten
from documents.python_groups import GROUPS, Group
from documents.tables import escaped

_VALUES = {
    "crossview.__version__": "The version of the package, a text.",
    "crossview.learners.Dimensions": "A positive whole number, as the annotation of a setting.",
    "crossview.learners.Share": "A number from 0 to 1, as the annotation of a setting.",
    "crossview.learners.Rows": "``NDArray[np.float64]``, shape (n, d): rows of a view.",
    "crossview.extractors.Image": "``NDArray[np.uint8]``, shape (height, width, 3), in blue, green and red: a picture.",
    "crossview.extractors.FeatureRows": "``NDArray[np.float32]``, shape (n, d): rows of a view.",
    "crossview.extractors.Labels": "The labels of each item from which an extractor learns.",
}
"""The descriptions of names that are neither classes nor functions."""


def shorten_annotations() -> None:
    """Shorten the annotations of all names in this process, for the signatures that Sphinx writes."""
    public = {name: getattr(crossview, name) for name in crossview.__all__}
    for group in GROUPS:
        for name in group.names:
            shorten(_object(name), public)


def python_names() -> dict[str, list[str]]:
    """Return the lines of each page by its name, such as ``python/search``."""
    return {f"python/{group.page}": [*_page(group)] for group in GROUPS}


def _page(group: Group) -> Iterator[str]:
    """Yield a table of the names of a group, and a section for each of them."""
    yield f"# {group.title}\n\n{group.about}\n"
    yield "| name | use |\n| --- | --- |"
    for name in group.names:
        yield f"| [`{name.rpartition('.')[2]}`](#{name}) | {_summary(name)} |"
    yield ""
    for name in group.names:
        yield from (f"## {name.rpartition('.')[2]}\n", "```{eval-rst}", *_directive(name, _object(name)), "```\n")


def _directive(name: str, value: Any) -> Iterator[str]:
    """Yield the directive of a name: of a class with all members, of a function, or of another value."""
    if inspect.isclass(value):
        yield f".. auto{'exception' if issubclass(value, Exception) else 'class'}:: {name}\n   :members:"
        yield "   :undoc-members:\n   :inherited-members:\n"
    elif inspect.isfunction(value):
        yield f".. autofunction:: {name}\n"
    else:
        yield f".. py:data:: {name}\n\n   {_VALUES[name]}\n"


def _object(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _summary(name: str) -> str:
    """Return the first sentence of a description, as Markdown for a cell."""
    text = _VALUES.get(name) or (inspect.getdoc(_object(name)) or "").partition("\n\n")[0]
    sentence = re.split(r"(?<=[.:]) ", " ".join(text.split()))[0].rstrip(".:")
    return escaped(re.sub(r"(?::\w+:)?`+~?([^`]+)`+", r"`\1`", sentence)) + "." if sentence else ""
