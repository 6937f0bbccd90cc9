"""MuSL's boosting: the matrix form is the sum over pairs, slopes are derivatives, the best candidate is the best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_expit, logsumexp, softmax

from crossview.engine.learners.papers.musl.boosting import (
    Pairs,
    Sample,
    Stumps,
    Training,
    best_candidate,
    boost_assigned,
    hamming,
    rises,
    steepest,
)

CASES = {
    "seed": st.integers(0, 2**32 - 1),
    "t": st.integers(0, 6),
    "classes": st.integers(2, 4),
    "total": st.sampled_from([None, 8]),
}


def case(seed, t, classes, total=None, most=5):
    """Return bits of rows in classes of two rows or more, and the rows' pairs."""
    generator = np.random.default_rng(seed)
    codes = generator.permutation(np.repeat(np.arange(classes), generator.integers(2, most, size=classes)))
    bits = generator.integers(2, size=(len(codes), t)).astype(np.float32)
    return Pairs(codes, classes, 0.7, total), bits, generator


def weight(pairs, i, j):
    """Return the weight of a pair.

    Half of a class's weight, which is its share of the rows, belongs to its positive pairs, the other half to the
    others; or all weigh the same.
    """
    if pairs.total is not None:
        return 1 / (len(pairs.codes) * (len(pairs.codes) - 1))
    own = int((pairs.codes == pairs.codes[j]).sum())
    partners = own - 1 if pairs.codes[i] == pairs.codes[j] else len(pairs.codes) - own
    return 0.5 * own / len(pairs.codes) / (own * partners)


def slow_likelihoods(pairs, distances, t):
    """Return equation (6), pair by pair."""
    found = np.zeros(pairs.count)
    for i in range(len(pairs.codes)):
        for j in range(len(pairs.codes)):
            margin = pairs.alpha * ((pairs.total or t) / 2 - distances[i, j])
            if i != j:
                sign = 1 if pairs.codes[i] == pairs.codes[j] else -1
                found[pairs.codes[j]] += weight(pairs, i, j) * log_expit(sign * margin)
    return found


@settings(max_examples=30, deadline=None)
@given(**CASES)
def test_likelihoods_are_the_sum_over_pairs(seed, t, classes, total):
    """The table of counts gives what a loop over all pairs gives; the weights of all pairs add up to 1."""
    pairs, bits, _ = case(seed, t, classes, total)
    slow = slow_likelihoods(pairs, np.abs(bits[:, None] - bits).sum(axis=2).astype(float), t)
    np.testing.assert_allclose(pairs.likelihoods(bits), slow, rtol=1e-10)
    n = len(bits)
    assert sum(weight(pairs, i, j) for i in range(n) for j in range(n) if i != j) == pytest.approx(1.0)


@settings(max_examples=15, deadline=None)
@given(**CASES)
def test_slopes_are_derivatives_of_the_objective(seed, t, classes, total):
    """Slopes times alpha are the derivatives, by finite differences, of the soft maximum (8) by each distance."""
    pairs, bits, generator = case(seed, t, classes, total, most=4)
    others = slow_likelihoods(pairs, generator.uniform(0, t, size=(len(bits),) * 2), t)
    distances, r, step = hamming(bits, bits).astype(float), 20.0, 1e-5

    def objective():
        return logsumexp(r * np.array([slow_likelihoods(pairs, distances, t), others]), axis=0).sum() / r

    shares = softmax(r * np.array([pairs.likelihoods(bits), others]), axis=0)[0]
    slopes, columns = pairs.slopes(bits, shares)
    assert columns.tolist() == list(range(len(bits)))
    for i, j in generator.integers(len(bits), size=(6, 2)):
        distances[i, j] += step
        above = objective()
        distances[i, j] -= 2 * step
        below = objective()
        distances[i, j] += step
        assert pairs.alpha * slopes[i, j] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-7)


