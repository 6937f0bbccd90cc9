"""Visual words: a codebook of descriptor centres, and their counts in an image."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from crossview.features.base import Part

Array = NDArray[np.float32]

MAX_DESCRIPTORS = 100_000
"""Maximum number of descriptors for learning a codebook; larger sets are sampled at random."""

_BATCH = 4096
_PASSES = 20
_STARTED_FROM = 10
"""Descriptors per word among which k-means++ seeks its first centres; a whole batch would triple the time of a fit."""


def fit_words(samples: Sequence[Array], words: int, seed: int) -> Array:
    """Return the centres of ``words`` visual words, (words, d) float32 of whole numbers, by k-means over the samples.

    The same samples and seed give the same centres. Raises ValueError for fewer distinct descriptors than words.
    """
    descriptors = _pool(samples, seed)
    distinct = len({descriptor.tobytes() for descriptor in descriptors})
    if distinct < words:
        raise ValueError(
            f"{words} visual words need at least {words} distinct descriptors, but the {len(samples)} pictures "
            f"have {distinct}: give more pictures, or use fewer words, such as sift:words={max(1, distinct // 4)}"
        )
    # deferred, because the import takes half a second and only fitting needs it
    from sklearn.cluster import MiniBatchKMeans

    # One thread: several threads add their sums in the order in which they finish, which changes the last bit.
    with threadpool_limits(limits=1):
        clusters = MiniBatchKMeans(
            words, init_size=_STARTED_FROM * words, batch_size=_BATCH, max_iter=_PASSES, n_init=1, random_state=seed
        )
        clusters.fit(descriptors)
    return np.asarray(np.rint(clusters.cluster_centers_), dtype=np.float32)


def count_words(descriptors: Array, centres: Array) -> Array:
    """Return how many of the (n, d) descriptors are nearest to each of the (words, d) centres, (words,) float32.

    Distance is Euclidean; of equally near centres the first counts.
    """
    return np.bincount(nearest_words(descriptors, centres), minlength=len(centres)).astype(np.float32)


def nearest_words(descriptors: Array, centres: Array) -> NDArray[np.intp]:
    """Return the number of the nearest word of each descriptor, (n,), as ``count_words`` counts them."""
    half_norms = 0.5 * np.einsum("ij,ij->i", centres, centres)
    return np.asarray(np.argmax(descriptors @ centres.T - half_norms, axis=1))


def word_parts(words: int) -> tuple[Part, ...]:
    """Return the parts of a row with a column for each visual word."""
    return tuple(Part(f"word {number + 1}", (number,)) for number in range(words))


def _pool(samples: Sequence[Array], seed: int) -> Array:
    arrays = [np.asarray(sample, dtype=np.float32) for sample in samples if len(sample)]
    if not arrays:
        return np.zeros((0, 0), np.float32)
    pooled = np.concatenate(arrays)
    if len(pooled) > MAX_DESCRIPTORS:
        places = np.random.default_rng(seed).choice(len(pooled), MAX_DESCRIPTORS, replace=False)
        pooled = pooled[np.sort(places)]
    return pooled
