"""Codes whose Hamming distances rank as inner products do."""

import itertools

import numpy as np
import pytest

from crossview.engine.learners.hashing.product_codes import (
    CodeFunction,
    Examples,
    directed,
    distant_codes,
    learn_codes,
    signs,
)


def symmetric(generator, bits):
    """Return a positive matrix without its diagonal."""
    rows = generator.normal(size=(2 * bits, bits))
    products = rows.T @ rows / bits
    np.fill_diagonal(products, 0)
    return products


def test_no_other_bit_would_be_better():
    """A row's code has no bit whose flip lowers the error, and the scores say by how much each bit matters."""
    generator = np.random.default_rng(0)
    function = CodeFunction(symmetric(generator, 8), generator.normal(size=(8, 3)))
    rows = generator.normal(size=(20, 3))
    scores = function.scores(rows)
    codes = signs(scores)

    def errors(codes):
        pulls = rows @ function.weights.T
        return ((codes @ function.products) * codes).sum(axis=1) - 2 * (codes * pulls).sum(axis=1)

    for bit in range(8):
        flipped = codes.copy()
        flipped[:, bit] *= -1
        np.testing.assert_allclose(errors(flipped) - errors(codes), 4 * np.abs(scores[:, bit]), atol=1e-9)
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    least = np.min([errors(np.repeat(code[None], 20, axis=0)) for code in every], axis=0)
    begun = errors(signs(rows @ function.weights.T))
    assert np.all(errors(codes) >= least - 1e-9)
    assert np.mean(errors(codes) - least) < 0.5 * np.mean(begun - least)


def test_a_row_has_its_code_whatever_is_beside_it():
    """Rows coded together have the codes that each has alone."""
    generator = np.random.default_rng(1)
    function = CodeFunction(symmetric(generator, 16), generator.normal(size=(16, 4)))
    rows = generator.normal(size=(10, 4))
    alone = np.vstack([function.scores(row[None]) for row in rows])
    np.testing.assert_allclose(function.scores(rows), alone, atol=1e-9)


def examples(generator, count=200, width=5):
    """Return probabilities of classes, of queries and of items."""
    rows = [generator.dirichlet(np.full(width, 0.4), count) for _ in range(2)]
    return Examples(rows[0], rows[1], np.full(count, 1 / count))


@pytest.mark.parametrize("bits", [3, 16, 64])
def test_distances_are_near_the_products(bits):
    """The error is the reported one, falls turn by turn, and is smaller for more bits."""
    given = examples(np.random.default_rng(2))
    codes, errors = learn_codes(given, bits, 0.4, 8, np.random.RandomState(0))
    assert np.all(np.diff(errors) <= 1e-9)
    asked, stored = signs(codes.query_scores(given.queries)), signs(codes.item_scores(given.items))
    wanted = directed(given.queries, codes.covariance, 0.4) @ (given.items - codes.mean).T
    assert np.sqrt((wanted**2).mean()) == pytest.approx(0.4)
    error = ((asked @ stored.T / bits - wanted) ** 2).mean() / 0.4**2
    assert error == pytest.approx(errors[-1], rel=0.25)
    assert error < {3: 1.0, 16: 0.35, 64: 0.15}[bits]


def test_turns_are_counted_and_told():
    """Turns end at the limit, or when no code changes any more, and each is reported."""
    given = examples(np.random.default_rng(3))
    told = []
    errors = learn_codes(given, 8, 0.4, 100, np.random.RandomState(0), told.append)[1]
    assert told == list(range(1, len(errors)))
    assert len(errors) < 100
    assert errors[-1] == errors[-2]


@pytest.mark.parametrize(("count", "bits", "least"), [(40, 16, 4), (40, 8, 1), (8, 16, 7)])
def test_distant_codes_are_farther_apart_than_random_ones(count, bits, least):
    """The nearest two differ in several bits; the nearest two of as many random codes are nearly or quite equal."""
    for seed in range(3):
        codes = distant_codes(count, bits, np.random.RandomState(seed))
        assert set(np.unique(codes)) == {-1.0, 1.0}
        apart = (codes[:, None] != codes[None]).sum(axis=2)
        assert apart[~np.eye(count, dtype=bool)].min() >= least
