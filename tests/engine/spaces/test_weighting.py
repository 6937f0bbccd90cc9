"""Weighted notions: the nearest by sqrt(sum of w_t d_t^2), exactly."""

import numpy as np
import pytest

from crossview.engine.spaces.scans import nearest_by_weights, text_of_weights
from crossview.engine.spaces.search import check_search
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.query import Query, SearchRequest
from crossview.index.flat import FlatIndex

WIDTHS = (3, 5, 2)


def targets() -> list[Target]:
    return [Target(view="v", name=str(number), metric=number, dim=width) for number, width in enumerate(WIDTHS)]


@pytest.mark.parametrize(("count", "k"), [(4, 10), (200, 1), (3_000, 7)])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("opposed", [False, True])
def test_it_finds_what_a_scan_of_all_items_finds(count: int, k: int, filtered: bool, opposed: bool) -> None:
    """It does for any weights, for queries that are items and others, and for notions that agree or are opposed."""
    drawn = np.random.default_rng(count)
    rows = [drawn.normal(size=(count, width)).astype(np.float32) for width in WIDTHS]
    if opposed:  # a neighbour in one notion is far in the other
        rows[1][:] = 5 / (0.1 + np.linalg.norm(rows[0], axis=1, keepdims=True))
    ids = np.sort(drawn.choice(10 * count, count, replace=False))
    flat = [FlatIndex(width).changed([], ids, one) for width, one in zip(WIDTHS, rows, strict=True)]
    indexes = dict(zip(targets(), flat, strict=True))
    asked = [np.vstack([one[:2], drawn.normal(size=(2, one.shape[1])).astype(np.float32)]) for one in rows]
    own, weights = [int(ids[0]), None, None, None], (2.0, 0.5, 0.0)
    kept = ids[::3] if filtered else ids
    only = (lambda target: indexes[target].selection(kept)) if filtered else None
    found = nearest_by_weights(indexes, dict(zip(targets(), asked, strict=True)), weights, own, k, only)
    squares = sum(
        weight * np.square(probe[:, None].astype(float) - one[None]).sum(axis=2)
        for weight, probe, one in zip(weights, asked, rows, strict=True)
    )
    for query, hits in enumerate(found):
        usable = np.flatnonzero(np.isin(ids, kept) & (ids != own[query]))
        order = usable[np.argsort(squares[query, usable], kind="stable")][:k]
        assert hits.ids.tolist() == ids[order].tolist()
        np.testing.assert_allclose(hits.distances, np.sqrt(squares[query, order]), rtol=1e-6)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"weights": {"head": -1.0}}, "the weight of 'head' must be a number from 0 up, not -1"),
        ({"weights": {"head": float("nan")}}, "must be a number from 0 up"),
        ({"weights": {"head": 0.0, "wing": 0.0}}, "every weight is 0"),
        ({"weights": {"head": 1.0}, "targets": ["head"]}, "leave the targets out"),
        ({"weights": {"head": 1.0}, "merge": False}, "cannot be grouped by target"),
    ],
)
def test_weights_that_make_no_sense_are_refused(asked, words) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_search(SearchRequest([Query("v", key="a")], **asked))


def test_hits_name_the_weights_in_place_of_a_target() -> None:
    assert text_of_weights({"wing": 1.0, "head": 0.5}) == "head=0.5,wing=1"
