"""Evidence holds labels out and draws from them."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.engine.learners.subspace.evidence import Evidence


def evidence(codes, pairs=()):
    count = len(codes)
    similar = None
    if pairs:
        first, second = np.array(pairs).T
        half = sp.coo_array((np.ones(len(first)), (first, second)), shape=(count, count))
        similar = sp.csr_array(half + half.T)
    codes = np.array(codes)
    return Evidence(np.unique(codes[codes >= 0]), codes, similar, 0.05)


@pytest.mark.parametrize(("labels", "held_out"), [(1, 0), (2, 1), (5, 1), (10, 2), (40, 10)])
def test_a_quarter_of_the_labels_of_each_class_is_held_out_and_one_remains(labels, held_out):
    given = evidence([0] * labels + [1] * labels + [-1] * 20)
    held = given.holding_out(np.random.RandomState(0))
    items, codes = held.held_out_labels.T
    assert np.bincount(codes, minlength=2).tolist() == [held_out] * 2
    np.testing.assert_array_equal(given.codes[items], codes)
    assert (held.codes[items] == -1).all()
    assert (held.codes >= 0).sum() == 2 * (labels - held_out)


def test_held_out_pairs_are_those_that_are_missing():
    given = evidence([-1] * 40, [(number, 39 - number) for number in range(15)])
    held = given.holding_out(np.random.RandomState(0))
    assert 0 < len(held.held_out_pairs) < 15
    first, second = held.held_out_pairs.T
    assert held.similar[first, second].sum() == 0
    assert held.similar.sum() + 2 * len(first) == given.similar.sum()


def test_a_sample_has_labels_of_each_class_and_whole_pairs_first():
    codes = np.full(200, -1)
    codes[:60] = 0
    codes[60:63] = 1
    given = evidence(codes, [(number, number + 50) for number in range(100, 130)])
    chosen = given.sample(20, np.random.RandomState(0))
    assert len(chosen) == 20
    assert np.bincount(codes[chosen][codes[chosen] >= 0]).min() == 3
    paired = chosen[codes[chosen] < 0]
    assert given.similar[paired][:, paired].sum() >= len(paired) - 1
    np.testing.assert_array_equal(given.sample(500, np.random.RandomState(0)), np.arange(200))


def test_wrong_labels_do_not_decide_the_score():
    """Chance explains a label that a sure prediction contradicts, as far as few labels are wrong."""
    given = evidence([0, 1] * 50 + [-1] * 4).holding_out(np.random.RandomState(0))
    items, codes = given.held_out_labels.T
    sure = np.full((104, 2), 0.5)
    sure[items, codes] = 1 - 1e-9
    sure[items, 1 - codes] = 1e-9
    sure[items[0]] = sure[items[0], ::-1]
    present = np.ones((104, 1), bool)
    scores = [given.prediction_score(sure, [one], present).score for one in (sure, np.full_like(sure, 0.5))]
    assert scores[0] > scores[1] + 0.3
