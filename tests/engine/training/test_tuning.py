"""Tuning chooses the best in cross-validation, and records everything it tried."""

import numpy as np
import pytest
from rows import each, fill, item

from crossview.engine.learners.registry import learner_class
from crossview.engine.training.tuning import GRIDS, _check_hope
from crossview.engine.training.validation import spread
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.recipe import KERNEL, LEARNER, Pair, Recipe, Tune

BOTH = ("color", "gist")


@pytest.fixture
def groups(home):
    """24 items in three classes, and three without a label."""
    items = [item(group, number) for group, number in each()]
    with fill(home, "groups", [*items, *(item("cat", 90 + number, labels=()) for number in range(3))]) as made:
        yield made


def test_what_does_best_is_chosen_and_everything_tried_is_listed(groups):
    values = {"power": (0.0, 2.0), "shrinkage": (0.1, 0.9, [0.1, 0.2, 0.3])}
    info = groups.train(Recipe(spec="cca", views=BOTH, settings={"n_components": 4}, tune=Tune(values), holdout=0.2))
    tuning = info.tuning
    assert (tuning.measure, tuning.folds, tuning.items, tuning.database) == ("map", 3, info.trained_items, "unseen")
    assert len(tuning.tried) == 1 + 2 + 1 + 2  # the usual kernels but the first, and the other values
    scores = [trial.score for trial in tuning.tried if trial.score is not None]
    assert tuning.score == max(scores)
    (refused,) = [trial for trial in tuning.tried if trial.score is None]
    assert refused.settings["shrinkage"] == [0.1, 0.2, 0.3]
    assert "has 3 numbers: give one, or one for each view" in refused.error
    assert set(tuning.chosen) == {KERNEL, "power", "shrinkage"}
    assert {name: info.settings[name] for name in ("power", "shrinkage")} == {
        name: tuning.chosen[name] for name in ("power", "shrinkage")
    }
    assert info.settings["n_components"] == 4
    assert groups.spaces()[0] == info  # it is stored


def test_the_chosen_settings_are_those_that_a_training_with_them_has(groups):
    tuned = groups.train(
        Recipe(spec="cca", views=BOTH, dim=2, tune=Tune({KERNEL: ("rbf",), "power": (0.0, 1.0)})), space="tuned"
    )
    assert (tuned.name, tuned.spec) == ("tuned", "kernel:rbf,cca")
    groups.train(Recipe(spec=tuned.spec, views=BOTH, settings=tuned.settings), space="given")
    assert groups.spaces.get("given").tuning is None
    measured = [
        groups.evaluate(EvaluationRequest(view="color", spaces=(name,), refit=True, k=(3,))).rows
        for name in ("tuned", "given")
    ]
    assert [row.value for row in measured[0]] == [row.value for row in measured[1]]
    again = groups.train(
        Recipe(spec="cca", views=BOTH, dim=2, tune=Tune({KERNEL: ("rbf",), "power": (0.0, 1.0)})), space="tuned"
    )
    assert again.tuning == tuned.tuning  # the folds are drawn by the seed


def test_the_kernel_itself_is_tuned_too(groups):
    """Its settings belong only to candidates with a kernel."""
    values = {KERNEL: ("rbf", "none"), "kernel__bandwidth": (0.5, 2.0)}
    fixed = {"n_components": 2, "shrinkage": 0.5, "power": 1.0}
    info = groups.train(Recipe(spec="cca", views=BOTH, settings=fixed, tune=Tune(values)))
    assert all(trial.score is not None for trial in info.tuning.tried)
    assert ("kernel__bandwidth" in info.settings) == (info.spec == "kernel:rbf,cca")


def test_a_space_that_keeps_views_apart_is_tuned_within_them(groups):
    tuning = groups.train(
        Recipe(spec="pca", views=BOTH, tune=Tune({"n_components": (1, 2, 5)}, measure="accuracy", folds=2))
    ).tuning
    assert (tuning.measure, tuning.folds, tuning.score) == ("accuracy", 2, 1.0)


