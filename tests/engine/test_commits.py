"""Long work holds no lock: others write meanwhile, and the commit checks again what the work read."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from drawn import CLASSES, draw, encode, write_pictures
from rows import GROUPS, each, fill, item, row
from sqlalchemy import event

from crossview.engine.catalog.ingest import importing, indexing, updating
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import generations
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.versions import Versions
from crossview.engine.training import trainer
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

BOTH = ("color", "gist")
WORDS = "sift:words=8"
PCA = Recipe(spec="pca:2", views=BOTH)
INDEX = """
import json, sys
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
if __name__ == "__main__":
    with Home(sys.argv[1]).open("a") as collection:
        print("ready", flush=True)
        sys.stdin.readline()
        report = collection.index([sys.argv[2]], IndexOptions(labels="folder", workers=1))
        print(json.dumps([report.added, report.updated, report.unchanged, len(report.failures)]))
"""


@pytest.fixture
def groups(home: Home) -> Iterator[Collection]:
    with fill(home, "groups", [item(group, number) for group, number in each()]) as made:
        yield made


def first_does(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, work: Callable[[], object]) -> None:
    """Let the next call of a module's function, and only that one, begin with other work."""
    original, left = getattr(module, name), [work]

    def wrapped(*arguments: Any, **options: Any) -> Any:
        while left:
            left.pop()()
        return original(*arguments, **options)

    monkeypatch.setattr(module, name, wrapped)


def words(home: Home, name: str = "words") -> Collection:
    """Return a collection whose view of words is fitted on six pictures."""
    made = home.create(name, ["color", WORDS])
    made.views.fit(pictures("red", 6), workers=1)
    return made


def pictures(label: str, count: int) -> list[bytes]:
    return [encode(draw(label, number)) for number in range(count)]


def fresh_row(collection: Collection, image: bytes) -> np.ndarray:
    """Return the row of a picture by the present view of words."""
    with collection._opened.catalog.read() as tx:
        view = next(view for view in tx.views.all() if view.name == "sift")
        extractor = collection._opened.loaded.extractor(view)
        return importing.extract(image, {"sift": extractor}).rows["sift"]


def stored_rows(collection: Collection) -> np.ndarray:
    with collection._opened.catalog.read() as tx:
        view = next(view for view in tx.views.all() if view.name == "sift")
        return tx.rows.get(view).rows


# -- views that change between extraction and commit


def test_what_was_extracted_at_a_revision_that_is_gone_is_extracted_again(home: Home, monkeypatch):
    """An import does so: no row of the old words is stored under the new ones."""
    image = encode(draw("red", 3))
    with words(home) as made, home.open("words") as other:
        first_does(
            monkeypatch, importing, "extract", lambda: other.views.fit(pictures("blue", 9), ["sift"], refit=True)
        )
        report = made.items.put([NewItem("a", image=image)])
        assert (report.added, report.updated, report.failures) == (1, 0, ())
        assert made.views()[1].revision == 2
        np.testing.assert_array_equal(stored_rows(made), [fresh_row(made, image)])


def test_an_indexing_that_a_view_changes_under_ends_with_rows_of_the_new_one(home: Home, tmp_path, monkeypatch):
    """Rows that were committed before are computed again, too, and every item is counted once."""
    paths = write_pictures(tmp_path / "pictures", 3)
    with words(home) as made, home.open("words") as other:
        monkeypatch.setattr(indexing, "_COMMIT_ITEMS", 2)
        calls = []

        def extract(data: bytes, *others: Any) -> Any:
            calls.append(data)
            if len(calls) == 4:
                other.views.fit(pictures("blue", 9), ["sift"], refit=True)
            return original(data, *others)

        original = indexing.extract
        monkeypatch.setattr(indexing, "extract", extract)
        report = made.index([tmp_path / "pictures"], IndexOptions(labels="folder", workers=1))
        assert (report.added, report.updated, report.unchanged, report.failures) == (len(paths), 0, 0, ())
        expected = [fresh_row(made, path.read_bytes()) for path in paths]
        np.testing.assert_array_equal(stored_rows(made), expected)


def test_a_view_that_is_deleted_under_an_import_is_named(home: Home, monkeypatch):
    with home.create("a", ["v=vectors:dim=2", "w=vectors:dim=2"]) as made, home.open("a") as other:
        first_does(monkeypatch, importing, "_records", lambda: other.views.delete("w"))
        report = made.items.put([NewItem("x", rows={"w": [1, 2]}), NewItem("y", rows={"v": [1, 2]})])
        assert [(one.key, one.reason) for one in report.failures] == [("x", "no view 'w'; there are: v")]
        assert [one.key for one in made.items()] == ["y"]


def test_of_two_that_fit_a_view_the_first_wins_and_the_second_uses_it(home: Home):
    with home.create("a", ["color", WORDS]) as made, home.open("a") as other:

        def images() -> Iterator[bytes]:
            yield from pictures("red", 4)
            other.views.fit(pictures("blue", 9), workers=1)
            yield from pictures("green", 4)

        made.views.fit(images(), workers=1)
        assert made.views()[1].revision == 1
        with home.create("b", ["color", WORDS]) as alone:
            alone.views.fit(pictures("blue", 9), workers=1)
            image = encode(draw("green", 20))
            np.testing.assert_array_equal(fresh_row(made, image), fresh_row(alone, image))


