"""Settings that a constructor takes together, and users set one by one."""

from dataclasses import fields
from inspect import signature

import pytest
from sklearn.base import clone

from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.papers.npp.multi_npp import Hybrid, Optimization
from crossview.engine.learners.papers.solvers.descent import Descent
from crossview.engine.learners.registry import LEARNERS, from_state, parse_chain


def test_a_setting_of_a_group_goes_by_its_own_name():
    """It is used in set_params, in a spec's settings and in a stored state."""
    learner = Hybrid(optimization=Optimization(max_iter=7, tol=0.5))
    again = from_state(learner.to_state())
    assert learner.to_state()["params"]["max_iter"] == 7
    for same in (again, clone(learner), Hybrid().set_params(max_iter=7, tol=0.5)):
        assert same.settings() == learner.settings()
    assert parse_chain("hybrid", {"max_iter": 7, "tol": 0.5}).steps[0].settings() == learner.settings()


def test_a_constructor_takes_settings_of_groups_by_their_own_names():
    """The other iterative learners have these names; a clone, the signature and messages know them, too."""
    learner = Fantope(4, max_iter=50, n_constraints=7)
    assert learner.descent == Descent(max_iter=50, smoothing=1.0)
    assert (
        clone(learner).settings()
        == learner.settings()
        == Fantope().settings()
        | {
            "n_components": 4,
            "max_iter": 50,
            "n_constraints": 7,
        }
    )
    assert Fantope(descent=Descent(tol=0.5), max_iter=50).descent == Descent(tol=0.5, max_iter=50)
    with pytest.raises(TypeError, match="unexpected keyword argument 'steps'"):
        Fantope(steps=50)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_signature_shows_every_setting(name):
    """Those of groups have the learner's own usual values; every iterative learner names its limit max_iter."""
    shown, learner = signature(LEARNERS[name]).parameters, LEARNERS[name]()
    assert set(shown) == set(learner.settings()) | set(learner.groups)
    assert {one: shown[one].default for one in learner.settings()} == learner.settings()
    assert not {"n_iter", "n_steps", "max_steps", "iterations", "epochs"} & set(shown)
    assert LEARNERS[name](**learner.settings()).get_params() == learner.get_params()


def test_a_learner_has_its_own_usual_values():
    """Setting one value of a group leaves the others as they were, the learner's own included."""
    assert Hybrid().settings()["nearest"] == 20
    assert Hybrid().set_params(n_neighbors=3).settings()["nearest"] == 20
    assert Fantope().set_params(max_iter=7).set_params(tol=0.1).descent == Descent(max_iter=7, tol=0.1, smoothing=1.0)
    assert Fantope().set_params(max_iter=7).set_params(max_iter=500).get_params() == Fantope().get_params()


@pytest.mark.parametrize("name", LEARNERS)
def test_no_setting_has_the_name_of_another(name):
    """Names of settings are unique within a learner, across its groups."""
    learner = LEARNERS[name]()
    names = [name for name in learner.get_params(deep=False) if name not in learner.groups]
    names += [one.name for usual in learner.groups.values() for one in fields(usual)]
    assert len(names) == len(set(names)) == len(learner.settings())


def test_a_value_of_another_kind_is_refused():
    """A group of another type, and a setting that does not exist, are ValueErrors that name it."""
    with pytest.raises(ValueError, match="optimization must be None or a value of Optimization, not 3"):
        Hybrid(optimization=3).settings()
    with pytest.raises(ValueError, match="max_itr"):
        Hybrid().set_params(max_itr=3)