def test_progress_counts_candidates_and_then_steps(groups):
    seen = []
    tune = Tune({KERNEL: ("none", "chi2"), "power": (0.0, 1.0, 2.0), "shrinkage": (0.5,)})
    info = groups.train(Recipe(spec="cca", views=BOTH, dim=2, tune=tune), progress=lambda *counts: seen.append(counts))
    assert [one[:3] for one in seen if one[0] == "tuning"] == [("tuning", number, 4) for number in range(5)]
    assert [one[3] for one in seen if one[0] == "tuning" and len(one) > 3] == [
        trial.sentence("map") for trial in info.tuning.tried
    ]
    groups.train(
        Recipe(spec="multi-npp", views=BOTH, dim=2, settings={"max_iter": 1}),
        progress=lambda *counts: seen.append(counts),
    )
    learning, *_, placing = seen[-3:]
    assert (learning[0], learning[1]) == ("learning", learning[2])
    assert placing == (f"placing {BOTH[-1]}", placing[2], placing[2])


def test_what_is_stopped_leaves_nothing(groups, home):
    def stop(what: str, done: int, total: int, note: str = "") -> None:
        if done == 1:
            raise KeyboardInterrupt

    before = groups.info()
    with pytest.raises(KeyboardInterrupt):
        groups.train(Recipe(spec="cca", views=BOTH, dim=2, tune=Tune()), progress=stop)
    assert groups.info() == before
    assert not list((home.path / "groups").glob("indexes/*"))
    groups.train(Recipe(spec="cca", views=BOTH, dim=2))  # and the collection can be written


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tune": Tune({"speed": (1, 2)})}, InvalidInputError, "no parameter speed"),
        ({"tune": Tune({"power": ()})}, InvalidInputError, "no values of power"),
        ({"tune": Tune({"power": (1, 2)}), "settings": {"power": 3}}, InvalidInputError, "the recipe sets power"),
        (
            {"tune": Tune({"shrinkage": ([0.1], [0.1, 0.2, 0.3])})},
            InvalidInputError,
            "none of the settings can be used.*has 1 numbers: give one, or one for each view",
        ),
        (
            {"tune": Tune({"shrinkage": (0.1, 7)})},
            InvalidInputError,
            "shrinkage must be 'auto', a number from 0 to 1 or a list, each a number from 0 to 1, not 7",
        ),
        ({"tune": Tune(measure="luck")}, InvalidInputError, "map, accuracy"),
        ({"tune": Tune(folds=1)}, InvalidInputError, "at least 2 folds"),
        ({"tune": Tune(folds=25)}, NotReadyError, "24 labelled items are too few for 25 folds"),
    ],
)
def test_a_tuning_that_cannot_be_says_why(groups, options, error, words):
    with pytest.raises(error, match=words):
        groups.train(Recipe(spec="cca", views=BOTH, **options))
    assert [space.name for space in groups.spaces()] == ["raw"]


def test_a_learner_with_nothing_open_says_so(groups):
    with pytest.raises(InvalidInputError, match="nothing to tune of standardize"):
        groups.train(Recipe(spec="standardize", views=BOTH, tune=Tune()))
    with pytest.raises(InvalidInputError, match="the recipe sets kernel"):
        groups.train(Recipe(spec="kernel:rbf,cca", views=BOTH, tune=Tune({KERNEL: ("chi2", "rbf")})))


def test_without_labels_an_items_own_views_tell_what_is_best(home):
    """This is the default with two views; items are found among unseen ones."""
    items = [item(group, number, labels=()) for group, number in each()]
    with fill(home, "bare", items) as bare:
        tuned = bare.train(Recipe(spec="cca", views=BOTH, dim=2, tune=Tune({"power": (0.0, 1.0)})))
        assert tuned.tuning is not None
        assert tuned.tuning.measure == "items"
        assert 0 < tuned.tuning.score <= 1
        with pytest.raises(NotReadyError, match=r"IndexOptions\(labels='folder'\)"):
            bare.train(Recipe(spec="cca", views=BOTH, tune=Tune(measure="map")))
        with pytest.raises(InvalidInputError, match="name at least two views"):
            bare.train(Recipe(spec="pca", views=("color",), tune=Tune(measure="items")))


