"""Suggested labels: votes of the nearest labelled items, calibrated on unseen ones; nothing is written."""

import gc
import weakref
from collections import Counter

import numpy as np
import pytest
from rows import GROUPS, each, fill, item, row

from crossview.engine.spaces.suggestion import calibrate, fitted_calibration, vote_shares
from crossview.engine.spaces.target import Near
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest, SuggestRequest
from crossview.engine.values.recipe import Recipe


def noisy(count=60, seed=0):
    """Return items on a line: the right half are mostly high, the left half mostly low, every tenth has both labels."""
    generator = np.random.default_rng(seed)
    places = generator.uniform(-1, 1, count)
    for number, place in enumerate(places.tolist()):
        high = place + generator.normal(0, 0.3) > 0
        labels = ("high", "low") if number % 10 == 0 else ("high",) if high else ("low",)
        yield NewItem(f"{number:03}", rows={"color": np.r_[place, np.zeros(63)]}, labels=labels)


@pytest.fixture
def line(home):
    with home.create("line", ["color"]) as made:
        made.items.put(list(noisy()))
        yield made


@pytest.fixture
def groups(home):
    with fill(home, "groups", [item(*one) for one in each()]) as made:
        yield made


def test_votes_are_those_of_the_nearest_others(line):
    """They are the shares of voters with a label, by an oracle that sorts all distances; an item has no own vote."""
    places = {one.key: float(one.rows["color"][0]) for one in noisy()}
    labels = {one.key: one.labels for one in noisy()}
    found = line.suggest(SuggestRequest([Query("color", key=key) for key in places], k=7, space="raw"))
    for key, suggested in zip(places, found.results, strict=True):
        others = sorted((other for other in places if other != key), key=lambda other: abs(places[other] - places[key]))
        votes = Counter(label for other in others[:7] for label in labels[other])
        assert suggested.known == labels[key]
        offered = {one.label: one.votes for one in suggested.labels + suggested.others}
        assert offered == pytest.approx({label: count / 7 for label, count in votes.items()})


@pytest.mark.parametrize("labelled", [1.0, 0.5])
def test_without_a_view_the_first_labelled_items_of_the_one_list_vote(groups, labelled):
    """They are those of a search by every view among labelled items; an item has no own vote."""
    without = [key for place, key in enumerate(sorted(f"{group}/{n:02}" for group, n in each())) if place % 2]
    if labelled < 1:
        groups.items.update([ItemUpdate(key, labels=()) for key in without])
    query = Query(key="owl/00")
    hits = groups.search(SearchRequest([query], k=7, space="raw", filter="label exists"))[0].hits
    votes = Counter(hit.labels[0] for hit in hits)
    suggestions = groups.suggest(SuggestRequest([query], k=7, space="raw"))
    (suggested,) = suggestions.results
    shares = {label.label: label.votes for label in suggested.labels + suggested.others}
    assert shares == pytest.approx({label: count / 7 for label, count in votes.items()})
    assert suggested.known == ("owl",)
    assert suggestions.calibration.startswith(f"shares are calibrated on {round(24 * labelled)} labelled items,")
    with pytest.raises(InvalidInputError, match="a vector or a class needs a view"):
        groups.suggest(SuggestRequest([Query(vector=row("color", "owl", 90))]))


def test_each_label_with_a_large_share_is_suggested(line):
    """Those below it are the others; the larger share comes first."""
    request = SuggestRequest([Query("color", vector=np.r_[place, np.zeros(63)]) for place in (-0.9, 0, 0.9)])
    for one in line.suggest(request).results:
        offered = one.labels + one.others
        assert [label.share for label in offered] == sorted((label.share for label in offered), reverse=True)
        assert all(label.share >= 0.5 for label in one.labels)
        assert all(label.share < 0.5 for label in one.others)
    left, _, right = line.suggest(request).results
    assert ([one.label for one in left.labels], [one.label for one in right.labels]) == (["low"], ["high"])


def test_items_with_several_labels_are_suggested_several(home):
    """Every label is judged by its own share."""
    with home.create("both", ["color"]) as made:
        rows = np.random.default_rng(0).normal(size=(20, 64))
        made.items.put([NewItem(f"{n}", rows={"color": rows[n]}, labels=("day", "sea")) for n in range(20)])
        (found,) = made.suggest(SuggestRequest([Query("color", vector=rows[0])])).results
    assert [one.label for one in found.labels] == ["day", "sea"]


def test_shares_are_calibrated_on_items_that_the_space_was_not_trained_on(groups):
    """Held-out items are the default, and the answer states how many; if a space learned from all, it warns."""
    groups.train(Recipe(spec="lda", views=("color",), holdout=0.25))
    query = Query("color", vector=row("color", "owl", 90))
    found = groups.suggest(SuggestRequest([query]))
    assert (
        found.calibration
        == "shares are calibrated on 6 labelled items of view 'color' that space 'lda' was not trained on"
    )
    assert [one.label for one in found.results[0].labels] == ["owl"]
    groups.train(Recipe(spec="lda", views=("color",)))
    assert "was trained on all of them, so shares are too high" in groups.suggest(SuggestRequest([query])).calibration
    raw = groups.suggest(SuggestRequest([query], space="raw")).calibration
    assert raw == "shares are calibrated on 24 labelled items of view 'color', none of which votes on itself"