@settings(max_examples=30, deadline=None)
@given(**CASES)
def test_best_candidate_errs_least(seed, t, classes, total):
    """One matrix product finds the candidate whose weighted error over the pairs of the given classes is least."""
    pairs, bits, generator = case(seed, t, classes, total)
    candidates = np.hstack([bits, generator.integers(2, size=(len(bits), 9))]).astype(np.float32)
    shares = generator.integers(3, size=classes) / 2
    shares[generator.integers(classes)] = 1.0
    errors = np.zeros(t + 9)
    for i, j in np.argwhere(~np.eye(len(bits), dtype=bool)):
        positive = pairs.codes[i] == pairs.codes[j]
        likely = expit(pairs.alpha * ((pairs.total or t) / 2 - np.abs(bits[i] - bits[j]).sum()))
        asked = shares[pairs.codes[j]] * weight(pairs, i, j) * abs(likely - positive)
        errors += asked * (np.abs(candidates[i] - candidates[j]) == positive)
    found = rises(candidates, *pairs.slopes(bits, shares))
    np.testing.assert_allclose(found - found[0], errors[0] - errors, atol=1e-6)
    assert errors[best_candidate(Sample(pairs, candidates), np.arange(t), shares)] <= errors.min() + 1e-6


@settings(max_examples=30, deadline=None)
@given(**CASES, ones=st.floats(0.02, 0.9))
def test_bounds_leave_out_no_best_candidate(seed, t, classes, total, ones):
    """Among more candidates than are tried first, rare ones or frequent, the best is still found."""
    pairs, bits, generator = case(seed, t, classes, total, most=20)
    candidates = (generator.uniform(size=(len(bits), 300)) < ones * generator.uniform(size=300)).astype(np.float32)
    slopes, columns = pairs.slopes(bits, np.arange(1, classes + 1) / classes)
    found = rises(candidates, slopes, columns)
    assert found[steepest(candidates, slopes, columns)] >= found.max() - 1e-6


def test_small_shares_are_left_out():
    """Pairs of classes without a share have no slopes, which makes K metrics as cheap as one."""
    pairs, bits, _ = case(0, 3, 3)
    slopes, columns = pairs.slopes(bits, np.array([0.0, 1.0, 0.0]))
    assert columns.tolist() == np.flatnonzero(pairs.codes == 1).tolist()
    assert slopes.shape == (len(bits), len(columns))
    assert (slopes[columns, np.arange(len(columns))] == 0).all()


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 4), levels=st.integers(1, 6))
def test_candidates_tell_rows_apart(seed, count, levels):
    """Every candidate divides the rows, at thresholds between values; a column has at most a given number of them, and
    at least one if it varies."""
    generator = np.random.default_rng(seed)
    rows = np.column_stack([generator.poisson(levels, size=(12, 3)), np.arange(12)]).astype(float)
    stumps = Stumps.candidates(rows, count)
    bits = stumps.bits(rows)
    assert ((bits.min(axis=0) == 0) & (bits.max(axis=0) == 1)).all()
    assert not (rows[:, stumps.columns] == stumps.thresholds).any()
    per_column = np.bincount(stumps.columns, minlength=4)
    assert (per_column <= count).all()
    assert ((per_column > 0) == (np.ptp(rows, axis=0) > 0)).all()


def test_thresholds_between_neighbouring_floats_divide_them():
    """Two values with no number between them, or too large to be added, are divided too."""
    for low, high in ((1.0, np.nextafter(1.0, 2.0)), (1.5e308, 1.7e308)):
        rows = np.array([[low], [high]])
        assert Stumps.candidates(rows, 1).bits(rows).ravel().tolist() == [0, 1]


def test_samples_hold_every_class_in_its_share():
    """Larger sets are sampled again in every round; every class is there with two rows at least."""
    generator = np.random.default_rng(0)
    codes = generator.permutation(np.repeat([0, 1, 2], [300, 97, 3]))
    rows = generator.normal(size=(400, 2))

    def training_of(max_rows):
        return Training(
            rows=rows,
            codes=codes,
            stumps=Stumps.candidates(rows, 1),
            alpha=0.5,
            total=None,
            max_rows=max_rows,
            generator=np.random.RandomState(0),
        )

    training = training_of(100)
    samples = training.samples()
    first, second = next(samples), next(samples)
    for sample in (first, second):
        assert np.bincount(sample.pairs.codes).tolist() == [75, 24, 2]
    assert not np.array_equal(first.candidates, second.candidates)
    whole = training_of(400).samples()
    assert next(whole) is next(whole)


def test_a_metric_without_classes_serves_all():
    """It learns what a single metric for all classes does."""
    pairs, _, generator = case(3, 0, 4)
    sample = Sample(pairs, generator.integers(2, size=(len(pairs.codes), 20)).astype(np.float32))
    two = boost_assigned(iter([sample] * 5), np.zeros(4, dtype=np.intp), 2, 5)
    np.testing.assert_array_equal(two[0], two[1])
