"""Every registered learner keeps scikit-learn's rules and survives being stored."""

import sys

import numpy as np
import pytest
from brief import BRIEF, brief
from packages import install
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from terminal import done

from crossview.engine.catalog.state import pack, unpack
from crossview.engine.learners.frame.checks import check_learner
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.hashing.hasher import Sign
from crossview.engine.learners.registry import LEARNERS, from_state, learner_class, parse_chain
from crossview.engine.training.guide import packages_of_learners


def two_views(n=40, widths=(5, 7), seed=0):
    generator = np.random.default_rng(seed)
    labels = np.repeat(["ant", "bee", "cat", "dog"], n // 4)
    centers = {view: generator.normal(size=(4, width)) for view, width in enumerate(widths)}
    views = [
        np.repeat(centers[view], n // 4, axis=0) + 0.3 * generator.normal(size=(n, width))
        for view, width in enumerate(widths)
    ]
    return views, labels


@parametrize_with_checks([brief(name) for name in LEARNERS if name not in BRIEF])
def test_scikit_learn_checks(estimator, check):
    """A learner is a well-behaved scikit-learn transformer on one 2-D array."""
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([brief(name) for name in BRIEF])
def test_scikit_learn_checks_of_learners_with_many_steps(estimator, check):
    """The papers describe learners of many steps among others; few steps are enough here."""
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([LEARNERS[name]() for name in BRIEF])
def test_scikit_learn_checks_of_whole_fits(estimator, check):
    """The learner takes all the steps of its defaults."""
    check(estimator)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_registered_learner_keeps_the_contract(name):
    """It has its registered name, and is sound by the check that authors of packages use."""
    learner = LEARNERS[name]
    assert learner.name == name
    assert isinstance(learner.capabilities.cross_view, bool)
    assert isinstance(learner().needs_labels, bool)
    check_learner(brief(name), scikit_learn=False)


class Narrow(Sign):
    """A hasher that needs rows of 40 columns."""

    least_columns = property(lambda self: 40)


def test_a_chain_gives_the_last_stage_as_many_columns_as_it_needs(monkeypatch):
    """This holds for any last learner; a value that the user sets stays."""
    monkeypatch.setitem(LEARNERS, "narrow", Narrow)
    wide, own, plain = (parse_chain(spec).steps[0] for spec in ("fantope,narrow", "fantope:3,narrow", "fantope,sign"))
    assert [step.n_components for step in (wide, own, plain)] == [40, 3, 32]
    assert parse_chain("fantope,itq:48").steps[0].n_components == 48


@pytest.mark.parametrize("name", [name for name, learner in LEARNERS.items() if learner.capabilities.takes_comparisons])
def test_those_that_take_constraints_learn_from_them(name):
    """They learn from pairs, triplets and quadruplets in every view; a view added later learns the same."""
    views, _ = two_views()
    one = np.arange(40)  # ten of each class, class by class
    another, other = one // 10 * 10 + (one + 1) % 10, (one + 10) % 40
    pairs = np.concatenate([np.column_stack([one, another]), np.column_stack([one, other])])
    triplets = np.column_stack([one, another, other])
    for said in (Comparisons(pairs, np.arange(80) < 40), Comparisons(triplets), Comparisons(triplets[:, [0, 1, 0, 2]])):
        learner = brief(name).fit(views, Supervision(comparisons=said))
        later = brief(name).fit(views[:1], Supervision(comparisons=said)).add_view(views, Supervision(comparisons=said))
        for view in (0, 1):
            found = learner.transform(views[view], view=view)
            assert np.isfinite(found).all()
            np.testing.assert_array_equal(later.transform(views[view], view=view), found)


@pytest.mark.parametrize("name", LEARNERS)
def test_state_round_trip(name):
    """A fitted learner comes back from its stored state bit for bit."""
    views, labels = two_views()
    learner = brief(name).fit(views, labels)
    again = from_state(unpack(pack(learner.to_state())))
    assert type(again) is type(learner)
    assert again.get_params() == learner.get_params()
    for view in (0, 1):
        np.testing.assert_array_equal(
            again.transform(views[view], view=view), learner.transform(views[view], view=view)
        )
    assert clone(again).get_params() == learner.get_params()


def test_state_of_another_learner_is_refused():
    """A state is never read by a learner that did not write it."""
    views, labels = two_views()
    state = LEARNERS["pca"]().fit(views, labels).to_state()
    with pytest.raises(ValueError, match="state of 'pca', not of 'cca'"):
        LEARNERS["cca"].from_state(state)


def test_unknown_learner_lists_the_known():
    """An unknown name is answered with the existing names."""
    with pytest.raises(ValueError, match=r"no learner 'pac'.*cca.*pca"):
        learner_class("pac")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """An installed package with a learner, and entry points that lead to none."""
    points = {"twice": "more_learners:Twice", "gone": "more_learners.gone:Gone", "plain": "more_learners:plain"}
    points |= {"other": "more_learners:Twice", "pca": "more_learners:Twice"}
    code = """
from crossview.learners import PCA

plain = 3

class Twice(PCA):
    name = "twice"

    def _project(self, rows, view):
        return 2 * super()._project(rows, view)
"""
    install(tmp_path, "more-learners", "crossview.learners", points, code)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("more_learners", None)


def test_learners_of_other_packages_are_found(packages):
    """Specs and stored states name them; a name of this package stays its own."""
    views, labels = two_views()
    chain = parse_chain("twice:2,l2").fit(views, labels)
    again = from_state(unpack(pack(chain.to_state())))
    np.testing.assert_array_equal(again.transform(views)[0], chain.transform(views)[0])
    np.testing.assert_allclose(chain.steps[0].transform(views)[0], 2 * LEARNERS["pca"](2).fit_transform(views)[0])
    assert learner_class("pca") is LEARNERS["pca"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", r"'gone' of the package more-learners 1.2 cannot be loaded from more_learners.gone:Gone: No module"),
        ("plain", "'plain' of the package more-learners 1.2 must be a subclass of MultiViewLearner, .* is 3"),
        ("other", "'other' of the package more-learners 1.2 has the name 'twice'"),
        ("absent", "no learner 'absent'; there are: .*gone.*twice"),
    ],
)
def test_a_learner_of_another_package_that_fails_is_an_error_once_it_is_named(packages, name, message):
    """The message names the package; the list of learners loads none."""
    assert set(packages_of_learners()) == {"gone", "other", "plain", "twice"}
    with pytest.raises(ValueError, match=message):
        learner_class(name)
    assert "gone: a learner of the package more-learners 1.2" in done("learners")


def test_wrong_input_is_named():
    """Wrong widths, unknown views and wrong numbers of views are ValueErrors that say so."""
    views, labels = two_views()
    learner = LEARNERS["cca"]().fit(views)
    with pytest.raises(ValueError, match="view 0 of cca is expecting 5"):
        learner.transform(views[1], view=0)
    with pytest.raises(ValueError, match="view=2 is unknown"):
        learner.transform(views[1], view=2)
    with pytest.raises(ValueError, match="1 views given, 2 fitted"):
        learner.transform([views[0]])
    with pytest.raises(ValueError, match="pls learns from exactly 2 views; you named 3"):
        LEARNERS["pls"]().fit([*views, views[0]], labels)
    with pytest.raises(ValueError, match="multi-npp learns from at least 2 views; you named 1"):
        LEARNERS["multi-npp"]().fit([views[0]], labels)
    with pytest.raises(ValueError, match="add up to the 12 columns"):
        LEARNERS["pca"](view_slices=[5, 6]).fit(np.hstack(views))
