"""The sample that a training learns from, and the cost of a training, estimated before it reads a row."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from rows import each, fill, item, row

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.cost import FitSize
from crossview.engine.learners.registry import LEARNERS, parse_chain
from crossview.engine.runtime import memory
from crossview.engine.training import trainer
from crossview.engine.training.examples import Examples
from crossview.engine.training.training_sample import sampled
from crossview.engine.values.errors import InvalidInputError, NotEnoughMemoryError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.recipe import Grouping, Recipe

BOTH = ("color", "gist")


def examples(*counts: int, unlabelled: int = 0, alone: int = 0) -> Examples:
    """Return examples of labels "0", "1" and so on, then unlabelled ones; the last ``alone`` have only one view."""
    labels = tuple((str(label),) for label, count in enumerate(counts) for _ in range(count)) + ((),) * unlabelled
    mask = np.ones((len(labels), 2), bool)
    mask[len(labels) - alone :, 1] = False
    return Examples(
        ids=np.arange(len(labels)),
        keys=tuple(map(str, range(len(labels)))),
        rows={view: np.zeros((len(labels), 1), np.float32) for view in ("one", "two")},
        mask=mask,
        labels=labels,
    )


LABELS = st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=4), min_size=110, max_size=160)


def labelled(labels: list[set[str]], groups: np.ndarray | None = None) -> Examples:
    """Return examples of one view with sets of labels, perhaps in groups."""
    count = len(labels)
    return Examples(
        ids=np.arange(count),
        keys=tuple(map(str, range(count))),
        rows={"one": np.zeros((count, 1), np.float32)},
        mask=np.ones((count, 1), bool),
        labels=tuple(tuple(sorted(one)) for one in labels),
        groups=groups,
    )


def chain(spec: str = "posteriors", most: int = 100):
    return parse_chain(spec, {"max_items": most})


def counts(sample: Examples) -> dict[str, int]:
    """Return the number of examples of each label; "" for unlabelled ones."""
    return Counter("".join(labels) for labels in sample.labels)


def test_up_to_the_bound_the_examples_are_all_learned_from():
    """The sample is the same object, so that nothing can differ; linear learners have a higher bound."""
    found = examples(60, 40)
    assert sampled(chain(most=100), found, 0) is found
    assert sampled(parse_chain("sqrt,cca"), examples(9_000, 9_000), 0).ids.size == 18_000


def test_every_label_keeps_its_share_and_at_least_five_items():
    """Rare labels give all or five of their items; the draw depends only on the seed."""
    found = examples(6_000, 3_900, 80, 20, 3)
    sample = sampled(chain(most=1_000), found, 0)
    got = counts(sample)
    assert len(sample) == 1_000
    assert abs(got["0"] - 600) < 20
    assert abs(got["1"] - 390) < 20
    assert (got["2"] >= 8, got["3"] >= 5, got["4"]) == (True, True, 3)
    assert np.array_equal(sample.ids, sampled(chain(most=1_000), found, 0).ids)
    assert not np.array_equal(sample.ids, sampled(chain(most=1_000), found, 1).ids)


@given(LABELS, st.integers(0, 9))
def test_no_label_of_several_is_lost(labels, seed):
    """Each gives at least five items, or all, also if each of its items has a rarer one too."""
    found = labelled(labels)
    sample = sampled(chain(most=100), found, seed)
    assert len(sample) == 100
    had, has = (Counter(label for one in some.labels for label in one) for some in (found, sample))
    assert all(has[label] >= min(5, count) for label, count in had.items())


@given(LABELS, st.integers(1, 30), st.integers(0, 9))
def test_groups_are_drawn_whole(labels, most, seed):
    """No group is parted, the bound holds, and no further group would fit."""
    groups = np.random.default_rng(seed).integers(0, len(labels) // most + 1, len(labels))
    found = labelled(labels, groups)
    sizes = np.bincount(groups)
    if sizes[sizes > 0].min() > 100:
        with pytest.raises(InvalidInputError, match=r"every group has more than 100 items.* raise `sample`"):
            sampled(chain(most=100), found, seed)
        return
    sample = sampled(chain(most=100), found, seed)
    inside = np.isin(np.arange(len(labels)), sample.ids)
    assert not set(groups[inside]) & set(groups[~inside])
    assert 0 < len(sample) <= 100
    np.testing.assert_array_equal(sample.ids, sampled(chain(most=100), found, seed).ids)


def test_a_named_item_brings_its_group():
    """The whole group comes, even if the sample is then larger than the bound."""
    found = labelled([{"a"}] * 400, np.arange(400) // 4)
    compared = replace(found, constraints=Comparisons(np.array([[1, 398]]), np.ones(1, bool)))
    sample = sampled(chain(most=100), compared, 0)
    assert len(sample) == 100
    assert {0, 1, 2, 3, 396, 397, 398, 399} <= set(sample.ids.tolist())


def test_items_of_each_set_of_views_are_drawn():
    """A view that few items have would otherwise be learned from almost nothing."""
    sample = sampled(chain(most=100), examples(500, 500, alone=10), 0)
    assert (~sample.mask[:, 1]).sum() >= 5


@pytest.mark.parametrize(
    ("spec", "labelled", "expected"),
    [("posteriors", 500, 100), ("co-em", 500, 50), ("co-em", 30, 30), ("co-em", 9_000, 90)],
)
def test_unlabelled_items_are_drawn_for_learners_that_learn_from_them(spec, labelled, expected):
    """They are half of the sample at most, unless they are more of the collection or labelled items are too few."""
    got = counts(sampled(chain(spec), examples(labelled, unlabelled=1_000), 0))
    assert (got["0"], sum(got.values())) == (expected, 100)


def test_named_items_are_always_drawn():
    """They are all items of pairs and of comparisons, even if they are more than the bound."""
    found = examples(1_000, 1_000)
    pairs = np.arange(120).reshape(-1, 2)
    similar = sp.csr_array((np.ones(60), pairs.T), (2_000, 2_000))
    paired = replace(found, similar=sp.csr_array(similar + similar.T + sp.eye_array(2_000)))
    compared = replace(found, constraints=Comparisons(pairs, np.ones(60, bool)))
    for one in (paired, compared):
        assert set(range(120)) <= set(sampled(chain(most=200), one, 0).ids.tolist())
    sample = sampled(chain(most=100), paired, 0)
    assert (len(sample), sample.similar.nnz) == (120, 240)


def test_the_bound_is_a_setting_of_every_pipeline():
    """Learners with a setting of this name get it too."""
    for name in LEARNERS:
        assert chain(name, 200).most_items == 200
    assert chain("kernel,co-em", 20_000).steps[1].max_items == 20_000
    assert parse_chain("sqrt,kernel,cca").most_items == 10_000
    assert parse_chain("pca").most_items == 100_000
    assert parse_chain("sqrt").most_items is None
    with pytest.raises(ValueError, match="max_items must be a whole number from 100 to"):
        chain(most=5)


# -- trainings


@pytest.fixture
def some(home):
    with fill(home, "some", [item(group, number) for group, number in each(50)]) as one:
        yield one


BOUNDED = Recipe(spec="posteriors,dot", views=BOTH, settings={"max_items": 100, "row_kernel": "linear"})


def test_the_other_items_are_placed_and_count_as_unseen(some):
    """Only the sample are training items, and a view that is added later learns from a sample too."""
    made = some.train(BOUNDED)
    assert (made.trained_items, made.cost.items, made.cost.sample) == (100, 150, 100)
    assert some.spaces.get(made.name).cost == made.cost
    (found,) = some.search(view="color", vector=row("color", "cat", 0), targets=["gist"], k=200)
    assert len(found.hits) == 150
    one = some.train(replace(BOUNDED, views=("color",)), space="one")
    assert one.trained_items == 100
    assert some.spaces.extend("one", ["gist"]).trained_items == 100  # the same items
    (found,) = some.search(view="color", vector=row("color", "cat", 0), targets=["gist"], k=200, space="one")
    assert len(found.hits) == 150


def test_a_recipe_names_the_sample(some):
    """It is drawn from the items that are not held out; the others are queries, and a refit draws as many."""
    recipe = replace(BOUNDED, settings={"row_kernel": "linear"}, sample=100, holdout=0.2)
    made = some.train(recipe)
    assert (made.trained_items, made.held_out, made.cost.items, made.cost.sample) == (100, 30, 120, 100)
    assert (made.settings["max_items"], made.spec) == (100, "posteriors,dot")
    found = some.evaluate(EvaluationRequest(view="color", k=(1,), max_queries=20))
    assert (found.queries, found.databases) == (20, {"trained": 100, "unseen": 50})
    assert "20 of 50 held-out items, drawn at random, are the query set" in found.protocol
    assert all(row.standard_error is not None for row in found.rows if row.metric in ("accuracy", "precision", "map"))
    for sample, settings, message in (
        (99, {}, "sample must be a whole number from 100 to 1,000,000,000, not 99"),
        (100, {"max_items": 100}, "sample 100 and the setting max_items are the same: leave out one"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            some.train(replace(recipe, sample=sample, settings=settings))


def test_the_sample_of_a_training_has_whole_groups(home):
    """No item outside it therefore has a relative inside."""
    with fill(home, "said", [item(group, number) for group, number in each(50)]) as said:
        said.items.update([ItemUpdate(f"{group}/{n:02}", attributes={"by": str(n // 4)}) for group, n in each(50)])
        made = said.train(replace(BOUNDED, group_by=Grouping("by")))
        assert made.trained_items <= 100
        with said._opened.read() as tx:
            trained = said._opened.loaded.get(tx, made.name).training_keys
        by = {key.key: key.attributes["by"] for key in said.items(limit=200)}
        inside = {by[key] for key in trained}
        assert inside.isdisjoint({group for key, group in by.items() if key not in trained})


def test_a_view_is_added_after_further_items(home):
    """The learner left out only the items of its training; the further ones are embedded like new ones."""
    with fill(home, "more", [item(group, number) for group, number in each(8)]) as more:
        more.train(replace(BOUNDED, views=("color",), settings={"row_kernel": "linear"}), space="one")
        more.items.put([item(group, number) for group, number in each(12)])
        assert more.spaces.extend("one", ["gist"]).trained_items == 36


def test_what_does_not_fit_into_memory_is_refused_before_it_is_read(some, monkeypatch):
    """The message has the number of items that fits, which the same training then takes."""
    whole = replace(BOUNDED, settings={"row_kernel": "linear"})
    needed = some.train(whole).cost.memory
    monkeypatch.setattr(trainer, "available_memory", lambda: needed - 1)
    monkeypatch.setattr("crossview.engine.training.trainer.listed", None)
    with pytest.raises(NotEnoughMemoryError, match=r"learn from fewer, with `sample=100`"):
        some.train(whole)
    monkeypatch.undo()
    monkeypatch.setattr(trainer, "available_memory", lambda: needed - 1)
    assert some.train(BOUNDED).trained_items == 100
    monkeypatch.setattr(trainer, "available_memory", lambda: 1_000)
    with pytest.raises(NotEnoughMemoryError, match="name fewer views, choose another learner, or free memory"):
        some.train(whole)


@pytest.mark.parametrize("spec", LEARNERS)
def test_the_cost_grows_with_the_items(spec):
    """It does for every learner, in memory and in arithmetic."""
    pipeline = parse_chain(spec)
    few, many = (pipeline.fit_cost(FitSize(count, (64, 512), 10)) for count in (1_000, 9_000))
    assert 0 < few.bytes < many.bytes
    assert 0 < few.operations < many.operations


def test_the_available_memory_is_the_least_bound(tmp_path, monkeypatch):
    """Bounds are those of the machine and of the control groups, whose unused pages of files the kernel can drop."""
    whole = memory.available_memory()
    assert whole is not None
    assert whole > 1 << 20
    group = tmp_path / "service"
    group.mkdir()
    (group / "memory.max").write_text("5000000\n")
    (group / "memory.current").write_text("3000000\n")
    (group / "memory.stat").write_text("anon 5\ninactive_file 1000000\n")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1\n")
    files = [(group, memory._VERSION_2), (tmp_path, memory._VERSION_2)]
    monkeypatch.setattr(memory, "_control_groups", lambda: iter(files))
    assert memory.available_memory() == 3_000_000