def test_an_item_that_is_deleted_under_a_change_of_it_is_not_made_again(groups: Collection, home: Home, monkeypatch):
    """Neither an update makes it, nor an import without anything that could find a new item."""
    first, second = (one.key for one in groups.items(limit=2))
    with home.open("groups") as other:
        first_does(monkeypatch, updating, "text_extractors", lambda: other.items.delete([first]))
        report = groups.items.update([ItemUpdate(first, text="new")])
        assert ([one.key for one in report.failures], report.updated) == ([first], 0)
        first_does(monkeypatch, importing, "_records", lambda: other.items.delete([second]))
        report = groups.items.put([NewItem(second, labels=("new",))])
        assert ([one.key for one in report.failures], report.added, report.updated) == ([second], 0, 0)
    assert not {first, second} & {one.key for one in groups.items()}


# -- indexing by several


def test_two_processes_that_index_one_folder_make_each_item_once_and_report_what_they_did(home: Home, tmp_path):
    paths = write_pictures(tmp_path / "pictures", 6)
    command = [sys.executable, "-c", INDEX, str(home.path), str(tmp_path / "pictures")]
    with (
        home.create("a", ["color", WORDS]) as made,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
    ):
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        other.stdin.write("\n")
        other.stdin.flush()
        here = made.index([tmp_path / "pictures"], IndexOptions(labels="folder", workers=1))
        reports = [[here.added, here.updated, here.unchanged, len(here.failures)], json.loads(other.communicate()[0])]
        assert [sum(report) for report in reports] == [len(paths)] * 2
        assert sum(added for added, *_ in reports) == made.count() == len(paths)
        assert [failures for *_, failures in reports] == [0, 0]
        assert made.views()[1].revision == 1
        assert {one.key: one.labels for one in made.items()} == {
            f"pictures/{label}/{number}.png": (label,) for label in CLASSES for number in range(6)
        }
        again = made.index([tmp_path / "pictures"], IndexOptions(labels="folder", workers=1))
        assert (again.added, again.updated, again.unchanged) == (0, 0, len(paths))


# -- trainings


def test_items_that_come_while_a_space_is_trained_are_written_at_once_and_found_in_it(groups, home, monkeypatch):
    with home.open("groups") as other:
        new = NewItem("late", rows={view: row(view, GROUPS[0], 77) for view in BOTH})
        first_does(monkeypatch, trainer, "learn", lambda: other.items.put([new]))
        space = groups.train(PCA)
        assert space.trained_items == groups.count() - 1
        (found,) = groups.search(SearchRequest([Query("color", vector=new.rows["color"])], targets=["color"], k=1))
        assert found.hits[0].key == "late"


def test_two_trainings_of_a_space_at_once_are_two_generations_and_the_later_commit_answers(groups, home, monkeypatch):
    with home.open("groups") as other:
        query = SearchRequest([Query("color", vector=row("color", GROUPS[0], 99))], targets=["color"], k=3)
        first_does(monkeypatch, trainer, "learn", lambda: other.train(Recipe(spec="pca:3", views=BOTH), space="both"))
        made = groups.train(PCA, space="both")
        assert (made.generation, made.generations, made.spec) == (2, (1, 2), "pca:2")
        answers = [[hit.distance for hit in one.search(query)[0].hits] for one in (groups, other)]
        with home.open("groups") as fresh:
            assert answers == [[hit.distance for hit in fresh.search(query)[0].hits]] * 2
        other.spaces.activate("both", 1)
        assert groups.spaces.get("both").dim["color"] == 3


@pytest.mark.parametrize("change", ["refit", "delete", "replace"])
def test_a_space_that_was_trained_on_a_view_that_is_gone_is_refused_and_leaves_nothing(home, monkeypatch, change):
    """The message has the name of the view, which was fitted again, deleted, or deleted and added again."""
    with words(home) as made, home.open("words") as other:
        made.items.put([NewItem(f"{n}", image=encode(draw("red", n)), labels=("x",)) for n in range(8)])
        before = made.info()

        def changed() -> None:
            if change == "refit":
                other.views.fit(pictures("blue", 9), ["sift"], refit=True)
                return
            other.views.delete("sift")
            if change == "replace":
                other.views.add(WORDS)
                other.views.fit(pictures("blue", 9), ["sift"])

        first_does(monkeypatch, trainer, "learn", changed)
        with pytest.raises(NotReadyError, match=r"view 'sift'.*train"):
            made.train(Recipe(spec="pca:2", views=("sift",)))
        assert made.info().spaces[:-1] == before.spaces[:-1] == ()
        assert not list((home.path / "words").glob("indexes/*.idx"))


