"""Writes engine/training/learners.json, which ``crossview learners`` prints, from the learners' docstrings.

Importing the learners takes seconds, too long for a command that only prints. A test compares the file with them.
"""

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from crossview.engine.learners.frame.base import MultiViewLearner  # noqa: E402
from crossview.engine.learners.frame.settings import setting_types, words  # noqa: E402
from crossview.engine.learners.registry import LEARNERS  # noqa: E402
from crossview.engine.training.guide import FILE  # noqa: E402
from crossview.engine.training.tuning import GRIDS  # noqa: E402
from crossview.engine.values.recipe import KERNEL  # noqa: E402

HIDDEN = ("view_slices",)
"""Parameters of rows in one array; collections have views."""
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns):$", re.M)
_SETTING = re.compile(r"^    (\w+): (.*(?:\n      .*)*)", re.M)
_REFERENCE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def guide() -> list[dict[str, Any]]:
    """Return the description of every learner, by the fields of ``engine.training.guide.LearnerGuide``."""
    # Benchmarks register some, too.
    return [_described(learner) for learner in LEARNERS.values() if learner.__module__.startswith("crossview.engine.")]


def meanings(learner: type[MultiViewLearner]) -> dict[str, str]:
    """Return what a class's settings mean, from its docstring and those of the classes that it inherits from."""
    texts: dict[str, str] = {}
    for base in reversed(learner.__mro__):
        texts |= _described_in(base, "Args")
    for group in learner.groups.values():
        for base in reversed(type(group).__mro__):
            texts |= _described_in(base, "Attributes")
    return texts


def _described_in(kind: type, heading: str) -> dict[str, str]:
    """Return the entries of a section of a class's docstring, by name."""
    _, _, rest = inspect.cleandoc(kind.__doc__ or "").partition(f"\n{heading}:\n")
    return {name: _plain(text) for name, text in _SETTING.findall(_SECTION.split(rest)[0])}


def _described(learner: type[MultiViewLearner]) -> dict[str, Any]:
    usual, can, grid = learner(), learner.capabilities, GRIDS.get(learner.name, {})
    summary, _, rest = _SECTION.split(inspect.cleandoc(learner.__doc__ or ""))[0].partition("\n\n")
    texts = meanings(learner)
    return {
        "name": learner.name,
        "summary": _plain(summary),
        "description": [_plain(paragraph) for paragraph in rest.split("\n\n") if paragraph.strip()],
        "stage": can.auxiliary,
        "cross_view": can.cross_view,
        "codes": can.binary,
        "labels": usual.needs_labels,
        "pairs": can.takes_neighbors,
        "comparisons": can.takes_comparisons,
        "adds_views": can.adds_views,
        "least_views": can.least_views,
        "most_views": can.most_views,
        "argument": can.main_parameter,
        "kernels": list(grid.get(KERNEL, ())),
        "settings": [
            {
                "name": name,
                "meaning": texts.get(name, ""),
                "values": words(kind),
                "default": usual.settings()[name],
                "tuned": list(grid.get(name, ())),
            }
            for name, kind in setting_types(learner).items()
            if name not in HIDDEN
        ],
    }


def _plain(text: str) -> str:
    """Return a text on one line, without reStructuredText's marks."""
    return " ".join(_REFERENCE.sub(r"\1", text).replace("``", "").split())


if __name__ == "__main__":
    FILE.write_text(json.dumps(guide(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
