"""Judgements in searches: which count, how a search continues with them, and their comparisons."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notions import COUNT, fill_things, key, rows

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.findings.questions.collected_answers import by_notion
from crossview.engine.findings.questions.feedback import FAR, MOST_AS_ANCHOR, MOST_AS_FAR, NEAR, answers_of
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InputWarning, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.feedback import MOST_JUDGED, Judgement
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe


@pytest.fixture
def things(home: Home):
    fill_things(home)
    with home.open("things") as made:
        yield made


def counted(judgements: list[Judgement]) -> list[tuple[str, float, str]]:
    return [(one.key, one.weight, one.person) for one in judgements]


def found(things: Collection, *queries: Query, **options: object) -> list[str]:
    options = {"feedback": "reds", "k": COUNT, **options}
    (hits,) = things.search(SearchRequest(queries, **options))  # type: ignore[arg-type]
    return [hit.key for hit in hits.hits]


def test_the_last_judgement_of_a_key_counts_and_undoing_it_returns_to_the_one_before(things: Collection) -> None:
    """Any person may have made it; a person undoes only their own."""
    judge = things.feedback.judge
    assert counted(judge("reds", [key(0), key(1)], key(2), person="ann")) == [
        *((key(0), 1.0, "ann"), (key(1), 1.0, "ann"), (key(2), -1.0, "ann"))
    ]
    kept = judge("reds", unlikes={key(0): 2}, person="bob")
    assert counted(kept) == [(key(1), 1.0, "ann"), (key(2), -1.0, "ann"), (key(0), -2.0, "bob")]
    assert all(one.id and one.created.endswith("+00:00") for one in kept)
    (info,) = things.feedback.list()
    assert (info.name, info.examples, info.counter_examples, info.people) == ("reds", 1, 2, {"ann": 2, "bob": 1})
    assert things.feedback.undo("reds", "bob").key == key(0)
    assert counted(things.feedback.get("reds"))[0] == (key(0), 1.0, "ann")
    with pytest.raises(NotFoundError, match="bob has judged nothing in feedback 'reds'"):
        things.feedback.undo("reds", "bob")
    assert [things.feedback.undo("reds", "ann").key for _ in range(3)] == [key(2), key(1), key(0)]
    assert things.feedback.list() == []


def test_judging_the_same_again_stores_nothing(things: Collection) -> None:
    """A command that is run again leaves one judgement to undo."""
    first = things.feedback.judge("reds", key(0), person="ann")
    assert things.feedback.judge("reds", key(0), person="ann") == first
    things.feedback.judge("reds", key(0), person="bob")
    assert len(things.feedback.judge("reds", key(0), person="ann")) == 1
    with Home(things._opened.folder.path.parent).open("things") as again:
        assert [again.feedback.undo("reds", "ann").id > first[0].id, again.feedback.get("reds")[0].person] == [
            True,
            "bob",
        ]


def test_a_search_goes_on_from_what_is_kept(things: Collection) -> None:
    """The answer equals that of the same judgements given again, in the views of its queries, with its own inputs."""
    things.feedback.judge("reds", {key(0): 2, key(1): 1}, [key(2)], person="ann")
    examples = [Query("view", key=key(0), weight=2), Query("view", key=key(1)), Query("view", key=key(2), weight=-1)]
    plain = found(things, *examples, combine="learn", feedback="")
    assert len(plain) == COUNT - 3
    assert plain == found(things) == found(things, Query("view")) == found(things, Query())
    assert (
        things.search(feedback="reds", view="view", k=3)[0].hits
        == things.search(SearchRequest(examples, combine="learn", k=3))[0].hits
    )
    for way in ("mean", "best", "context"):
        assert found(things, combine=way) == found(things, *examples, combine=way, feedback="")
    vector = Query("view", vector=rows()[9])
    assert found(things, vector) == found(things, vector, *examples, combine="learn", feedback="")
    other = Query("view", key=key(0), weight=-1)  # the search contradicts the judgement
    assert found(things, other) == found(things, other, *examples[1:], combine="learn", feedback="")
    assert key(0) in found(things, with_examples=True)


def test_judgements_of_deleted_items_are_left_out_with_a_warning(things: Collection) -> None:
    """They count again if an item with the key returns."""
    things.feedback.judge("reds", [key(0), key(1)], [key(2)], person="ann")
    before = found(things)
    things.items.delete([key(1)])
    with pytest.warns(InputWarning, match="1 of 3 judgements of feedback 'reds' left out: there is no item 'item/01'"):
        assert len(found(things)) == COUNT - 3
    things.items.put([NewItem(key(1), rows={"view": rows()[1]})])
    assert found(things) == before
    things.items.delete([key(n) for n in range(3)])
    with (
        pytest.warns(InputWarning, match="3 of 3"),
        pytest.raises(NotReadyError, match="no item that feedback 'reds' has judgements of is left"),
    ):
        found(things)


def test_keys_are_kept_in_the_form_of_the_catalog(home: Home) -> None:
    """Each item has one judgement, for any form of its key."""
    with home.create("forms", ["v=vectors:dim=1"]) as made:
        made.items.put([NewItem("r\u00e9", rows={"v": [1]})])
        made.feedback.judge("f", "re\u0301", person="ann")
        assert counted(made.feedback.judge("f", (), "r\u00e9", person="ann")) == [("r\u00e9", -1.0, "ann")]
        with pytest.raises(InvalidInputError, match="by two forms of its key"):
            made.feedback.judge("f", "re\u0301", "r\u00e9", person="ann")
        assert made.feedback.delete("f", "re\u0301") == 1


def test_mistakes_name_the_value_and_store_nothing(things: Collection) -> None:
    judge = things.feedback.judge
    for error, words, call in (
        (InvalidInputError, "cannot name feedback", lambda: judge("two words", key(0), person="ann")),
        (InvalidInputError, "cannot name a person", lambda: judge("reds", key(0), person="")),
        (InvalidInputError, "liked and disliked at once", lambda: judge("reds", key(0), key(0), person="ann")),
        (InvalidInputError, "number above 0, not -1", lambda: judge("reds", {key(0): -1}, person="ann")),
        (InvalidInputError, "number above 0, not nan", lambda: judge("reds", {key(0): np.nan}, person="ann")),
        (InvalidInputError, "nothing to judge", lambda: judge("reds", person="ann")),
        (NotFoundError, "no item 'none'", lambda: judge("reds", [key(0), "none"], person="ann")),
        (NotFoundError, "no feedback 'reds' in collection 'things'; there is none", lambda: found(things)),
        (NotFoundError, "there is none", lambda: things.feedback.get("reds")),
        (NotFoundError, "there is none", lambda: things.feedback.delete("reds")),
    ):
        with pytest.raises(error, match=words):
            call()
    assert things.feedback.list() == []
    judge("blues", key(0), person="ann")
    with pytest.raises(NotFoundError, match="there is: blues"):
        things.feedback.get("reds")
    with pytest.raises(NotFoundError, match="nobody has judged 'item/09'"):
        things.feedback.delete("blues", [key(9)])
    assert (things.feedback.delete("blues"), things.feedback.list()) == (1, [])
    judge("blues", (), key(0), person="ann")
    with pytest.raises(InvalidInputError, match="give at least one example"):
        found(things, feedback="blues")


def test_feedback_has_a_limit(things: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts items, not changes of mind."""
    assert MOST_JUDGED == 1_000
    monkeypatch.setattr("crossview.engine.findings.questions.feedback.MOST_JUDGED", 3)
    things.feedback.judge("reds", [key(0), key(1), key(2)], person="ann")
    things.feedback.judge("reds", (), [key(0), key(1)], person="ann")
    with pytest.raises(InvalidInputError, match="judgements of 4 items"):
        things.feedback.judge("reds", key(3), person="ann")


