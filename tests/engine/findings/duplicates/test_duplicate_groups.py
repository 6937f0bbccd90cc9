"""Copies are found with their relations, by any views; other photographs are not."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from photographs import COPIES, encoded, photograph, write_copies, write_photographs

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.duplicate import DuplicateGroup, DuplicatesRequest
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import Capture, IndexOptions, NewItem

COUNT = 30
ONE = IndexOptions(workers=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("photographs")
    write_photographs(made / "album", COUNT)
    write_copies(made / "copies", 7)
    return made


@pytest.fixture(scope="module")
def filled(folder: Path) -> Iterator[Collection]:
    home = Home(folder / "home")
    with home.create("album", ["color", "gist"]) as made:
        assert made.index([folder / "album", folder / "copies"], ONE).added == COUNT + len(COPIES) + 1
        yield made


def relations(group: DuplicateGroup) -> dict[str, tuple[str, ...]]:
    return {Path(one.key).stem: tuple(one.relations) for one in group.members}


def test_every_copy_is_found_with_its_relation(filled: Collection) -> None:
    found = filled.duplicates(DuplicatesRequest())
    assert found.pictures == COUNT + len(COPIES) + 1
    assert found.notes == ()
    (group,) = found.groups
    assert (group.kind, group.keeper.width, group.keeper.height) == ("copies", 240, 180)
    seen = {**relations(group), Path(group.keeper.key).stem: ("identical",)}
    assert seen.keys() == {"7", "identical", *COPIES}
    for relation in COPIES:
        assert relation in seen[relation], seen
    by_name = {Path(one.key).stem: one for one in group.members}
    assert by_name["rotated"].degrees == 90
    assert by_name["cropped"].share == pytest.approx(0.81, abs=0.03)
    assert by_name["mirrored"].relations[0] == "mirrored"
    assert all(one.confidence > 0.9 for one in group.members)


def test_the_same_call_gives_the_same_answer(filled: Collection) -> None:
    assert filled.duplicates(DuplicatesRequest(seed=3)) == filled.duplicates(DuplicatesRequest(seed=3))


def test_relations_filters_and_limits(filled: Collection) -> None:
    (group,) = filled.duplicates(DuplicatesRequest(relations="identical")).groups
    assert len(group.members) == 1
    assert filled.duplicates(DuplicatesRequest(filter="key = 'album/1.jpg' or key = 'album/2.jpg'")).groups == ()
    assert len(filled.duplicates(DuplicatesRequest(limit=1)).groups) == 1
    with pytest.raises(InvalidInputError, match="a relation is one of identical"):
        filled.duplicates(DuplicatesRequest(relations=["alike"]))  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="limit must be at least 0"):
        filled.duplicates(DuplicatesRequest(limit=-1))
    with pytest.raises(InvalidInputError, match="a seed must be between 0 and"):
        filled.duplicates(DuplicatesRequest(seed=-(2**31)))


def test_judgements_come_first_and_can_be_undone(filled: Collection) -> None:
    judgements = filled.duplicate_judgements
    keeper = filled.duplicates(DuplicatesRequest()).groups[0].keeper.key
    other = "copies/mirrored.jpg"
    made = judgements.judge(other, keeper, False, person="ann")
    assert (made.first, made.second, made.same) == (*sorted((keeper, other)), False)
    (group,) = filled.duplicates(DuplicatesRequest()).groups
    assert "mirrored" not in relations(group)
    judgements.judge("album/1.jpg", "album/2.jpg", True, person="ann")
    by_size = {len(group.members): group for group in filled.duplicates(DuplicatesRequest()).groups}
    assert list(relations(by_size[1]).values()) == [("judged",)]
    judgements.judge(keeper, other, True, person="bob")
    assert [one.same for one in judgements.list()] == [True, True]  # the last of each pair
    assert judgements.undo("bob").person == "bob"
    assert [one.same for one in judgements.list()] == [False, True]
    assert judgements.undo("ann").same is not False
    judgements.undo("ann")
    assert judgements.list() == []
    with pytest.raises(NotFoundError, match="ann has judged no pair"):
        judgements.undo("ann")
    with pytest.raises(NotFoundError, match="no item 'none'"):
        judgements.judge("album/1.jpg", "none", True, person="ann")
    with pytest.raises(InvalidInputError, match="is one item"):
        judgements.judge("album/1.jpg", "album/1.jpg", True, person="ann")


def test_another_collection_keeps_its_pictures(filled: Collection, folder: Path) -> None:
    home = Home(folder / "home")
    with home.create("new", ["color", "gist"]) as new:
        image = COPIES["greyscale"](photograph(3))
        new.items.put([NewItem("grey", image=encoded(image)), NewItem("same", image=encoded(photograph(5)))])
        new.items.put([NewItem("unknown", image=encoded(photograph(99)))])
        found = new.duplicates(DuplicatesRequest(against="album"))
        kept = {group.keeper.key: (group.keeper.collection, list(relations(group))) for group in found.groups}
        assert kept == {"album/3.jpg": ("album", ["grey"]), "album/5.jpg": ("album", ["same"])}
        with pytest.raises(InvalidInputError, match="is this collection"):
            new.duplicates(DuplicatesRequest(against="new"))
        for name in ("none", "../home/album", ".", "\0", "n" * 300):
            with pytest.raises(NotFoundError, match="no collection"):
                new.duplicates(DuplicatesRequest(against=name))
        home.set_alias("photographs", "album")
        assert new.duplicates(DuplicatesRequest(against="photographs")).groups == found.groups
        home.delete_alias("photographs")
    home.delete("new")


def test_photographs_of_one_moment_are_apart(home: Home) -> None:
    """They may be very similar; their EXIF times differ by a few seconds."""
    image = encoded(photograph(1))
    with home.create("moment", ["color"]) as made:
        first, second = (Capture(stamp=str(taken), taken=taken) for taken in (1_000, 1_004))
        made.items.put([NewItem("a", image=image, capture=first)])
        made.items.put([NewItem("b", image=encoded(COPIES["edited"](photograph(1))), capture=second)])
        (group,) = made.duplicates(DuplicatesRequest()).groups
    assert (group.kind, relations(group)) == ("burst", {"b": ("burst",)}) or group.keeper.key == "b"
    assert group.kind == "burst"


def test_an_empty_collection_and_one_without_pictures(home: Home) -> None:
    with home.create("texts", ["text:dim=2"]) as made:
        assert made.duplicates(DuplicatesRequest()).groups == ()
        made.items.put([NewItem("a", text="one"), NewItem("b", text="one")])
        found = made.duplicates(DuplicatesRequest())
    assert (found.pictures, found.groups) == (0, ())


def test_fingerprints_follow_the_picture_and_are_made_where_they_lack(home: Home) -> None:
    with home.create("old", ["color"]) as made:
        made.items.put([NewItem("a", image=encoded(photograph(1))), NewItem("b", image=encoded(photograph(2)))])
        path = home.path / "old" / "catalog.db"

        def codes() -> list[bytes]:
            with closing(sqlite3.connect(path)) as database:
                return [row[0] for row in database.execute("SELECT codes FROM fingerprints ORDER BY item_id")]

        first = codes()
        assert [len(one) for one in first] == [64, 64]
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("DELETE FROM fingerprints")
        made.duplicates(DuplicatesRequest())
        assert codes() == first
        made.items.put([NewItem("a", image=encoded(photograph(2)))])
        assert codes() == [first[1], first[1]]
        assert len(made.duplicates(DuplicatesRequest()).groups) == 1
        made.items.delete(["a"])
        assert codes() == first[1:]
