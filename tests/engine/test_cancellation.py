"""Work that no caller waits for stops at any point, and leaves nothing."""

import threading

import numpy as np
import pytest
from drawn import numbered
from once import Once
from rows import each, fill, item

from crossview.engine.catalog import lock as writing
from crossview.engine.catalog.lock import WriterLock
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.values.errors import BusyError, CancelledError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe, Tune

BOTH = ("color", "gist")
TRAININGS = {
    "cca": {},
    "lmnn": {"settings": {"max_iter": 20}},
    "multi-npp,itq:4": {"dim": 4},
    "musl": {"settings": {"n_bits": 4, "random_state": 0}},
    "sqrt,kernel:chi2,multi-npp": {"tune": Tune({"eta": (1e-6, 1e-2), "gamma": (1e-6,)}, folds=2)},
}


class Countdown:
    """A check that finds the caller gone from the ``left``-th call on; None: never."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.left is not None and self.calls >= self.left:
            raise CancelledError("the caller is gone")


def trained(home: Home) -> Collection:
    made = fill(home, "groups", [item(group, number) for group, number in each()])
    made.train(Recipe(spec="pca:2", views=BOTH), space="before")
    return made


@pytest.fixture
def groups(home: Home, once: Once):
    """24 labelled items of three groups in two views, and a space that answers."""
    with once.copy(home, trained) as made:
        yield made


def left_behind(collection: Collection) -> tuple:
    """Return all that a training could leave: spaces, generations, the active one, files, the sequence."""
    info = collection.info()
    files = {path.name for path in collection._opened.folder.indexes.glob("*")}
    return [(space.name, space.generations, space.active) for space in info.spaces], files, info.sequence


@pytest.mark.parametrize("learner", TRAININGS)
def test_a_stopped_training_leaves_nothing(groups: Collection, learner: str):
    """It stops at the first checkpoint, on the way, and at the very last one, which is right before the commit."""
    before, how = left_behind(groups), TRAININGS[learner]
    whole = Countdown()
    with cancellable(whole):
        groups.train(Recipe(spec=learner, views=BOTH, **how), space="new")
    groups.spaces.activate("before")
    after = left_behind(groups)
    assert after != before
    for left in (1, whole.calls // 2, whole.calls):
        check = Countdown(left)
        with cancellable(check), pytest.raises(CancelledError):
            groups.train(Recipe(spec=learner, views=BOTH, **how), space="new")
        assert check.calls >= left  # views that threads fit side by side each look once
        assert left_behind(groups) == after
    assert groups.train(Recipe(spec="pca:2", views=BOTH), space="new").generation == 2


def every_stop(work) -> int:
    """Do work with a check that stops it ever later, until it is done; return how often it was stopped."""
    stops = 0
    while True:
        try:
            with cancellable(Countdown(stops + 1)):
                work()
        except CancelledError:
            stops += 1
        else:
            return stops


def test_every_other_change_is_whole_or_none(groups: Collection):
    """Changes are imports, deletions, vectors, labels, views and spaces; the same call completes a stopped one."""

    def seen() -> tuple:
        return groups.count(), groups.info().sequence

    changes = [
        lambda: groups.items.put([item("owl", 90), item("cat", 91)]),
        lambda: groups.items.put_vectors("color", ["new/1"], np.ones((1, 64), np.float32)),
        lambda: groups.items.delete(["cat/91"]),
        lambda: groups.views.add("more=vectors:dim=3"),
        lambda: groups.spaces.activate("raw"),
        lambda: groups.spaces.extend("semantic", ["gist"], name="both"),
    ]
    groups.train(Recipe(spec="semantic", views=("color",)), space="semantic")
    for change in changes:
        before = seen()

        def attempt(change=change, before=before) -> None:
            assert seen() == before
            change()

        assert every_stop(attempt) > 0
        assert seen()[1] > before[1]


def test_a_stopped_home_keeps_what_it_has(home: Home):
    """A collection is neither half made nor deleted for a caller who is gone."""
    assert every_stop(lambda: home.create("a", ["color"]).close()) > 0
    assert sorted(path.name for path in home.path.iterdir()) == ["a"]
    with cancellable(Countdown(1)), pytest.raises(CancelledError):
        home.delete("a")
    assert home.names() == ["a"]


def test_evaluation_and_search_can_be_stopped(groups: Collection):
    """They stop also while a space is fitted again for them."""
    assert every_stop(lambda: groups.evaluate(EvaluationRequest(view="color", spaces=("raw",)))) > 1
    assert every_stop(lambda: groups.evaluate(EvaluationRequest(view="color", spaces=("before",), refit=True))) > 4
    assert every_stop(lambda: groups.search(SearchRequest([Query("color", key="cat/00")], space="before"))) > 0


def test_an_index_that_was_stopped_half_way_is_loaded_anew(home: Home):
    """Neither the next caller nor a reader of an earlier state meets half of a change."""
    with home.create("rows", ["color"]) as made:
        made.items.put([numbered(number) for number in range(6)])
        query = [Query("color", key="item/0000")]
        expected = [hit.key for hit in made.search(SearchRequest(query))[0].hits]
        made.items.put([NewItem(f"item/{number:04}", rows={"color": np.ones(64)}) for number in range(3)])
        version = made._opened.versions().current()
        space = version.spaces["raw"].space
        made.items.put([NewItem("item/0005", rows={"color": np.ones(64)})])
        placed = space.place

        def stopped(*_):
            raise CancelledError("the caller is gone")

        object.__setattr__(space, "place", stopped)
        with pytest.raises(CancelledError):
            made.search(SearchRequest(query))
        object.__setattr__(space, "place", placed)
        assert sorted(hit.key for hit in made.search(SearchRequest(query))[0].hits) == sorted(expected)


def held(lock) -> tuple[threading.Thread, threading.Event]:
    """Return a thread that has a lock until the event is set."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            inside.set()
            leave.wait(300)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(300)
    return thread, leave


def test_who_waits_for_a_lock_can_be_stopped(tmp_path):
    """The next one gets the lock all the same."""
    writer = WriterLock(tmp_path / "lock")
    thread, leave = held(writer.hold())
    with cancellable(Countdown(2)), pytest.raises(CancelledError), writer.hold():
        pass
    leave.set()
    thread.join()
    with writer.hold():
        pass


def test_who_waits_too_long_for_a_lock_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch):
    """The message has the number of seconds and the remedy, as for another process at once."""
    monkeypatch.setattr(writing, "PATIENCE", 0.05)
    lock = WriterLock(tmp_path / "lock")
    thread, leave = held(lock.hold())
    with pytest.raises(BusyError, match="for it: try again later"), lock.hold():
        pass
    leave.set()
    thread.join()
