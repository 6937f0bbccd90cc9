"""Spaces, generations and views are deleted: which may go, which come back, and how readers notice."""

import shutil

import numpy as np
import pytest
from drawn import CLASSES, draw, encode
from once import Once

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.target import SKETCH
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

COUNT, WIDTH = 400, 1_500
KEYS = [f"{number:03}" for number in range(COUNT)]
WIDE = f"wide=vectors:dim={WIDTH}"


def wide(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(COUNT, WIDTH)).astype(np.float32)


def two_views(home: Home) -> Collection:
    made = home.create("rows", ["small=vectors:dim=3", WIDE])
    made.items.put_vectors("small", KEYS, np.random.default_rng(9).normal(size=(COUNT, 3)).astype(np.float32))
    made.items.put_vectors("wide", KEYS, wide(0))
    return made


@pytest.fixture
def rows(home: Home, once: Once):
    """Items with a small view of three numbers and a wide one."""
    with once.copy(home, two_views) as made:
        yield made


def snapshots(collection: Collection, home: Home) -> list[str]:
    """Return the names of the files, without their random parts."""
    return sorted(path.name.rpartition("-")[0] for path in (home.path / collection.name / "indexes").glob("*.idx"))


def nearest(collection: Collection, row: np.ndarray, **how) -> tuple[str, float]:
    (answer,) = collection.search(SearchRequest([Query("wide", vector=row)], targets=["wide"], k=1, **how))
    return answer.hits[0].key, answer.hits[0].distance


def test_a_space_goes_with_its_snapshots_and_its_disk_space(rows, home):
    """The others and their snapshots stay; ``raw`` answers instead of the active one."""
    rows.train(Recipe(spec="pca", views=("small",), dim=2), space="kept")
    before = rows.info().bytes_on_disk
    rows.train(Recipe(spec="kernel:rbf,pca", views=("wide",), dim=2), activate=True)
    assert rows.info().bytes_on_disk > before + 4 * COUNT * WIDTH
    rows.spaces.delete("pca")
    assert rows.info().bytes_on_disk < before + 100_000
    assert [space.name for space in rows.spaces()] == ["kept", "raw"]
    assert rows.info().active_space == "raw"
    assert snapshots(rows, home) == ["kept-1-small", f"kept-1-small:{SKETCH}"]
    assert nearest(rows, wide(0)[7]) == ("007", 0.0)
    with pytest.raises(NotFoundError, match="there are: kept, raw"):
        rows.search(SearchRequest([Query("wide", key="007")], space="pca"))


def test_a_space_that_is_not_active_goes_without_a_change_of_the_active_one(rows):
    rows.train(Recipe(spec="pca", views=("small",), dim=2))
    rows.train(Recipe(spec="pca", views=("wide",), dim=2), space="other", activate=False)
    rows.spaces.delete("other")
    assert rows.info().active_space == "pca"


def test_earlier_generations_are_deleted_alone(rows, home):
    """The one that answers is not deleted: the remedies are to activate another one or to delete the space."""
    rows.train(Recipe(spec="pca", views=("small",), dim=2))
    with pytest.raises(NotReadyError, match=r"generation 1 is the only one of space 'pca': .*spaces.delete\('pca'\)`"):
        rows.spaces.delete("pca", 1)
    rows.train(Recipe(spec="pca", views=("small",), dim=3))
    with pytest.raises(NotReadyError, match=r"`collection.spaces.activate\('pca', generation=1\)`"):
        rows.spaces.delete("pca", 2)
    with pytest.raises(NotFoundError, match="no generation 7; there are: 1, 2"):
        rows.spaces.delete("pca", 7)
    rows.spaces.delete("pca", 1)
    assert rows.spaces.get("pca").generations == (2,)
    assert rows.info().active_space == "pca"
    assert snapshots(rows, home) == ["pca-2-small", f"pca-2-small:{SKETCH}"]


def test_what_cannot_be_deleted_names_the_remedy(rows):
    """The views themselves, a view that any generation of a space uses, the last view, and absent ones."""
    rows.train(Recipe(spec="pca", views=("small",), dim=2))
    rows.train(Recipe(spec="pca", views=("wide",), dim=2))
    with pytest.raises(InvalidInputError, match=r"'raw' contains the views .*`collection.views.delete\('VIEW'\)`"):
        rows.spaces.delete("raw")
    with pytest.raises(NotReadyError, match=r"pca \(generation 1\); .*spaces.delete\('pca'\)`"):
        rows.views.delete("small")
    for delete in (rows.spaces.delete, rows.views.delete):
        with pytest.raises(NotFoundError, match="there are:"):
            delete("none")
    rows.spaces.delete("pca")
    rows.views.delete("small")
    with pytest.raises(InvalidInputError, match="'wide' is the only view of collection 'rows'"):
        rows.views.delete("wide")


