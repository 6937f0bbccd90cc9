"""Questions to people: which are asked, and how answers are kept."""

from collections import Counter

import numpy as np
import pytest
from notions import COUNT, fill_things, key

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.findings.questions import asking
from crossview.engine.findings.questions.collected_answers import by_notion, every_answer
from crossview.engine.values.comparisons import Answer, ItemComparisons, QuestionRequest
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import NewItem


@pytest.fixture
def things(home: Home):
    fill_things(home)
    with home.open("things") as made:
        yield made


def said(anchor: int, near: tuple[int, ...], far: tuple[int, ...], **others: str) -> Answer:
    """Return an answer by the numbers of items; by default ann gives it in the notion head."""
    named = {"notion": "head", "person": "ann"} | others
    return Answer(anchor=key(anchor), near=tuple(map(key, near)), far=tuple(map(key, far)), **named)


@pytest.mark.parametrize(("kind", "count"), [("single", 2), ("grid", 9)])
@pytest.mark.parametrize("view", ["", "view"])
def test_a_question_is_about_different_items(things: Collection, kind: str, count: int, view: str) -> None:
    """The seed draws it: the same one again, and another one for another seed."""
    request = QuestionRequest(notion="head", person="ann", kind=kind, view=view, seed=3)
    question = things.questions.next(request)
    assert (question.notion, len(question.candidates)) == ("head", count)
    assert len({question.anchor, *question.candidates}) == count + 1
    assert things.questions.next(request) == question
    others = {
        things.questions.next(QuestionRequest(notion="head", person="ann", seed=seed)).anchor for seed in range(9)
    }
    assert len(others) > 1


def test_answers_are_kept_in_order_with_who_and_when(things: Collection) -> None:
    """They are listed by notion and by person, page by page; also after the collection was opened again."""
    first = things.questions.answer(said(0, (1,), (2,)))
    assert (first.id > 0, first.created.endswith("+00:00"), first.kind) == (True, True, "single")
    second = things.questions.answer(said(3, (4, 5), (6, 7, 8), person="bob"))
    third = things.questions.answer(said(3, (4,), (5,), notion="wing"))
    with Home(things._opened.folder.path.parent).open("things") as again:
        assert again.questions.answers() == [first, second, third]
        assert again.questions.answers("head") == [first, second]
        assert again.questions.answers("head", "bob") == [second]
        assert again.questions.answers(after=first.id, limit=1) == [second]
        assert list(every_answer(again.questions, person="ann")) == [first, third]


def test_an_answer_stands_for_every_pair_of_a_near_and_a_far_one() -> None:
    """Four near ones and five far ones are 20 comparisons; an answer without a choice has none."""
    grid = said(0, (1, 2, 3, 4), (5, 6, 7, 8, 9))
    assert (grid.kind, len(grid.triplets), len(set(grid.triplets))) == ("grid", 20, 20)
    given = ItemComparisons.of_answers([grid, said(0, (), (1, 2)), said(1, (2,), (0,), notion="wing")])
    assert (len(given), given.notions) == (21, ("head", "wing"))
    assert Counter(given.comparisons.notions.tolist()) == {"head": 20, "wing": 1}


def test_the_last_answer_of_a_person_is_undone(things: Collection) -> None:
    """Only that person's answer in that notion goes."""
    first, second = (things.questions.answer(said(number, (1,), (2,))) for number in (5, 6))
    kept = things.questions.answer(said(7, (1,), (2,), person="bob"))
    assert things.questions.undo("head", "ann") == second
    assert things.questions.answers() == [first, kept]
    things.questions.undo("head", "ann")
    with pytest.raises(NotFoundError, match="ann has given no answer in the notion 'head'"):
        things.questions.undo("head", "ann")


def test_who_answers_is_sometimes_asked_what_others_were(things: Collection) -> None:
    """It shows how far people agree; no person gets their own question again."""
    ask = [QuestionRequest(notion="head", person="bob", kind="single", seed=seed) for seed in range(100)]
    things.questions.answer(said(0, (1,), (2,)))
    wanted = (key(0), {key(1), key(2)})
    asked = [(found.anchor, set(found.candidates)) for found in map(things.questions.next, ask)]
    assert 1 <= asked.count(wanted) <= 30
    things.questions.answer(said(0, (2,), (1,), person="bob"))
    asked = [(found.anchor, set(found.candidates)) for found in map(things.questions.next, ask)]
    assert asked.count(wanted) <= 1  # by chance alone