@settings(max_examples=150)
@given(likes=st.integers(0, 40), unlikes=st.integers(0, 40))
def test_each_judgement_is_in_a_bounded_number_of_comparisons(likes: int, unlikes: int) -> None:
    """All examples are used, and all counter-examples of enough examples; no answer is invalid or there twice."""
    judged = [
        Judgement(key=f"{kind}{n}", weight=weight, person="ann")
        for kind, weight, count in (("+", 1.0, likes), ("-", -0.5, unlikes))
        for n in range(count)
    ]
    made = answers_of(judged, "color", "reds")
    assert bool(made) == (likes >= 2 and unlikes >= 1)
    for answer in made:
        answer.check()
        assert {one[0] for one in (answer.anchor, *answer.near)} == {"+"}
        assert {one[0] for one in answer.far} == {"-"}
    assert len({(one.anchor, one.near, one.far) for one in made}) == len(made)
    anchors, near, far = (
        Counter(key for one in made for key in keys(one))
        for keys in (lambda one: [one.anchor], lambda one: one.near, lambda one: one.far)
    )
    assert max(anchors.values(), default=0) <= MOST_AS_ANCHOR
    assert max(near.values(), default=0) <= NEAR * MOST_AS_ANCHOR
    assert max(far.values(), default=0) <= MOST_AS_FAR
    if made and likes <= unlikes <= FAR * likes:
        assert len(anchors | near) == likes
        assert len(far) == unlikes