def test_a_view_goes_with_its_rows_and_its_disk_space(rows, home):
    """Items stay, with the views that they have left."""
    nearest(rows, wide(0)[0])
    rows.close()
    with home.open("rows") as again:
        before = again.info().bytes_on_disk
        again.views.delete("wide")
        assert again.info().bytes_on_disk < before - 2 * 4 * COUNT * WIDTH  # the rows, and the snapshot
        assert [view.name for view in again.views()] == ["small"]
        assert again.count() == COUNT
        assert again.items.get("000").views == ("small",)
        assert not [name for name in snapshots(again, home) if "wide" in name]
        with pytest.raises(NotFoundError, match="there are: small"):
            again.search(SearchRequest([Query("wide", key="000")]))


def test_a_reader_notices_that_a_space_was_deleted_and_trained_again(rows, home):
    """The new one has the same name and generation: the reader answers by it, not by its memory."""
    rows.train(Recipe(spec="pca", views=("wide",), dim=2))
    with home.open("rows") as reader:
        first = nearest(reader, wide(1)[0], space="pca")
        rows.spaces.delete("pca")
        rows.train(Recipe(spec="pca", views=("wide",), dim=7))
        assert rows.spaces.get("pca").generation == 1
        assert nearest(reader, wide(1)[0], space="pca") == nearest(rows, wide(1)[0], space="pca") != first


def test_a_reader_does_not_write_snapshots_of_what_was_deleted(rows, home):
    reader = home.open("rows")
    rows.train(Recipe(spec="pca", views=("wide",), dim=2))
    for path in (home.path / "rows" / "indexes").glob("*.idx"):
        path.unlink()
    nearest(reader, wide(0)[0])  # builds the index
    rows.spaces.delete("pca")
    reader.close()
    assert snapshots(rows, home) == []


def test_a_snapshot_of_a_deleted_space_is_not_used(rows, home):
    """A snapshot under the name of the new space's, left by an interruption, is built again."""
    rows.train(Recipe(spec="pca", views=("wide",), dim=2, seed=1))
    folder, aside = home.path / "rows" / "indexes", home.path / "aside"
    shutil.copytree(folder, aside)
    rows.spaces.delete("pca")
    rows.train(Recipe(spec="sqrt,pca", views=("wide",), dim=2))
    expected = nearest(rows, wide(1)[0])
    for path in aside.iterdir():
        shutil.copy(path, folder)
    with home.open("rows") as again:
        assert nearest(again, wide(1)[0]) == expected


def test_a_view_that_is_added_again_has_nothing_of_the_old_one(rows, home):
    """Rows, the index in a reader's memory and the snapshot are gone: only the new rows are found."""
    with home.open("rows") as reader:
        assert nearest(reader, wide(0)[3], space="raw") == ("003", 0.0)
    folder, aside = home.path / "rows" / "indexes", home.path / "aside"
    shutil.copytree(folder, aside)
    with home.open("rows") as reader:
        assert nearest(reader, wide(0)[3], space="raw") == ("003", 0.0)
        rows.views.delete("wide")
        rows.views.add(WIDE)
        assert rows.items.get("003").views == ("small",)
        rows.items.put_vectors("wide", KEYS[:5], wide(1)[:5])
        for path in aside.iterdir():
            shutil.copy(path, folder)
        with home.open("rows") as later:
            for one in (rows, reader, later):
                assert nearest(one, wide(1)[3], space="raw") == ("003", 0.0)
                (answer,) = one.search(SearchRequest([Query("wide", vector=wide(0)[3])], space="raw", k=COUNT))
                assert len(answer.hits) == 5


def test_a_view_that_is_added_again_is_computed_by_its_own_extractor(home):
    """It is fitted on other pictures, so its words are others, also for a reader with the old ones in memory."""
    pictures = [[encode(draw(label, seed)) for seed in range(6)] for label in CLASSES]
    asked = Query("sift", image=encode(draw("red", 50)))
    with home.create("words", ["color", "sift:words=8"]) as made, home.open("words") as reader:
        made.views.fit(pictures[0], workers=1)
        (old,) = reader.embed([asked], targets=["sift"], space="raw")
        made.views.delete("sift")
        made.views.add("sift:words=8")
        made.views.fit(pictures[1] + pictures[2], workers=1)
        assert made.views()[1].revision == 1
        with home.open("words") as fresh:
            (expected,) = fresh.embed([asked], targets=["sift"], space="raw")
        for one in (made, reader):
            (found,) = one.embed([asked], targets=["sift"], space="raw")
            np.testing.assert_array_equal(found.vector, expected.vector)
        assert not np.array_equal(old.vector, expected.vector)


def test_ids_of_deleted_views_are_never_given_again(home):
    """Views are deleted and added in any order: their ids identify derived data."""
    with home.create("views", ["color", "gist", "sift:words=8"]) as made:
        seen: set[int] = set()
        for name in ("sift", "gist", "gist", "color", "gist"):
            with made._opened.catalog.read() as tx:
                ids = {view.name: view.id for view in tx.views.all()}
            made.views.delete(name)
            seen.add(ids[name])
            made.views.add(f"{name}:words=8" if name == "sift" else name)
            with made._opened.catalog.read() as tx:
                assert seen.isdisjoint(view.id for view in tx.views.all())