def test_across_views_and_in_joined_ones(groups):
    """Voters are found in every requested target."""
    groups.train(Recipe(spec="cca", views=("color+gist", "gist"), dim=2, holdout=0.25))
    query = Query("gist", vector=row("gist", "dog", 90))
    for targets in ((), ("color+gist",), ("color+gist", "gist")):
        (found,) = groups.suggest(SuggestRequest([query], targets=targets, k=5)).results
        assert [one.label for one in found.labels] == ["dog"]


def test_nothing_sure_enough_is_suggested(line):
    """With random labels no share passes, and the answer lists all as the others."""
    generator = np.random.default_rng(0)
    line.items.put(
        [
            NewItem(one.key, rows={"color": generator.normal(size=64)}, labels=(str(generator.integers(8)),))
            for one in noisy()
        ]
    )
    found = line.suggest(SuggestRequest([Query("color", vector=generator.normal(size=64)) for _ in range(10)]))
    assert not any(one.labels for one in found.results)
    assert all(one.others for one in found.results)
    everything = line.suggest(SuggestRequest([Query("color", key="000")], min_share=0)).results[0]
    assert everything.labels
    assert not everything.others


def test_nothing_is_written(groups):
    """Sequence and items are as before."""
    before = groups.info().sequence, groups.items()
    groups.suggest(SuggestRequest([Query("color", key="cat/01"), Query("color", vector=row("color", "cat", 99))]))
    assert (groups.info().sequence, groups.items()) == before


def test_unlabelled_items_do_not_vote(groups):
    """This holds also if they are as near as possible."""
    groups.items.put([item("cat", 50 + n, labels=()) for n in range(20)])
    (found,) = groups.suggest(SuggestRequest([Query("color", key="cat/55")], k=5)).results
    assert [(one.label, one.votes) for one in found.labels] == [("cat", 1.0)]
    assert found.known == ()


@pytest.mark.parametrize("count", [1, 5, 50, 500])
def test_calibration_never_falls_and_learns_what_votes_are_worth(count):
    """Votes are right half as often as they say: many items show that, and few votes are believed."""
    generator = np.random.default_rng(count)
    shares = generator.integers(1, 11, 10 * count) / 10
    right = generator.random(len(shares)) < shares / 2
    found = fitted_calibration(shares, right, "")
    probabilities = [found.probability(share) for share in np.linspace(0, 1, 50)]
    assert (np.diff(probabilities) >= 0).all()
    assert 0 <= min(probabilities) <= max(probabilities) < 1
    if count == 500:
        assert found.probability(0.8) == pytest.approx(0.4, abs=0.1)
    if count == 1:
        assert found.probability(1.0) > 0.5 or not right[shares == 1].any()


def test_one_state_is_calibrated_once(line, home, monkeypatch):
    """Each view, space and k is calibrated once, and again after a change; earlier requests change no answer."""
    counted = []
    monkeypatch.setattr(
        "crossview.engine.spaces.suggestion.calibrate", lambda voters: counted.append(1) or calibrate(voters)
    )
    asked = SuggestRequest([Query("color", vector=np.r_[0.2, np.zeros(63)])], k=7)
    first = line.suggest(asked)
    assert [line.suggest(asked), line.suggest(asked)] == [first, first]
    assert len(counted) == 1
    line.suggest(SuggestRequest(asked.queries, k=6))
    assert len(counted) == 2
    line.items.update([ItemUpdate(f"{number:03}", labels=("new",)) for number in range(20)])
    after = line.suggest(asked)
    assert len(counted) == 3
    with home.open("line") as opened:
        assert opened.suggest(asked) == after != first


def test_metrics_of_one_view_vote_by_distance():
    """If distances are on a common scale, the k nearest over all targets vote, each item once."""
    labels = {1: ("a",), 2: ("b",), 3: ("b",), 4: ("a",)}
    lists = [Near(np.array([1, 4]), np.array([0.1, 9.0])), Near(np.array([2, 1, 3]), np.array([0.2, 0.3, 0.4]))]
    assert vote_shares(lists, labels, 3, comparable=True) == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    assert vote_shares(lists, labels, 3, comparable=False) == pytest.approx({"a": 3 / 5, "b": 2 / 5})


def test_what_cannot_be_answered_is_refused(groups, home):
    query = Query("color", key="cat/01")
    with pytest.raises(InvalidInputError, match=r"min_share must be a probability between 0 and 1, not 1\.5"):
        groups.suggest(SuggestRequest([query], min_share=1.5))
    with pytest.raises(InvalidInputError, match="k must be at least 1"):
        groups.suggest(SuggestRequest([query], k=0))
    with fill(home, "bare", [item(group, 0, labels=()) for group in GROUPS]) as bare:
        with pytest.raises(NotReadyError, match=r"has a label: label some items with: `collection.index\(\["):
            bare.suggest(SuggestRequest([Query("color", key="cat/00")]))
        bare.items.put([item("cat", 1)])
        with pytest.raises(NotReadyError, match="too few labelled items of view 'color' can vote"):
            bare.suggest(SuggestRequest([Query("color", key="cat/00")]))


def test_voters_keep_no_index_that_compaction_replaced(line):
    """While the state stays the same, its remembered values must not hold both."""
    request = SuggestRequest([Query("color", vector=np.zeros(64))], k=3)
    line.suggest(request)
    line.items.delete([f"{number:03}" for number in range(10)])
    line.suggest(request)
    (covered,) = line._opened.versions().current().space("raw").indexes.values()
    index = weakref.ref(covered.index)
    assert covered.index.waste
    del covered
    line._opened.versions().compact()
    gc.collect()
    assert index() is None
