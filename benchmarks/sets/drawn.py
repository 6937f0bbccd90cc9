"""Drawn sets: views whose classes are known because they were planted, of kinds that the real sets lack."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

Rows = Mapping[str, NDArray[np.float32]]
Classes = NDArray[np.int64]
Drawn = tuple[Rows, Classes]
"""The views, (n, d_v) each, and the classes, (n,)."""


def texts(
    seed: int, *, classes: int, items: int, columns: int, words: int, common: float, unequal: float = 0.0
) -> Drawn:
    """Draw two vocabularies' counts of texts.

    A class prefers some of all topics, a text has a mixture of its class's topics, which both views share, and a share
    of the words is ``common`` to all texts. ``words`` is the median length; ``unequal`` is the standard deviation of
    the logarithm of a text's length, which its views share.
    """
    draw = np.random.default_rng(seed)
    labels = draw.integers(classes, size=items)
    preferred = draw.dirichlet(np.full(6 * classes, 0.15), classes)
    mixtures = np.array([draw.dirichlet(6 * preferred[label] + 0.02) for label in labels])
    expected = words * np.exp(unequal * draw.normal(size=items)) if unequal else np.full(items, words)
    rows = {}
    for view in ("one", "two"):
        topics = draw.dirichlet(np.full(columns, 0.02), preferred.shape[1])
        every = draw.dirichlet(np.full(columns, 0.1))
        lengths = np.maximum(8, draw.poisson(expected))
        shares = (1 - common) * mixtures @ topics + common * every
        rows[view] = _counts(draw, lengths, shares)
    return rows, labels


def _counts(draw: np.random.Generator, lengths: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float32]:
    pairs = zip(lengths.tolist(), shares, strict=True)
    return np.array([draw.multinomial(length, share / share.sum()) for length, share in pairs], np.float32)


def faces(seed: int, *, classes: int, each: int, widths: Sequence[int], noise: Sequence[float]) -> Drawn:
    """Draw few items of each of many classes: curved, positive views of a class's place and of an item's pose."""
    draw = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), each)
    places, poses = draw.normal(size=(classes, 12)), 0.9 * draw.normal(size=(len(labels), 6))
    hidden = np.hstack([places[labels], poses])
    rows = {}
    for number, (width, strength) in enumerate(zip(widths, noise, strict=True)):
        bent = np.tanh(hidden @ draw.normal(size=(hidden.shape[1], 64)) / 4)
        values = np.exp(bent @ draw.normal(size=(64, width)) / 4)
        rows[f"view {number}"] = (values + strength * draw.gamma(1, 1, values.shape)).astype(np.float32)
    return rows, labels


def curves(seed: int, *, classes: int, items: int, turns: float, widths: Sequence[int], noise: float) -> Drawn:
    """Draw classes that are closed curves around each other, or arms of a spiral of so many turns, in a flat part of
    each view; two views of an item are at different places of its curve."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(classes, size=items)
    rows = {}
    for number, width in enumerate(widths):
        along = draw.uniform(0, 1, items)
        angle = 2 * np.pi * (along * turns + labels / classes) if turns else 2 * np.pi * along
        radius = 0.3 + 3 * along if turns else 1 + 0.9 * labels
        flat = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + noise * draw.normal(size=(items, 2))
        basis = np.linalg.qr(draw.normal(size=(width, 2)))[0].T
        rows[f"view {number}"] = (flat @ basis + 0.5 * noise * draw.normal(size=(items, width))).astype(np.float32)
    return rows, labels


def clouds(
    seed: int, *, classes: int, items: int, unequal: float, worth: Sequence[float], outliers: float, shared: float
) -> Drawn:
    """Draw normal clouds: classes of sizes 1, 2^-unequal, 3^-unequal, ..., views whose centres are ``worth`` apart, a
    share of outliers of heavy tails, and a part of each item that all views share, ``shared`` as strong as noise."""
    draw = np.random.default_rng(seed)
    sizes = np.arange(1, classes + 1) ** -unequal
    labels = np.concatenate([np.repeat(np.arange(classes), 3), draw.choice(classes, items, p=sizes / sizes.sum())])
    own = draw.normal(size=(len(labels), 8))
    rows = {}
    for number, apart in enumerate(worth):
        width = 40 + 25 * number
        scale = np.exp(0.5 * draw.normal(size=width))
        centres = apart * draw.normal(size=(classes, width))
        values = centres[labels] + shared * own @ draw.normal(size=(8, width)) / np.sqrt(8)
        values += draw.normal(size=values.shape)
        far = draw.random(len(labels)) < outliers
        values[far] = 4 * draw.standard_t(2, size=(int(far.sum()), width))
        rows[f"view {number}"] = (values * scale).astype(np.float32)
    return rows, labels


DRAWN: Mapping[str, Callable[[], Drawn]] = {
    "drawn texts": partial(texts, 1, classes=5, items=700, columns=3000, words=60, common=0.4),
    "drawn faces": partial(faces, 2, classes=40, each=10, widths=(300, 60, 200), noise=(0.15, 0.25, 0.45)),
    "drawn rings": partial(curves, 3, classes=4, items=500, turns=0, widths=(40, 25), noise=0.08),
    "drawn clouds": partial(
        clouds, 4, classes=8, items=700, unequal=1.0, worth=(1.0, 0.35, 0.1), outliers=0.08, shared=0.7
    ),
    "drawn reports": partial(texts, 5, classes=5, items=600, columns=3000, words=60, common=0.5, unequal=0.9),
    "drawn short texts": partial(texts, 11, classes=10, items=900, columns=5000, words=40, common=0.3),
    "drawn families": partial(faces, 12, classes=100, each=10, widths=(128, 400), noise=(0.3, 0.3)),
    "drawn spirals": partial(curves, 13, classes=3, items=600, turns=1.0, widths=(60, 15, 30), noise=0.06),
    "drawn noise": partial(clouds, 14, classes=15, items=900, unequal=0.5, worth=(0.5, 0.4), outliers=0.15, shared=0.5),
}
"""By name; each is always the same."""
