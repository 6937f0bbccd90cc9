"""A collection follows its folder: items stay with their pictures after any move, and nothing is lost."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawn import draw, encode
from file_system import ONE, FileSystem, write
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from crossview.engine.catalog.ingest import indexing
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.comparisons import Answer
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import FileChanges, FileMove, IndexOptions, ItemUpdate
from crossview.engine.values.recipe import Recipe


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number in range(6):
        write(tmp_path / f"tree/{'ab'[number % 2]}/{number}.png", number)
    return tmp_path / "tree"


@pytest.fixture
def followed(home: Home, tree: Path) -> Iterator[Collection]:
    """Six pictures in two folders, each with a label that a person chose."""
    with home.create("followed", ["color"]) as made:
        made.index([tree], ONE)
        made.items.update([ItemUpdate(key, labels=(f"label of {key}",)) for key in keys(made)])
        yield made


def keys(collection: Collection) -> list[str]:
    return [item.key for item in collection.items(limit=1000)]


def ids(collection: Collection) -> dict[str, int]:
    with collection._opened.read() as tx:
        return {key: item for item, key in tx.items.keys().items()}


def found(collection: Collection, key: str, **options: bool) -> list[str]:
    (hits,) = collection.search(view="color", key=key, k=50, **options)
    return [hit.key for hit in hits]


# -- moves


def test_a_moved_file_keeps_its_item_with_id_labels_and_rows(followed, tree, monkeypatch):
    before, rows = ids(followed), found(followed, "tree/b/1.png")
    (tree / "a/0.png").rename(tree / "b/new.png")
    monkeypatch.setattr(indexing, "extract", None)  # nothing is computed again
    report = followed.index([tree], ONE)
    assert (report.added, report.updated, report.unchanged, report.missing) == (0, 0, 6, ())
    assert report.moved == {"tree/a/0.png": "tree/b/new.png"}
    assert ids(followed)["tree/b/new.png"] == before["tree/a/0.png"]
    item = followed.items.get("tree/b/new.png")
    assert item.labels == ("label of tree/a/0.png",)
    assert item.source == str(tree / "b/new.png")
    assert found(followed, "tree/b/1.png") == [report.moved.get(key, key) for key in rows]


def test_a_touched_and_moved_file_is_recognised_by_its_content(followed, tree):
    (tree / "a/0.png").rename(tree / "moved.png")
    os.utime(tree / "moved.png", ns=(1, 1))
    assert followed.index([tree], ONE).moved == {"tree/a/0.png": "tree/moved.png"}
    assert followed.index([tree], ONE).unchanged == 6


def test_a_renamed_folder_and_a_renamed_root_move_their_items(followed, tree):
    (tree / "a").rename(tree / "c")
    report = followed.index([tree.rename(tree.parent / "other")], ONE)
    assert report.moved == {f"tree/a/{number}.png": f"tree/c/{number}.png" for number in (0, 2, 4)}
    assert report.notes == (f"{tree} is now {tree.parent / 'other'}; 6 items follow it",)
    assert (report.added, report.updated, report.missing) == (0, 0, ())
    assert {Path(item.source).parts[-3] for item in followed.items()} == {"other"}


def test_the_root_is_recognised_although_half_of_its_files_changed(followed, tree):
    for number in (0, 2):
        write(tree / f"a/{number}.png", 100 + number)
    (tree / "b/1.png").unlink()
    new = tree.rename(tree.parent / "other")
    report = followed.index([new], ONE)
    assert (report.added, report.updated, report.missing) == (0, 2, ("tree/b/1.png",))


def test_another_folder_with_equal_names_is_not_the_renamed_root(followed, tree):
    for number in range(6):
        write(tree.parent / f"other/{'ab'[number % 2]}/{number}.png", 50 + number)
    shutil.rmtree(tree)
    assert followed.index([tree.parent / "other"], ONE).added == 6
    assert len(keys(followed)) == 12


def test_a_folder_with_one_file_of_a_root_that_is_gone_is_not_the_renamed_root(followed, tree):
    """Only that file has moved; the disk with the others may not be mounted."""
    (tree.parent / "one").mkdir()
    (tree / "a/0.png").rename(tree.parent / "one/0.png")
    shutil.rmtree(tree)
    report = followed.index([tree.parent / "one"], ONE)
    assert (report.moved, report.notes, report.missing) == ({"tree/a/0.png": "one/0.png"}, (), ())


def test_files_that_exchange_their_names_exchange_the_places_of_their_items(followed, tree):
    (tree / "a/0.png").rename(tree / "x")
    (tree / "b/1.png").rename(tree / "a/0.png")
    (tree / "x").rename(tree / "b/1.png")
    report = followed.index([tree], ONE)
    assert report.moved == {"tree/a/0.png": "tree/b/1.png", "tree/b/1.png": "tree/a/0.png"}
    assert followed.items.get("tree/a/0.png").labels == ("label of tree/b/1.png",)


def test_a_file_that_moves_over_another_leaves_the_other_item_missing(followed, tree):
    (tree / "a/0.png").replace(tree / "b/1.png")
    report = followed.index([tree], ONE)
    assert report.moved == {"tree/a/0.png": "tree/b/1.png", "tree/b/1.png": "tree/b/1.png~1"}
    assert report.missing == ("tree/b/1.png~1",)
    assert followed.items.get("tree/b/1.png").labels == ("label of tree/a/0.png",)
    assert followed.items.get("tree/b/1.png~1").labels == ("label of tree/b/1.png",)
    assert followed.index([tree], ONE).missing == ("tree/b/1.png~1",)
    write(tree / "back.png", 1)
    assert followed.index([tree], ONE).moved == {"tree/b/1.png~1": "tree/back.png"}


def test_an_edited_file_keeps_its_item_also_if_a_copy_of_the_original_stays(followed, tree):
    shutil.copy(tree / "a/0.png", tree / "a/0.orig.png")
    write(tree / "a/0.png", 77)
    report = followed.index([tree], ONE)
    assert (report.added, report.updated, report.moved) == (1, 1, {})
    assert followed.items.get("tree/a/0.png").labels == ("label of tree/a/0.png",)
    assert followed.items.get("tree/a/0.orig.png").labels == ()


def test_a_copy_is_a_new_item_whose_picture_is_not_read_again(followed, tree, monkeypatch):
    shutil.copy(tree / "a/0.png", tree / "copy.png")
    monkeypatch.setattr(indexing, "extract", None)
    assert followed.index([tree], ONE).added == 1
    assert found(followed, "tree/a/0.png")[0] == "tree/copy.png"
    copy, original = followed.items.get("tree/copy.png"), followed.items.get("tree/a/0.png")
    assert (copy.content_hash, copy.width, copy.views) == (original.content_hash, original.width, original.views)
    assert followed.items.thumbnail("tree/copy.png") == followed.items.thumbnail("tree/a/0.png")


def test_equal_new_files_are_read_once_and_broken_ones_fail_each(home: Home, tmp_path):
    for name in "abc":
        write(tmp_path / f"new/{name}.png", 1)
        (tmp_path / f"new/bad-{name}.png").write_bytes(b"not a picture")
    with home.create("copies", ["color"]) as made:
        report = made.index([tmp_path / "new"], ONE)
        assert report.added == 3
        assert sorted(Path(one.key).name for one in report.failures) == ["bad-a.png", "bad-b.png", "bad-c.png"]
        assert len(found(made, "new/a.png")) == 2


def test_a_file_that_moves_to_another_folder_gets_a_key_below_its_root(followed, tree):
    (tree.parent / "second").mkdir()
    (tree / "a/0.png").rename(tree.parent / "second/0.png")
    report = followed.index([tree.parent / "second"], ONE)
    assert report.moved == {"tree/a/0.png": "second/0.png"}
    assert followed.index([tree], ONE).missing == ()


# -- missing files


def test_searches_leave_missing_files_out_until_they_are_back(followed, tree):
    (tree / "a/0.png").rename(tree.parent / "away.png")
    assert followed.index([tree], ONE).missing == ("tree/a/0.png",)
    assert "tree/a/0.png" not in found(followed, "tree/b/1.png")
    assert "tree/a/0.png" in found(followed, "tree/b/1.png", include_missing=True)
    (hits,) = followed.search(view="color", key="tree/b/1.png", k=50, include_missing=True)
    assert [hit.key for hit in hits if hit.missing] == ["tree/a/0.png"]
    assert [item.key for item in followed.items(Filter("missing exists"))] == ["tree/a/0.png"]
    assert followed.items.get("tree/a/0.png").missing
    pages = list(followed.search_pages(view="color", key="tree/b/1.png", size=2))
    assert "tree/a/0.png" not in {hit.key for (one,) in pages for hit in one}
    (tree.parent / "away.png").rename(tree / "a/0.png")
    report = followed.index([tree], ONE)
    assert (report.added, report.updated, report.missing) == (0, 0, ())
    assert followed.items.get("tree/a/0.png").labels == ("label of tree/a/0.png",)
    assert "tree/a/0.png" in found(followed, "tree/b/1.png")


def test_another_picture_in_the_place_of_a_missing_one_is_a_new_item(followed, tree):
    (tree / "a/0.png").unlink()
    followed.index([tree], ONE)
    write(tree / "a/0.png", 88)
    report = followed.index([tree], ONE)
    assert (report.added, report.missing) == (1, ("tree/a/0.png~1",))
    assert followed.items.get("tree/a/0.png").labels == ()
    assert followed.items.get("tree/a/0.png~1").labels == ("label of tree/a/0.png",)


def test_the_file_of_an_item_that_was_deleted_while_missing_may_come_back(followed, tree):
    content = (tree / "a/0.png").read_bytes()
    (tree / "a/0.png").unlink()
    followed.items.delete(list(followed.index([tree], ONE).missing))
    (tree / "a/0.png").write_bytes(content)
    report = followed.index([tree], ONE)
    assert (report.added, report.deleted) == (1, ())
    followed.items.delete(["tree/a/0.png"])  # but what a person deletes stays out
    assert followed.index([tree], ONE).deleted == ("tree/a/0.png",)


def test_a_dry_run_tells_the_same_and_writes_nothing(followed, tree):
    (tree / "a/0.png").rename(tree / "moved.png")
    (tree / "b/1.png").unlink()
    write(tree / "a/2.png", 99)
    write(tree / "new.png", 98)
    before = followed.info(), keys(followed)
    supposed = followed.index([tree], IndexOptions(workers=1, dry_run=True))
    assert (followed.info(), keys(followed)) == before
    report = followed.index([tree], ONE)
    counted = ("added", "updated", "unchanged", "moved", "missing", "notes", "failures")
    assert [getattr(supposed, name) for name in counted] == [getattr(report, name) for name in counted]


# -- what else names items


def test_answers_judgements_and_training_items_follow(home: Home, tmp_path):
    for label in ("red", "blue"):
        for number in range(6):
            path = tmp_path / f"photos/{label}/{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode(draw(label, number)))
    with home.create("photos", ["color"]) as made:
        made.index([tmp_path / "photos"], IndexOptions(labels="folder", workers=1))
        made.train(Recipe(spec="pca", views=("color",), holdout=0.5), space="s")
        with made._opened.read() as tx:
            trained = made._opened.loaded.get(tx, "s").training_keys
        key, other = sorted(trained)[0], sorted(set(keys(made)) - trained)[0]
        near, far = [one for one in keys(made) if one not in (key, other)][:2]
        made.questions.answer(Answer(person="p", notion="n", anchor=near, near=(key,), far=(far,)))
        made.feedback.judge("mine", [key], [far], person="p")
        for name, new in ((key, "moved-a.png"), (other, "moved-b.png")):
            (tmp_path / name).rename(tmp_path / "photos" / new)
        report = made.index([tmp_path / "photos"], ONE)
        write(tmp_path / key, 5)  # a new picture at a training item's path is not that item
        assert made.index([tmp_path / "photos"], ONE).added == 1
        assert report.moved == {key: "photos/moved-a.png", other: "photos/moved-b.png"}
        assert [one.near for one in made.questions.answers()] == [("photos/moved-a.png",)]
        assert {one.key for one in made.feedback.get("mine")} == {"photos/moved-a.png", far}
        with made._opened.read() as tx:
            assert made._opened.loaded.get(tx, "s").training_keys == trained - {key} | {"photos/moved-a.png"}
    with home.open("photos") as again, again._opened.read() as tx:
        assert again._opened.loaded.get(tx, "s").training_keys == trained - {key} | {"photos/moved-a.png"}


def test_a_searching_program_knows_the_new_keys_of_training_items(home: Home, followed, tree):
    followed.train(Recipe(spec="pca", views=("color",), holdout=0), space="s")
    followed.search(view="color", key="tree/a/0.png", space="s")
    with home.open("followed") as other:
        (tree / "a/0.png").rename(tree / "new.png")
        other.index([tree], ONE)
    followed.search(view="color", key="tree/new.png", space="s")
    space = followed._opened.versions().current().spaces["s"].space
    assert "tree/new.png" in space.training_keys
    assert "tree/a/0.png" not in space.training_keys


def test_changes_that_no_longer_fit_are_refused_whole(followed):
    for wrong in (
        FileChanges((FileMove("tree/a/0.png", "tree/b/1.png", "/x"),)),
        FileChanges((FileMove("tree/a/9.png", "tree/new.png", "/x"),)),
        FileChanges((FileMove("tree/a/0.png", "n", "/x"), FileMove("tree/a/2.png", "n", "/y")), ("tree/a/4.png",)),
    ):
        before = keys(followed), followed.info().sequence
        with pytest.raises(NotReadyError, match="try again"):
            followed.items.follow_files(wrong)
        assert (keys(followed), followed.info().sequence) == before


@pytest.mark.parametrize(
    ("key", "source"), [("", "/x"), ("a\0", "/x"), ("k" * 1025, "/x"), ("n", "/\0"), ("n", "\ud800")]
)
def test_files_do_not_move_to_what_no_item_can_have(followed, key: str, source: str):
    before = keys(followed), followed.info().sequence
    with pytest.raises(InvalidInputError):
        followed.items.follow_files(FileChanges((FileMove("tree/a/0.png", key, source),), ("tree/a/4.png",)))
    assert (keys(followed), followed.info().sequence) == before


# -- any order of events


def test_items_follow_files_of_equal_times_that_exchange_their_places():
    """The random test found this sequence; the two files have the same size, too."""
    files = FileSystem()
    try:
        files.write("y.png")
        files.index()
        for name in ("z.png", "e/z.png"):
            files.write(name)
            files.touch(name)
        files.index()
        sizes = {(files.root / name).stat().st_size for name in ("z.png", "e/z.png")}
        assert len(sizes) == 1
        files.exchange("e/z.png", "z.png")
        files.rename_folder()
        files.move("d/x.png", "z.png")
        files.index()
    finally:
        files.teardown()


@pytest.mark.random
def test_items_follow_any_changes_of_a_folder():
    steps = settings(max_examples=12, stateful_step_count=30)
    before = FileSystem.compared
    run_state_machine_as_test(FileSystem, settings=steps)
    assert FileSystem.compared > before


@pytest.mark.random
@pytest.mark.long
def test_items_follow_thousands_of_changes_of_a_folder():
    steps = settings(max_examples=120, stateful_step_count=50)
    before = FileSystem.compared
    run_state_machine_as_test(FileSystem, settings=steps)
    assert FileSystem.compared > before
