"""The threshold lies between the extremes without labels, and follows labels."""

import numpy as np
import pytest

from crossview.engine.findings.changes.decision import decide, least_sure

NONE = np.empty(0, np.bool_)


def two_kinds(seed: int = 0, many: int = 60, few: int = 30) -> np.ndarray:
    """Return distances around 1 and around 5."""
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(1, 0.2, many), generator.normal(5, 0.5, few)])[:, None].clip(0.01)


def test_without_labels_it_lies_between_the_kinds() -> None:
    distances = two_kinds()
    scores = decide(distances, distances[:0], NONE).scores(distances)
    assert scores[:60].max() < 1 < scores[60:].min()


def test_labels_move_it() -> None:
    """The labels are those of a person who finds only changes beyond 5 important."""
    pool = two_kinds()
    labelled = np.array([[4.6], [4.8], [4.9], [5.1], [5.2], [5.4]] * 3)
    important = labelled[:, 0] > 5
    before = decide(pool, labelled[:0], NONE).scores(labelled)
    after = decide(pool, labelled, important).scores(labelled)
    assert np.mean((after > 1) == important) > np.mean((before > 1) == important)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_distances_does_not_matter(factor: float) -> None:
    pool = two_kinds()
    one, other = decide(pool, pool[:0], NONE).scores(pool), decide(factor * pool, pool[:0], NONE).scores(factor * pool)
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_evidence_that_says_nothing_weighs_little() -> None:
    pool = np.column_stack([two_kinds(), np.random.default_rng(1).random(90)])
    found = decide(pool, pool[:0], NONE)
    assert (found.weights >= 0).all()
    assert found.weights[1] * pool[:, 1].max() < found.weights[0] * pool[:, 0].mean()


def test_identical_versions_are_no_examples_of_unimportant_changes() -> None:
    distances = np.vstack([np.zeros((500, 1)), two_kinds()])
    scores = decide(distances, distances[:0], NONE).scores(distances)
    assert scores[500:560].max() < 1 < scores[560:].min()
    assert (scores[:500] == 0).all()


def test_few_pairs_that_are_all_alike_have_a_threshold_still() -> None:
    distances = np.ones((4, 1))
    assert np.isfinite(decide(distances, distances[:0], NONE).scores(distances)).all()


def test_pairs_that_do_not_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="no two successive versions differ"):
        decide(np.zeros((4, 1)), np.empty((0, 1)), NONE)


def test_the_least_sure_is_the_nearest_factor() -> None:
    scores = np.array([0.0, 0.1, 0.9, 1.05, 4.0, 1.0])
    assert least_sure(scores, np.array([0, 1, 2, 3, 4])).tolist() == [3, 2, 4, 1, 0]
