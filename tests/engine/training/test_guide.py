"""The guide of the learners is the text of their own docstrings."""

import importlib.util
import json
from pathlib import Path

import pytest

from crossview.engine.learners.registry import LEARNERS
from crossview.engine.training.guide import FILE, learner_guide, learner_guides
from crossview.engine.values.errors import NotFoundError

OURS = [name for name, learner in LEARNERS.items() if learner.__module__.startswith("crossview.engine.")]
"""The learners of the product; benchmarks add some."""
TOOL = Path(__file__).resolve().parents[3] / "tools" / "learners.py"


def tool():
    specification = importlib.util.spec_from_file_location("learners_tool", TOOL)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_file_says_what_the_learners_say():
    """Otherwise: python tools/learners.py."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(tool().guide()))


@pytest.mark.parametrize("name", OURS)
def test_every_setting_has_a_meaning(name):
    """The meaning is in words, without marks, with values and default; view_slices is for arrays and not for users."""
    told, usual = learner_guide(name), LEARNERS[name]().settings()
    assert {one.name: one.default for one in told.settings} == {
        key: value for key, value in usual.items() if key != "view_slices"
    }
    for text in (told.summary, *told.description, *(one.meaning for one in told.settings)):
        assert len(text) > 5
        assert "`" not in text
    assert all(one.values not in ("", "a value") for one in told.settings)


def test_what_learners_need_and_give_is_said():
    """They state labels, pairs, comparisons and views; codes or vectors, across views or within."""
    assert learner_guide("pls").needs() == "exactly 2 views"
    assert learner_guide("npp-hash").needs() == "at least 2 views, labels or pairs"
    assert learner_guide("fantope").needs() == "any number of views, labels or comparisons"
    assert learner_guide("cca").gives() == "vectors, compared within and across views; views cannot be added later"
    assert learner_guide("musl").gives() == "codes, compared within each view; views can be added later"
    assert learner_guide("musl").settings[1].tuned == (1, 3, 10, "class")
    assert [one.name for one in learner_guides() if one.stage] == sorted(
        name for name, learner in LEARNERS.items() if learner.capabilities.auxiliary
    )


def test_an_unknown_learner_lists_those_that_there_are():
    with pytest.raises(NotFoundError, match=r"no learner 'pac'; there are: attributes, cca, .*standardize"):
        learner_guide("pac")
