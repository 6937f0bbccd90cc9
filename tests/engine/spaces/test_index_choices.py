"""Chosen kinds of indexes: events that keep a choice, events that end it, and the live recall."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import index_recall
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.index.searcher import Neighbors

COUNT = 12_000
"""More rows than an approximate index scans exactly."""
ROWS = np.random.default_rng(0).normal(size=(COUNT, 8)).astype(np.float32)
REQUEST = SearchRequest([Query("v", vector=row + np.float32(0.01)) for row in ROWS[:30]], targets=("v",))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with the collection ``many``, whose views v and w are in lists."""
    home = Home(tmp_path_factory.mktemp("many") / "home")
    with home.create("many", ["v=vectors:dim=8", "w=vectors:dim=4"]) as made:
        keys = [f"{number:05}" for number in range(COUNT)]
        made.items.put_vectors("v", keys, ROWS)
        made.items.put_vectors("w", keys, ROWS[:, :4])
        made.spaces.reindex("raw", index="ivf")
    return home


@pytest.fixture
def many(base: Home) -> Iterator[Collection]:
    base.copy("many", "copied").close()
    with base.open("copied") as made:
        yield made
    base.delete("copied")


def kinds(collection: Collection, space: str = "raw") -> dict[str, tuple[str, str]]:
    return {one.target: (one.asked, one.kind) for one in collection.spaces.get(space).indexes}


def hits(collection: Collection) -> list[list[str]]:
    return [[hit.key for hit in one.hits] for one in collection.search(REQUEST)]


def test_a_deleted_view_forgets_its_choice(many: Collection) -> None:
    """Choices of other views stay, and a new view of the name is exact."""
    many.views.delete("w")
    assert kinds(many) == {"v": ("ivf", "ivf")}
    many.views.add("w=vectors:dim=4")
    many.items.put_vectors("w", ["00000"], np.ones((1, 4), np.float32))
    assert kinds(many) == {"v": ("ivf", "ivf")}
    assert many.search(view="w", key="00000", targets=["w"])[0].hits == ()


def test_retraining_keeps_what_was_asked_for(many: Collection) -> None:
    """The next generation has the requested kind; another space is exact."""
    recipe = Recipe(spec="pca", views=("v",), dim=4)
    many.train(recipe, space="one")
    assert kinds(many, "one") == {}
    many.spaces.reindex("one", index="hnsw", recall=0.9)
    many.train(recipe, space="one")
    (index,) = many.spaces.get("one").indexes
    assert (index.asked, index.kind, index.recall) == ("hnsw", "hnsw", 0.9)
    many.train(recipe, space="two")
    assert kinds(many, "two") == {}


def test_indexes_of_codes_are_refused(many: Collection) -> None:
    """They suit every size by themselves."""
    many.train(Recipe(spec="itq:8", views=("v",)), space="codes")
    with pytest.raises(InvalidInputError, match="target v of space 'codes' contains codes"):
        many.spaces.reindex("codes")


def test_backups_and_exports_keep_choices(base: Home, many: Collection, tmp_path: Path) -> None:
    """Their indexes are built again, and answer the same."""
    base.backup("copied", tmp_path / "copy.db")
    base.export("copied", tmp_path / "exported")
    found = hits(many)
    with Home(tmp_path / "other").restore("restored", tmp_path / "copy.db") as restored:
        assert kinds(restored) == kinds(many)
        assert hits(restored) == found
    with Home(tmp_path / "other").import_("imported", tmp_path / "exported") as imported:
        assert kinds(imported) == kinds(many)
        assert hits(imported) == found


def test_a_compacted_collection_keeps_its_snapshots(base: Home, many: Collection, caplog: pytest.LogCaptureFixture):
    """A space that no search has used does, too; the snapshots follow the changes."""
    many.items.put([NewItem("new", rows={"v": ROWS[0], "w": ROWS[0, :4]})])
    many.close()
    with base.open("copied") as opened:
        opened.storage.compact()
    with base.open("copied") as opened:
        assert kinds(opened) == {"v": ("ivf", "ivf"), "w": ("ivf", "ivf")}
        assert "new" in hits(opened)[0]
    assert "rebuilding" not in caplog.text


class Careless:
    """A searcher that misses the nearest half, unless it must be exact."""

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __len__(self) -> int:
        return len(self._inner)  # type: ignore[arg-type]

    def search(self, vectors: np.ndarray, k: int, only: object = None, effort: int = 0) -> Neighbors:
        if not effort:
            return self._inner.search(vectors, k, only)  # type: ignore[attr-defined]
        found = self._inner.search(vectors, 2 * k, only)  # type: ignore[attr-defined]
        return Neighbors(found.ids[:, k // 2 : k // 2 + k], found.distances[:, k // 2 : k // 2 + k])


def test_a_recall_below_the_promise_is_logged_with_its_remedy(
    many: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once an hour, after enough queries; the description of the space has the recall."""
    from crossview.engine.spaces.indexed import IndexedSpace

    real = IndexedSpace.searcher
    monkeypatch.setattr(index_recall, "_EVERY", 1)
    monkeypatch.setattr(index_recall, "_SHARE", 1e9)
    monkeypatch.setattr(IndexedSpace, "searcher", lambda self, target: Careless(real(self, target)))
    assert many.spaces.get("raw").indexes[0].searches[0].live is None
    live = many._opened.versions().live
    with caplog.at_level(logging.WARNING):
        for query in REQUEST.queries:
            many.search(SearchRequest([query], targets=("v",)))
            live.wait()
    (warning,) = [one.getMessage() for one in caplog.records if "of the nearest items, not 0.99" in one.getMessage()]
    assert "with: `collection.spaces.reindex('raw')`" in warning
    (figure,) = [one.searches[0].live for one in many.spaces.get("raw").indexes if one.target == "v"]
    assert figure is not None
    assert figure == many.info().spaces[-1].indexes[0].searches[0].live
    assert figure.queries == len(REQUEST.queries)
    assert figure.recall == pytest.approx(0.5, abs=0.02)