def test_people_who_disagree_are_shown() -> None:
    """They are shown by comparison, for any kind of question; of one person the last answer counts."""
    answers = [
        said(0, (1,), (2,)),
        said(0, (2,), (1,)),
        said(0, (1, 3), (2,), person="bob"),
        said(0, (3,), (2,), person="eve"),
        said(5, (6,), (7,), notion="wing"),
    ]
    head, wing = by_notion(answers)
    assert (head.notion, head.answers, head.triplets, head.people) == ("head", 4, 5, {"ann": 2, "bob": 1, "eve": 1})
    (dispute,) = head.disputes
    assert (head.compared, dispute.anchor) == (2, key(0))
    assert dispute.nearer == {key(1): ("bob",), key(2): ("ann",)}
    assert head.sentence == "head: people agree on 1 of the 2 comparisons that several of them made"
    assert (wing.compared, wing.disputes) == (0, ())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (said(0, (1,), ()), "an answer has 2 to 9 candidates, near and far together, not 1"),
        (said(0, (1,), tuple(range(2, 12))), "not 11"),
        (said(0, (1,), (0,)), "must name the anchor and each candidate exactly once"),
        (said(0, (1,), (2,), notion="a:b"), "'a:b' cannot name a notion"),
        (said(0, (1,), (2,), person=" "), "cannot name a person"),
    ],
)
def test_what_is_no_answer_is_refused(things: Collection, answer: Answer, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        things.questions.answer(answer)
    assert things.questions.answers() == []


def test_questions_that_cannot_be_asked_are_refused(things: Collection, home: Home) -> None:
    """An unknown kind, view or item, a seed out of range, and too few items."""
    with pytest.raises(InvalidInputError, match="kind of a question must be single or grid, not 'both'"):
        things.questions.next(QuestionRequest(notion="head", person="ann", kind="both"))
    with pytest.raises(InvalidInputError, match="a seed must be between 0 and 2147483647, not -1"):
        things.questions.next(QuestionRequest(notion="head", person="ann", seed=-1))
    with pytest.raises(NotFoundError, match="view"):
        things.questions.next(QuestionRequest(notion="head", person="ann", view="gist"))
    with pytest.raises(NotFoundError, match="no item 'item/99'"):
        things.questions.answer(said(0, (1,), (99,)))
    with home.create("few", ("v=vectors:dim=1",)) as few:
        few.items.put([NewItem(str(number), rows={"v": [number]}) for number in range(4)])
        with pytest.raises(NotReadyError, match="a grid question needs 10 items, and there are 4"):
            few.questions.next(QuestionRequest(notion="head", person="ann"))
        assert few.questions.next(QuestionRequest(notion="head", person="ann", kind="single"))


def test_answers_on_deleted_items_are_not_asked_or_learned_from(things: Collection) -> None:
    """They stay, and count again when the item comes back."""
    things.questions.answer(said(0, (1,), (2,)))
    things.items.delete([key(2)])
    for seed in range(30):
        asked = things.questions.next(QuestionRequest(notion="head", person="bob", kind="single", seed=seed))
        assert key(2) not in (asked.anchor, *asked.candidates)
    assert len(things.questions.answers()) == 1
    assert things.count() == COUNT - 1
    things.items.put([NewItem(key(2), rows={"view": np.zeros(6)})])
    assert things.questions.answers()[0].triplets == [(key(0), key(1), key(2))]


def test_a_question_of_many_items_reads_a_sample(things: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory does not grow with the collection: it copies only the vectors of a sample and of answers."""
    things.questions.answer(said(0, (1,), (2,)))
    index = things._opened.versions().answered(
        "raw", lambda _, raw: raw.targets_for("view"), lambda state: next(iter(state.indexed.indexes.values())).index
    )
    read, real = [], type(index).get
    monkeypatch.setattr(type(index), "get", lambda self, ids: read.append(len(ids)) or real(self, ids))
    monkeypatch.setattr(asking, "MOST_DRAWN", 12)
    asked = [QuestionRequest(notion="head", person="ann", view="view", seed=seed) for seed in range(20)]
    questions = list(map(things.questions.next, asked))
    assert max(read) <= 12 + 3
    assert list(map(things.questions.next, asked)) == questions
    assert len({name for one in questions for name in (one.anchor, *one.candidates)}) > 20
    bare = [QuestionRequest(notion="head", person="ann", seed=seed) for seed in range(20)]
    assert len({things.questions.next(one).anchor for one in bare}) > 12
