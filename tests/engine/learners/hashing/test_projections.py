"""LSH and ITQ keep the promises of their papers."""

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm, orthogonal_procrustes

from crossview.engine.learners.hashing.itq import ITQ
from crossview.engine.learners.hashing.lsh import LSH
from crossview.engine.learners.subspace.pca import principal_components


def clusters(n=400, d=24, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(8, d))[np.arange(n) % 8] * 2 + generator.normal(size=(n, d))


def directions(rows):
    centred = rows - rows.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def loss(rotated):
    """Return the squared distance to the corners of the cube, per row: the quantisation loss."""
    return ((np.where(rotated > 0, 1.0, -1.0) - rotated) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("n_bits", [8, 16, 24])
def test_itq_ends_where_the_paper_s_alternation_does(n_bits):
    """The loss is below no rotation's and at a minimum: no rotation solves the Procrustes problem of its own corners
    better, and rotations nearby lose more; FAISS's ITQ, which takes another step, loses more as well."""
    rows = directions(clusters())
    fitted = ITQ(n_bits, random_state=0).fit([rows])
    reduced = directions(rows) @ principal_components(directions(rows), n_bits)[0].T
    rotated = directions(rows) @ fitted.projections_[0].T
    assert loss(rotated) < loss(reduced)
    solved, _ = orthogonal_procrustes(rotated, np.where(rotated > 0, 1.0, -1.0))
    assert loss(rotated) - loss(rotated @ solved) < 2e-3 * loss(rotated)
    generator = np.random.default_rng(0)
    for _ in range(20):
        turned = expm(0.2 * (skew := generator.normal(size=(n_bits, n_bits))) - 0.2 * skew.T)
        assert loss(rotated) < loss(rotated @ turned)
    theirs = faiss.ITQMatrix(n_bits)
    theirs.train(reduced.astype(np.float32))
    assert loss(rotated) < loss(theirs.apply(reduced.astype(np.float32)))


def test_itq_rotates_the_principal_components():
    """Its directions are orthonormal and span those of the greatest variance."""
    rows = directions(clusters())
    matrix = ITQ(6, random_state=0).fit([rows]).projections_[0]
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-5)
    leading = principal_components(rows, 6)[0]
    np.testing.assert_allclose(np.linalg.svd(matrix @ leading.T)[1], 1.0, atol=1e-4)


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(angle=st.floats(0.05, 3.1), seed=st.integers(0, 1000), n_bits=st.sampled_from([48, 512]))
def test_lsh_bits_differ_in_proportion_to_the_angle(angle, seed, n_bits):
    """Rows at an angle, seen from the mean, differ in a bit with probability angle / pi, for few bits and many."""
    generator = np.random.default_rng(seed)
    first, second = np.linalg.qr(generator.normal(size=(48, 2)))[0].T
    rows = np.stack([first, np.cos(angle) * first + np.sin(angle) * second])
    repeats = 2048 // n_bits
    shares = []
    for repeat in range(repeats):
        learner = LSH(n_bits, random_state=seed * repeats + repeat).fit([np.vstack([rows, -rows])])  # mean 0
        codes = learner.transform(rows, view=0)
        shares.append((codes[0] != codes[1]).mean())
    deviation = np.sqrt(angle / np.pi * (1 - angle / np.pi) / 2048)
    assert abs(np.mean(shares) - angle / np.pi) < 5 * deviation + 1e-9


@pytest.mark.parametrize(
    ("kind", "n_bits"),
    [
        *[(LSH, 1), (LSH, 7), (LSH, 256), (LSH, 1000), (ITQ, 1), (ITQ, 7), (ITQ, 64)],
        pytest.param(ITQ, 256, marks=pytest.mark.long),
    ],
)
def test_any_number_of_bits(kind, n_bits):
    """LSH draws any number of bits, and ITQ rotates to any."""
    rows = np.random.default_rng(0).normal(size=(400, 260))
    codes = kind(n_bits, random_state=0).fit([rows]).transform(rows, view=0)
    assert codes.shape == (400, n_bits)
    assert 0.1 < codes.mean() < 0.9


@pytest.mark.parametrize(("n_rows", "columns", "n_bits"), [(400, 8, 9), (400, 8, 64), (40, 200, 64)])
def test_itq_to_more_bits_than_columns_or_rows(n_rows, columns, n_bits):
    """Its directions are a tight frame of the components, so that it keeps angles: rows of a cluster differ in few
    bits."""
    rows, clustered = clusters(n_rows, columns), np.arange(n_rows) % 8
    learner = ITQ(n_bits, random_state=0).fit([rows])
    matrix, codes = learner.projections_[0], learner.transform(rows, view=0)
    assert codes.shape == (n_rows, n_bits)
    spread = np.linalg.svd(matrix)[1]
    np.testing.assert_allclose(spread, np.where(spread > 0.5, 1.0, 0.0), atol=1e-6)
    differing = (codes[:, None] != codes[None]).mean(axis=2)
    same = clustered[:, None] == clustered
    assert differing[same].mean() < 0.6 * differing[~same].mean()


def test_itq_keeps_neighbours_better_than_lsh():
    """With as many bits, the ten nearest by ITQ's codes share the row's cluster more often than by LSH's."""
    rows, clustered = clusters(), np.arange(400) % 8

    def quality(learner):
        codes = learner.fit([rows]).transform(rows, view=0)
        distances = (codes[:, None] != codes[None]).sum(axis=2) + 1000 * np.eye(len(rows))
        return (clustered[np.argsort(distances, axis=1, kind="stable")[:, :10]] == clustered[:, None]).mean()

    scores = [[quality(kind(8, random_state=seed)) for seed in range(3)] for kind in (ITQ, LSH)]
    assert np.mean(scores[0]) > np.mean(scores[1]) + 0.05


@pytest.mark.parametrize(
    ("learner", "rows", "message"),
    [
        (ITQ(0), np.eye(8), "n_bits must be a whole number from 1 to 4,096 or null, not 0"),
        (LSH(-1), np.eye(8), "n_bits must be a whole number from 1 to 4,096 or null, not -1"),
        (LSH(2.5), np.eye(8), "n_bits must be a whole number or null, not 2.5"),
        (LSH(True), np.eye(8), "n_bits must be a whole number or null, not True"),
    ],
)
def test_impossible_numbers_of_bits_are_named(learner, rows, message):
    """A number of bits that no rows allow is a ValueError with the reason."""
    with pytest.raises(ValueError, match=message):
        learner.fit([rows])


def test_the_seed_decides():
    """Equal seeds give equal codes, and other seeds give others."""
    rows = clusters()
    for kind in (LSH, ITQ):
        one, same, other = (kind(12, random_state=seed).fit([rows]).transform(rows, view=0) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()


def test_lsh_directions_are_orthogonal_as_far_as_can_be():
    """Every d directions are, so that twice as many bits as columns are two rotations, with a tight frame."""
    rows = clusters(d=10)
    matrix = LSH(20, random_state=0).fit([rows]).projections_[0]
    for part in (matrix[:10], matrix[10:]):
        np.testing.assert_allclose(part @ part.T, np.eye(10), atol=1e-5)
    np.testing.assert_allclose(matrix.T @ matrix, 2 * np.eye(10), atol=1e-5)
    assert np.abs(matrix[:10] @ matrix[10:].T).max() < 0.99