def test_what_is_far_behind_after_a_fold_is_given_up():
    """It must be behind in every direction, and by more than chance; a candidate that leads in one goes on."""
    random = np.random.default_rng(0)
    first = {crossing: random.uniform(0.4, 0.6, 200) for crossing in ((0, 1), (1, 0))}
    near = {crossing: values - random.normal(0.001, 0.1, 200) for crossing, values in first.items()}
    apart = {(0, 1): first[0, 1] - 0.3, (1, 0): first[1, 0] + 0.01}
    for goes_on in (first, near, apart):
        _check_hope(goes_on, first, "1 of 3 folds")
    behind = {crossing: values - random.normal(0.1, 0.1, 200) for crossing, values in first.items()}
    with pytest.raises(InvalidInputError, match=r"stopped after 1 of 3 folds: 0\.\d+ behind the first candidate"):
        _check_hope(behind, first, "1 of 3 folds")


def test_a_candidate_that_is_given_up_is_listed_with_the_reason(home):
    """It is listed like an unusable one."""
    items = [item(group, number) for group, number in each(60)]
    with fill(home, "many", items) as many:
        noise = ("standardize,pca:1,semantic,dot",)
        recipe = Recipe(views=BOTH, tune=Tune({LEARNER: ("posteriors,dot", *noise)}))
        tuning = many.train(recipe).tuning
    assert tuning.tried[0].score is not None
    assert "stopped after 1 of 3 folds" in tuning.tried[1].error


def test_classes_of_two_are_tuned_among_what_was_learned_from(home):
    """No fold of three has two items of such a class, and the result says which items were the database."""
    rows = [item("cat", number, labels=(f"class {number // 2}",)) for number in range(16)]
    with fill(home, "small", rows) as made:
        tuning = made.train(Recipe(spec="cca", views=BOTH, tune=Tune({"power": (0.0, 1.0)}))).tuning
    assert tuning.database == "trained"


def test_classes_smaller_than_the_folds_are_spread_over_them(groups):
    """Two items of one class never fall into the same fold, so one can always find the other."""

    class Known:
        labels = (("rare",), ("rare",), *[("common",)] * 7, ())
        groups = None

        def __len__(self) -> int:
            return 10

    for seed in range(20):
        folds = spread(Known(), 3, seed)
        assert folds[0] != folds[1]
        assert sorted(np.bincount(folds)) == [3, 3, 4]


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_grids_name_what_their_learners_have(name):
    assert set(GRIDS[name]) - {KERNEL} <= set(learner_class(name)().settings())


def test_pairs_can_be_tuned_by(home):
    """If pairs give the similarity, a query's relevant items are those that it is paired with."""
    items = [item(group, number, labels=()) for group, number in each()]
    pairs = [Pair(f"{group}/{n:02}", f"{group}/{m:02}") for group, m in each() for n in range(m)]
    with fill(home, "paired", items) as paired:
        grid = {KERNEL: ("none",), "eta": (1e-6, 1e-2), "max_iter": (0, 1), "gamma": (1e-6,)}
        tuning = paired.train(Recipe(spec="multi-npp", views=BOTH, dim=3, pairs=pairs, tune=Tune(grid))).tuning
        assert len(tuning.tried) == 3
        assert tuning.score > 0.8
        with pytest.raises(InvalidInputError, match="tune by map"):
            paired.train(Recipe(spec="multi-npp", views=BOTH, dim=3, pairs=pairs, tune=Tune(grid, measure="accuracy")))
