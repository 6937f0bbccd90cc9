"""States and settings from before a name was changed are understood."""

import numpy as np
import pytest

from crossview.engine.learners.frame import stage
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.registry import LEARNERS, from_state, parse_chain

RENAMED = [
    *((present, "learner", (earlier, present)) for earlier, present in stage.LEARNERS.items()),
    *((name, "params", one) for name, names in stage.PARAMETERS.items() for one in names.items()),
    *((name, "fitted", one) for name, names in stage.ATTRIBUTES.items() for one in names.items()),
]


def examples():
    generator, labels = np.random.default_rng(0), np.arange(24) % 3
    return [generator.random((24, 5)) + np.eye(3, 5)[labels] for _ in range(3)], labels


@pytest.mark.parametrize(("name", "part", "names"), RENAMED)
def test_a_state_of_earlier_names_loads_extends_and_refits(name, part, names):
    """It embeds as it did; a view is added if the learner allows; and the learner is fitted again."""
    views, labels = examples()
    chain = Chain([LEARNERS[name]()]).fit(views[:2], labels)
    state, (earlier, present) = chain.to_state(), names
    step = state["steps"]["0"]
    if part == "learner":
        step["learner"] = earlier
    else:
        step[part][earlier] = step[part].pop(present)
    again = from_state(state)
    for view in (0, 1):
        np.testing.assert_array_equal(again.transform(views[view], view=view), chain.transform(views[view], view=view))
    if again.capabilities.adds_views:
        assert len(again.add_view(views, labels).view_widths_) == 3
    again.fit(views[:2], labels)


def test_settings_by_an_earlier_name_set_the_present_parameter(monkeypatch):
    """It does so in ``--set rank=2``, alone or after the name of a learner; a learner's own earlier name works, too."""
    monkeypatch.setattr(stage, "PARAMETERS", {"pca": {"rank": "n_components"}})
    monkeypatch.setattr(stage, "LEARNERS", {"principal": "pca"})
    assert parse_chain("pca", {"rank": 2}).steps[0].n_components == 2
    assert parse_chain("principal,cca", {"principal__rank": 3}).steps[0].n_components == 3
    assert parse_chain("principal:4").steps[0].n_components == 4