def test_remembered_judgements_are_answers_of_their_persons(things: Collection) -> None:
    """They are stored once, after any number of calls; later judgements replace them, and other answers stay."""
    things.feedback.judge("reds", [key(0), key(1), key(2)], [key(3), key(4)], person="ann")
    things.feedback.judge("reds", [key(3), key(5)], [key(0)], person="bob")
    things.feedback.judge("reds", [key(6)], person="eve")
    made = things.feedback.remember("reds", "color")
    assert things.questions.answers() == made
    assert Counter(one.person for one in made) == {"ann": 3, "bob": 2}  # each by their own judgements
    assert {(one.notion, one.feedback) for one in made} == {("color", "reds")}
    (summary,) = by_notion(made)
    assert (summary.triplets, summary.people) == (14, {"ann": 3, "bob": 2})
    assert things.feedback.remember("reds", "color") == made == things.questions.answers()
    things.feedback.remember("reds", "shape", "ann")
    assert Counter(one.notion for one in things.questions.answers()) == {"color": 5, "shape": 3}
    things.feedback.judge("reds", (), [key(2)], person="ann")
    again = things.feedback.remember("reds", "color")
    assert things.questions.answers("color") == again
    assert key(2) not in {one for answer in again for one in (answer.anchor, *answer.near)}
    things.items.delete([key(5)])
    assert {one.person for one in things.feedback.remember("reds", "color")} == {"ann"}
    with pytest.raises(NotReadyError, match="eve has not judged two examples and a counter-example"):
        things.feedback.remember("reds", "color", "eve")
    with pytest.raises(InvalidInputError, match="cannot name a notion"):
        things.feedback.remember("reds", "two words")
    asked = things.questions.answer(again[0])
    assert asked.feedback == ""
    things.feedback.delete("reds")
    assert things.feedback.forget("reds", "shape") == 3
    assert things.feedback.forget("reds") == 2
    assert things.questions.answers() == [asked]


def test_a_metric_of_remembered_judgements_finds_more_of_what_people_like(home: Home) -> None:
    """It does so among the items without judgement, for every judged example; most columns of the rows are noise."""
    generator, count = np.random.default_rng(0), 160
    liked, judged = np.arange(count) % 2 == 0, np.arange(count) < 40
    features = generator.normal(size=(count, 8)).astype(np.float32)
    features[:, 0] = features[:, 0] / 3 + liked
    with home.create("drawn", ["view=vectors:dim=8"]) as made:
        made.items.put([NewItem(f"{n:03}", rows={"view": row}) for n, row in enumerate(features)])
        likes, unlikes = ([f"{n:03}" for n in np.flatnonzero(judged & (liked == one))] for one in (True, False))
        made.feedback.judge("reds", likes, unlikes, person="ann")
        made.feedback.remember("reds", "color")
        made.train(Recipe(views=("view",), answers=True), space="learned")
        unjudged = Filter(keys=tuple(f"{n:03}" for n in np.flatnonzero(~judged)))

        def precision(space: str) -> float:
            lists = (made.search(view="view", key=one, space=space, filter=unjudged)[0].hits for one in likes)
            return float(np.mean([liked[int(hit.key)] for hits in lists for hit in hits]))

        assert precision("raw") < 0.7
        assert precision("learned") > 0.85