def test_a_space_that_is_deleted_while_it_is_trained_again_is_there_again_afterwards(groups, home, monkeypatch):
    """It is another training than the deleted one of the same number, for every reader."""
    query = SearchRequest([Query("color", vector=row("color", GROUPS[0], 99))], targets=["color"], k=3, space="one")
    groups.train(Recipe(spec="pca:3", views=BOTH), space="one", activate=False)
    with home.open("groups") as other:
        other.search(query)
        first_does(monkeypatch, trainer, "learn", lambda: other.spaces.delete("one"))
        assert groups.train(PCA, space="one", activate=False).generations == (1,)
        answers = [[hit.distance for hit in one.search(query)[0].hits] for one in (groups, other)]
        with home.open("groups") as fresh:
            assert answers == [[hit.distance for hit in fresh.search(query)[0].hits]] * 2


def test_the_newest_generations_are_kept_and_the_one_that_answers(groups: Collection, home: Home):
    """The others go with their states and their snapshots, and the new one's notes say so."""
    for _ in range(generations.KEPT):
        made = groups.train(PCA)
        assert made.notes == ()
    made = groups.train(PCA)
    assert made.generations == (2, 3, 4)
    assert made.notes == ("generation 1 was deleted: the newest 3 are kept, and the one that answered",)
    names = {path.name.rpartition("-")[0] for path in (home.path / "groups" / "indexes").glob("*.idx")}
    assert names == {f"pca-{number}-{view}{kind}" for number in (2, 3, 4) for view in BOTH for kind in ("", ":~sketch")}
    groups.spaces.activate("pca", 2)
    for _ in range(3):
        made = groups.train(PCA, activate=False)
    assert (groups.spaces.get("pca").generation, made.generations) == (2, (2, 5, 6, 7))
    with pytest.raises(NotFoundError, match="no generation 1; there are: 2, 5, 6, 7"):
        groups.spaces.activate("pca", 1)


def test_describing_spaces_reads_no_fitted_state(groups: Collection):
    groups.train(PCA)
    groups.train(PCA)
    statements: list[str] = []
    with groups._opened.catalog.read() as tx:
        engine = tx._connection.engine
    event.listen(engine, "before_cursor_execute", lambda _c, _k, statement, *_: statements.append(statement))
    assert [space.generations for space in groups.spaces()] == [(1, 2), (2,)]
    assert groups.spaces.get("pca").trained_items == groups.count()
    groups.info()
    assert statements
    assert not [one for one in statements if "state" in one]


def test_a_search_that_is_going_on_is_not_disturbed_by_a_deletion(groups: Collection, home: Home):
    """Space is given back beside a reader's transaction, whose state stays; the next search misses deleted items."""
    groups.train(PCA)
    with home.open("groups") as reader, reader._opened.read() as tx:
        known = len(tx.rows.ids(tx.views.all()[1]))
        groups.spaces.delete("pca")
        groups.views.delete("gist")
        assert len(tx.rows.ids(tx.views.all()[1])) == known
        with pytest.raises(NotFoundError, match="there are: color"):
            reader.search(SearchRequest([Query("gist", vector=row("gist", GROUPS[0], 1))]))


def test_fits_are_refused_for_what_needs_none(home: Home):
    with words(home) as made, pytest.raises(InvalidInputError, match="learns nothing"):
        made.views.fit([], ["color"])


def test_a_row_that_cannot_be_used_is_a_failure_beside_those_that_can(home: Home):
    """Rows are arrays, which are checked together, or lists."""
    bad = [float("nan"), 1e20, "x"]
    with home.create("a", ["v=vectors:dim=2"]) as made:
        rows = [np.array([1, 2], np.float32), [1, bad[0]], [bad[1], 1], [bad[2], 1], [1, 2, 3], [3, 4]]
        report = made.items.put([NewItem(str(number), rows={"v": one}) for number, one in enumerate(rows)])
        assert [one.key for one in report.failures] == ["1", "2", "3", "4"]
        arrays = [np.array([1, value], np.float32) for value in (5, np.inf, 6)]
        report = made.items.put([NewItem(f"b{number}", rows={"v": one}) for number, one in enumerate(arrays)])
        assert [one.key for one in report.failures] == ["b1"]
        assert [one.key for one in made.items()] == ["0", "5", "b0", "b2"]


# -- spaces that change while they are loaded


def test_a_search_goes_on_where_its_space_is_trained_again_while_that_is_loaded(home: Home, groups, monkeypatch):
    """The training comes right after the search has checked that its loaded generation is the answering one."""
    with home.open("groups") as other:
        other.train(PCA, space="s")
        look, take = Versions._next, Versions._with
        trained = []

        def looked(versions: Versions) -> Any:
            found = look(versions)
            if not trained:
                trained.append(other.train(PCA, space="s"))
            return found

        def taken(versions: Versions, space: IndexedSpace) -> Any:
            if versions is groups._opened.versions() and not trained:
                with monkeypatch.context() as patched:
                    patched.setattr(versions, "_next", lambda: looked(versions))
                    return take(versions, space)
            return take(versions, space)

        monkeypatch.setattr(Versions, "_with", taken)
        query = Query("color", vector=row("color", "cat", 0))
        (found,) = groups.search(SearchRequest([query], space="s", k=3, targets="color"))
        assert trained
        assert len(found.hits) == 3
        assert groups.spaces.get("s").generation == 2
