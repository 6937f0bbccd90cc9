"""Instance embeddings: rows of one item are near each other in all views, also of items that were not learned from."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.subspace.instances import Instances, contrastive_loss
from crossview.engine.learners.subspace.kernel_features import unit_length

ITEMS, LEARNED = 240, 160


def drawn(views: int = 2, noise: float = 0.3, seed: int = 0):
    """Return rows of views that show the same four hidden numbers of each item, and others of their own."""
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(ITEMS, 4))
    return [
        np.hstack([hidden, random.normal(size=(ITEMS, 4))]) @ random.normal(size=(8, 10))
        + noise * random.normal(size=(ITEMS, 10))
        for _ in range(views)
    ]


def found(learner, views, query: int, target: int) -> float:
    """Return the share of new items that find themselves among the first ten of 80 in another view."""
    new = [learner.transform(rows[LEARNED:], view=view) for view, rows in enumerate(views)]
    similar = new[query] @ new[target].T
    return float(((similar > similar.diagonal()[:, None]).sum(axis=1) < 10).mean())


def learned(views, **settings):
    return Instances(random_state=0, **settings).fit([rows[:LEARNED] for rows in views])


def test_new_items_find_themselves_in_another_view():
    views = drawn()
    learner = learned(views)
    assert found(learner, views, 0, 1) > 0.5  # by chance: 0.125
    assert found(learner, views, 1, 0) > 0.5


def test_embeddings_have_unit_length_and_few_dimensions():
    views = drawn()
    embedded = learned(views, n_components=7).transform(views[0], view=0)
    assert embedded.shape == (ITEMS, 7)
    np.testing.assert_allclose(np.linalg.norm(embedded, axis=1), 1.0)


def test_the_penalty_follows_the_noise():
    """Noise that the views do not share needs a larger penalty; a fixed penalty stays."""
    clear, noisy = (learned(drawn(noise=noise)).penalty_ for noise in (0.01, 3.0))
    assert clear < noisy
    assert learned(drawn(), penalty=0.01).penalty_ == 0.01


def test_the_kernel_follows_the_rows():
    """Signed roots hide small differences of large values, and counts need them; a given kernel stays."""
    random = np.random.default_rng(0)
    angles = random.uniform(0, 2 * np.pi, ITEMS)
    rings = [10 + np.column_stack([np.cos(angles + turn), np.sin(angles + turn)]) for turn in (0.0, 1.0)]
    rings = [rows * [1.0, -1.0] - [10.0, 0.0] + 0.05 * random.normal(size=rows.shape) for rows in rings]
    assert learned(rings).scaling_ == "none"
    counts = [random.poisson(np.exp(2 * np.abs(rows) / np.abs(rows).mean())) for rows in drawn()]
    assert learned([rows.astype(float) for rows in counts]).scaling_ == "root"
    fixed = learned(rings, scaling="root", bandwidth=2.0)
    assert (fixed.scaling_, fixed.bandwidth_) == ("root", 2.0)
    assert fixed.again().settings()["bandwidth"] == 2.0


def test_pairs_of_views_are_enough():
    """No item has all three views; each pair of views shares items."""
    views = drawn(views=3)
    mask = np.ones((LEARNED, 3), bool)
    mask[np.arange(LEARNED), np.arange(LEARNED) % 3] = False
    rows = [np.where(mask[:, [view]], one[:LEARNED], np.nan) for view, one in enumerate(views)]
    learner = Instances(random_state=0).fit(rows, Supervision(mask=mask))
    assert min(found(learner, views, query, target) for query, target in ((0, 1), (1, 2), (2, 0))) > 0.35


def test_items_without_a_second_view_are_refused():
    views = [rows[:6] for rows in drawn()]
    mask = np.arange(6)[:, None] % 2 == [[0, 1]]
    with pytest.raises(ValueError, match="0 items have two of the views"):
        Instances().fit(views, Supervision(mask=mask))


def test_an_added_view_finds_the_items_of_the_others():
    views = drawn(views=3)
    learner = learned(views[:2])
    before = learner.transform(views[0], view=0)
    learner.add_view([rows[:LEARNED] for rows in views])
    np.testing.assert_array_equal(learner.transform(views[0], view=0), before)
    assert found(learner, views, 2, 0) > 0.4
    assert found(learner, views, 0, 2) > 0.4


def test_a_blank_view_is_like_no_item():
    views = drawn()
    learner = learned(views)
    learner.add_blank(5)
    assert not learner.transform(np.ones((3, 5)), view=2).any()


def test_one_view_keeps_its_neighbourhoods():
    (rows,) = drawn(views=1)
    embedded = Instances(random_state=0).fit([rows]).transform(rows, view=0)
    near = embedded @ (embedded + 0.0).T
    assert (near.argmax(axis=1) == np.arange(ITEMS)).all()


def test_groups_stay_in_one_fold():
    views = [rows[:LEARNED] for rows in drawn()]
    groups = np.arange(LEARNED) // 8
    folds = Instances(random_state=0).fit_folds(views, Supervision(groups=groups))
    numbers = [set(groups[left]) for left, _ in folds]
    assert len(folds) == 3
    assert set.union(*numbers) == set(groups)
    assert not any(numbers[one] & numbers[other] for one, other in ((0, 1), (0, 2), (1, 2)))


def test_few_items_are_learned_without_folds():
    views = [rows[:4] for rows in drawn()]
    assert Instances(random_state=0).fit_folds(views) == []


def test_the_loss_is_that_of_classifying_items():
    """Each item is its own class; the scale is the best of those tried."""
    random = np.random.default_rng(0)
    views = [unit_length(random.normal(size=(12, 5))) for _ in range(2)]
    expected = [
        np.mean(
            [
                log_loss(np.arange(12), np.exp(scale * one @ other.T) / np.exp(scale * one @ other.T).sum(1)[:, None])
                for one, other in (views, views[::-1])
            ]
        )
        for scale in (2.0, 4.0, 8.0, 16.0, 32.0)
    ]
    assert contrastive_loss(views, np.ones((12, 2), bool)) == pytest.approx(min(expected))
    assert contrastive_loss(views, np.zeros((12, 2), bool)) == 0.0


def test_draws_repeat_with_a_seed():
    views = [rows[:LEARNED] for rows in drawn()]
    settings = {"random_state": 0, "max_items": 100, "n_landmarks": 20}
    one, other = (parse_chain("instances", settings).fit(views) for _ in range(2))
    np.testing.assert_array_equal(one.transform(views[0], view=0), other.transform(views[0], view=0))
