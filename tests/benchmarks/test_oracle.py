"""The oracle run finds wrong answers among made-up ones, and a short run finds none."""

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.serve.oracle import benchmark
from benchmarks.serve.oracle.histories import histories, judge
from benchmarks.serve.oracle.questions import REFUSAL, Answer, Listing, Maps, Search, ShownItem, is_exact_scan
from benchmarks.serve.oracle.states import ForeignRowError, Record, SpaceState, State, count_of, key_of, row
from benchmarks.serve.oracle.writes import DONE, REFUSED, UNKNOWN, Delete, Label, Put, Write

START = State({number: Record(v=1, written=1, labels=("red",)) for number in range(4)})
NEAREST = Search("v", "v", 2, "raw", vector=tuple(row("v", 0, 1).tolist()))


def put(count: int, *numbers: int, began: float = 1, ended: float = 2, outcome: str = DONE) -> Put:
    return Put(count=count, view="v", counts=dict.fromkeys(numbers, count), began=began, ended=ended, outcome=outcome)


def exact(state: State, question: Search = NEAREST) -> list[ShownItem]:
    """Return the right answer to a search."""
    query = np.array(question.vector)
    distances = {number: float(np.linalg.norm(row("v", number, one.v) - query)) for number, one in state.items.items()}
    nearest = sorted(distances, key=distances.__getitem__)[: question.k]
    shown = ((number, state.items[number]) for number in nearest)
    return [ShownItem(key_of(number), distances[number], one.labels, one.attributes) for number, one in shown]


def wrong(writes: Sequence[Write], *answers: Answer, end: State | None = None) -> int | None:
    """Return the number of wrong answers of a round that began with START and ended as the writes in order end."""
    if end is None:
        end = START
        for write in writes:
            end = write.after(end) if write.outcome == DONE else end
    verdict = judge(START, writes, answers, end.seen(), Maps())
    return None if verdict is None else len(verdict.wrong)


def answer(state: State, began: float, ended: float, value: list[ShownItem] | None = None) -> Answer:
    return Answer(NEAREST, "a server", began, ended, exact(state) if value is None else value)


def test_a_row_tells_whose_it_is():
    assert count_of("v", key_of(7), row("v", 7, 12_345)) == 12_345
    with pytest.raises(ForeignRowError, match="item-008 has a row of view v of item 7, write 12345"):
        count_of("v", key_of(8), row("v", 7, 12_345))


def test_what_an_answer_shows_is_compared():
    """The comparison covers keys, distances, labels, attributes and the number of items."""
    right = exact(START)
    first = right[0]
    maps = Maps()
    assert NEAREST.fits(right, START, maps)
    changed = [
        [first._replace(key=key_of(3)), right[1]],
        [first._replace(distance=first.distance + 0.1), right[1]],
        [first._replace(labels=("blue",)), right[1]],
        [first._replace(attributes={"count": 2}), right[1]],
        [first, first],
        right[:1],
        right[::-1],
        REFUSAL,
    ]
    assert not any(NEAREST.fits(one, START, maps) for one in changed[:6])
    assert NEAREST.fits(right[::-1], START, maps) is False
    assert not NEAREST.fits(REFUSAL, START, maps)


def test_near_copies_are_first_or_where_their_distance_places_them():
    numbers, items, query = np.array([1, 2, 3]), np.array([[1.0], [2.0], [3.0]]), np.zeros(1)

    def fits(*pairs: tuple[int, float]) -> bool:
        shown = [ShownItem(key_of(number), distance, (), {}) for number, distance in pairs]
        return is_exact_scan(shown, numbers, items, query, {3: 0.5})

    assert fits((3, 0.5), (1, 1), (2, 2))
    assert fits((1, 1), (2, 2), (3, 3))
    assert not fits((2, 0.5), (1, 1), (3, 3))
    assert not fits((3, 0.4), (1, 1), (2, 2))
    assert not fits((1, 1), (3, 0.5), (2, 2))
    assert not fits((3, 0.5), (2, 2), (1, 1))


