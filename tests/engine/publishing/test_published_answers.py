"""A published collection answers as the collection that was published."""

import numpy as np
import pytest
from published import WIDTHS, row

from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import CrossviewError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.query import CalibrationRequest, Query, SameRequest, SearchRequest, SuggestRequest

SPECS = ["", "cca", "lsh:64", "itq:4", "npp-hash", "raw"]
CODES = ("lsh:64", "itq:4")
CONDITIONS = [
    "label = a",
    "not label = a",
    "label in [b, c]",
    "n < 50",
    "not n < 90",
    "n >= 10 and s = t3",
    "n in [1, 2, 3] or s = t1",
    "s contains T3",
    'key prefix "k/1"',
    'text contains "item 1"',
    "view = w",
    "not view = w",
    "zz exists",
    "not zz exists and n between 5 and 9",
    "deep.even = true",
    "many = 7",
]


def near(*numbers: int, shift: float = 0.1) -> list[Query]:
    return [Query(view, vector=row(number, view) + shift) for number in numbers for view in WIDTHS]


@pytest.mark.parametrize("spec", SPECS)
def test_searches_by_vector_and_by_key_have_the_same_hits(alike, spec):
    """Keys, distances, labels, attributes, texts and matches are equal; near copies come first in both."""
    both = alike(spec)
    both.check(SearchRequest(near(3, 8, 17)))
    both.check(SearchRequest(near(3, shift=0.0)))
    found = both.check(SearchRequest([Query(view, key="k/003") for view in WIDTHS], k=20))
    assert all(hit.key != "k/003" for hits in found for hit in hits)
    both.check(SearchRequest([Query("v", key="half/1")]))


@pytest.mark.parametrize("spec", SPECS)
def test_many_hits_and_few(alike, spec):
    both = alike(spec)
    for k in (1, 1_000):
        both.check(SearchRequest(near(5), k=k))


@pytest.mark.parametrize("spec", ["", "lsh:64", "npp-hash"])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.filterwarnings("ignore::crossview.engine.values.errors.InputWarning")
def test_conditions_choose_the_same_items(alike, spec, condition):
    """The engine decides some, and others are tested after its search."""
    alike(spec).check(SearchRequest(near(3), filter=Filter(condition), k=7))
    alike(spec).check(SearchRequest([Query("v", key="k/003")], filter=Filter(condition), k=7))


@pytest.mark.parametrize("spec", ["", "cca", "itq:4"])
def test_options_of_a_search_mean_the_same(alike, spec):
    both = alike(spec)
    whole = both.check(SearchRequest(near(3), k=50))
    middle = whole[0][20].distance + 1e-4
    both.check(SearchRequest(near(3), k=50, max_distance=middle))
    both.check(SearchRequest(near(3), k=50, exact=True))
    for options in ({"min_match": 0.5}, {"merge": False}, {"targets": ("w",)}):
        alike_or_refused(both, SearchRequest(near(3), k=50, **options))


def test_an_engine_does_not_fuse_lists_without_a_common_scale(alike):
    """Fusing needs the distances of all items."""
    with pytest.raises(InvalidInputError, match="no common scale"):
        alike("").published.search(SearchRequest(near(3), k=50, merge=True))


def alike_or_refused(both, request):
    """Check that both answer a search alike, or that both refuse it for the same reason."""
    try:
        both.collection.search(request)
    except CrossviewError as refused:
        with pytest.raises(type(refused)):
            both.published.search(request)
    else:
        both.check(request)


@pytest.mark.parametrize("spec", ["", "cca", "lsh:64"])
def test_embeddings_are_the_same(alike, spec):
    both = alike(spec)
    queries = [*near(3, 4), Query("v", key="k/005")]
    for one, other in zip(both.collection.embed(queries), both.published.embed(queries), strict=True):
        assert (one.query, one.target, one.bits) == (other.query, other.target, other.bits)
        np.testing.assert_allclose(one.vector, other.vector, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spec", ["", "cca"])
def test_suggested_labels_are_the_same(alike, spec):
    both = alike(spec)
    request = SuggestRequest([*near(3, 4, 9), Query("w", key="k/007")])
    one, other = both.collection.suggest(request), both.published.suggest(request)
    assert one.calibration == other.calibration
    for left, right in zip(one.results, other.results, strict=True):
        assert (left.query, left.known) == (right.query, right.known)
        assert [found.label for found in left.labels] == [found.label for found in right.labels]
        assert [found.share for found in left.labels] == pytest.approx([found.share for found in right.labels])


def test_verdicts_and_probabilities_need_thresholds_of_the_bundle(changing):
    """They are those of the published collection, calibrated before it was published."""
    both = changing("cca")
    pairs = SameRequest([(Query("v", key="k/001"), Query("w", key="k/005")), tuple(near(1))])
    with pytest.raises(NotReadyError):
        both.published.same(pairs)
    for target in WIDTHS:
        both.collection.spaces.calibrate(CalibrationRequest(view="v", target=target, space="cca"))
    assert both.publish().switched
    both.published.close()
    both.published = both.opened()
    for one, other in zip(both.collection.same(pairs), both.published.same(pairs), strict=True):
        assert vars(one) == pytest.approx(vars(other), abs=1e-3)
    request = SearchRequest([Query("v", key="k/001")], probabilities=True, base_rate=0.1)
    both.check(request)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"fuse": "rank"}, "fuse"),
        ({"sort_by": "n"}, "sort"),
        ({"per": "label"}, "group"),
        ({"diversity": 0.5}, "group"),
        ({"k": 20_000}, "16,384"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(alike, options, reason):
    with pytest.raises(InvalidInputError, match=reason):
        alike("cca").published.search(SearchRequest(near(3)[:1], **options))


def test_wrong_requests_get_the_errors_of_a_collection(alike):
    both = alike("cca")
    for request in (
        SearchRequest([Query("v", vector=np.ones(3))]),
        SearchRequest([Query("v", vector=np.full(6, np.nan))]),
        SearchRequest([Query("zz", vector=np.ones(6))]),
        SearchRequest([Query("v", key="nobody")]),
        SearchRequest(near(3), k=0),
        SearchRequest(near(3), targets=("zz",)),
        SearchRequest([]),
        SearchRequest(near(3), space="nobody"),
    ):
        with pytest.raises(CrossviewError) as refused:
            both.collection.search(request)
        with pytest.raises(type(refused.value)):
            both.published.search(request)
    with pytest.raises(NotFoundError, match="nobody"):
        both.published.items.get("nobody")
