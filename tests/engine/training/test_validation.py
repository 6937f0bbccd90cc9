"""Settings are judged by unseen items if these have something to find."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from crossview.engine.training.examples import Examples
from crossview.engine.training.validation import spread, validate_retrieval

COUNT, FOLDS = 36, 3


def drawn(seed: int, pairs: bool) -> Examples:
    """Return items in groups of about two, with labels or pairs by which about half of them find a similar one."""
    random = np.random.default_rng(seed)
    similar = np.eye(COUNT, dtype=np.int8)
    first, second = random.integers(0, COUNT, (2, 50))
    similar[first, second] = similar[second, first] = 1
    tags = random.integers(0, int(random.integers(4, 30)), (COUNT, 2))
    return Examples(
        ids=np.arange(COUNT) + 5,
        keys=tuple(map(str, range(COUNT))),
        rows={"v": random.random((COUNT, 2), np.float32)},
        mask=np.ones((COUNT, 1), bool),
        labels=tuple(tuple(sorted({*map(str, row)}))[: number % 3] for number, row in enumerate(tags)),
        similar=csr_array(similar) if pairs else None,
        groups=random.integers(0, 18, COUNT),
    )


def has_similar(items: Examples, one: int, folds: np.ndarray) -> bool:
    """Return whether another item of the same fold, and of no common group, is similar."""
    for other in np.flatnonzero((folds == folds[one]) & (items.groups != items.groups[one])):
        if items.similar is not None and items.similar[one, other]:
            return True
        if items.similar is None and {*items.labels[one]} & {*items.labels[other]}:
            return True
    return False


@pytest.mark.parametrize("pairs", [False, True])
def test_the_database_is_unseen_where_half_of_the_items_find_a_similar_one_there(pairs):
    """Labels or pairs decide, among the items with known ones."""
    found = set()
    for seed in range(40):
        items = drawn(seed, pairs)
        folds = spread(items, FOLDS, seed)
        if pairs:
            known = np.flatnonzero(np.asarray(items.similar.sum(axis=1)) > 1)
        else:
            known = np.flatnonzero([bool(labels) for labels in items.labels])
        expected = np.mean([has_similar(items, one, folds) for one in known]) >= 0.5
        assert validate_retrieval(items, FOLDS, "map", seed)[0] == ("unseen" if expected else "trained")
        found.add(bool(expected))
    assert found == {False, True}