def test_what_was_acknowledged_before_the_question_is_seen():
    write = put(2, 0, 1)
    after = write.after(START)
    assert wrong([write], answer(START, 1.2, 1.3), answer(after, 1.4, 1.5), answer(after, 3, 4)) == 0
    assert wrong([write], answer(START, 3, 4)) == 1
    assert wrong([write], answer(after, 0.1, 0.5)) == 1


def test_nothing_is_answered_of_half_a_write():
    write = put(2, 0, 1)
    assert wrong([write], answer(put(2, 0).after(START), 1.2, 1.3)) == 1


def test_nobody_goes_back_to_an_earlier_state():
    """An earlier state is wrong even if both answers came while the write was under way."""
    write = put(2, 0, 1)
    after = write.after(START)
    assert wrong([write], answer(after, 1.2, 1.3), answer(START, 1.4, 1.5)) == 1


def test_answers_agree_on_the_order_of_writes_at_once():
    one, two = put(2, 0, 1), put(3, 1, 2)
    only_one, only_two = one.after(START), two.after(START)
    end = two.after(only_one)
    assert wrong([one, two], answer(only_one, 1.2, 1.3), end=end) == 0
    assert wrong([one, two], answer(only_two, 1.2, 1.3), end=end) == 1


def test_a_write_that_is_gone_or_mixed_with_another_is_found():
    one, two = put(2, 0, 1), put(3, 0, 1)
    assert wrong([one], end=START) is None
    assert wrong([one, two], end=put(3, 1).after(one.after(START))) is None


def test_what_became_of_a_killed_write_is_open_and_a_refused_one_is_none():
    for outcome, ends in ((UNKNOWN, 2), (REFUSED, 1)):
        write = put(2, 0, ended=math.inf if outcome == UNKNOWN else 2, outcome=outcome)
        found = [wrong([write], end=end) for end in (START, write.after(START))]
        assert found.count(0) == ends


def test_deleted_items_stay_gone():
    gone = Delete(count=2, numbers=[0], began=1, ended=2, outcome=DONE)
    later = Label(count=3, numbers=[0, 1], label="blue", began=3, ended=4, outcome=DONE)
    end = later.after(gone.after(START))
    assert sorted(end.items) == [1, 2, 3]
    assert [one.writes for one in histories(START, [later, gone])] == [(gone, later)]
    listed = [ShownItem(key_of(number), 0.0, ("red",), {"count": 1}, ("v",)) for number in range(4)]
    stale = Answer(Listing(), "a server", 2.1, 2.2, listed)
    assert wrong([gone, later], stale) == 1


def test_generations_are_kept_as_spaces_keep_them():
    """The newest three are kept, and the one that answers."""
    space = None
    for training in (10, 11, 12, 13):
        space = SpaceState.trained(space, training)
    assert space == SpaceState(4, ((2, 11), (3, 12), (4, 13)))
    assert SpaceState.trained(replace_answering(space, 2), 14).trainings == ((2, 11), (3, 12), (4, 13), (5, 14))


def replace_answering(space: SpaceState, generation: int) -> SpaceState:
    return space._replace(answering=generation)


def test_a_short_run(tmp_path):
    """Nothing is wrong, and every kind of actor took part."""
    out = tmp_path / "a.json"
    assert (
        benchmark.BENCHMARK.main(["--minutes", "0.25", "--seed", "1", "--json", str(out), "--report", str(tmp_path)])
        == 0
    )
    document = json.loads(out.read_text())
    found = {row["metric"]: row["value"] for row in document["rows"]}
    assert document["faults"] == []
    assert {name: found[name] for name in benchmark.LIMITS} == dict.fromkeys(benchmark.LIMITS, 0)
    assert min(found[name] for name in ("searches", "lists", "counts", "states", "backups read")) > 0
    assert "| wrong answers | 0 | at most 0 |" in (tmp_path / "oracle.md").read_text()
