"""Embeddings of all items by a space come page by page, and files hold them."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from once import Once
from rows import each, fill, item

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.item_files import every_page, write_vectors
from crossview.engine.values.errors import BusyError, InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.query import ItemEmbeddings, Query
from crossview.engine.values.recipe import Recipe
from crossview.features.extras import install_command


def trained(home: Home) -> Collection:
    items = [item(group, number, ("color", "gist")[: 1 + bool(number % 3)]) for group, number in each(7)]
    made = fill(home, "groups", items)
    made.train(Recipe(spec="multi-npp", views=("color", "gist"), dim=2))
    return made


@pytest.fixture
def groups(home: Home, once: Once):
    """Return items of three groups, every third of which lacks gist."""
    with once.copy(home, trained) as made:
        yield made


class Paged:
    """The items of a collection, which answer in pages of four items."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def embed(self, view: str, **how) -> ItemEmbeddings:
        return self.collection.items.embed(view, limit=4, **how)


def joined(pages: Iterator[ItemEmbeddings]) -> tuple[list[str], np.ndarray]:
    found = list(pages)
    return [key for page in found for key in page.keys], np.concatenate([page.vectors for page in found])


@pytest.mark.parametrize("view", ["color", "gist"])
def test_every_item_that_has_the_view_is_embedded_in_the_order_of_keys(groups, view):
    """Queries by key give the same vectors; pages change only the last digits of a matrix product."""
    expected = sorted(one.key for one in groups.items() if view in one.views)
    keys, vectors = joined(every_page(groups.items.embed, view))
    assert keys == expected
    asked = groups.embed([Query(view, key=key) for key in keys], targets=["gist"])
    np.testing.assert_allclose(vectors, [one.vector for one in asked], rtol=1e-5, atol=1e-6)
    again, small = joined(every_page(Paged(groups).embed, view))
    assert again == keys
    np.testing.assert_allclose(small, vectors, rtol=1e-5, atol=1e-6)


def test_codes_are_packed_and_without_the_floats_to_rank_again_by(groups):
    groups.train(Recipe(spec="multi-npp,itq:12", views=("color", "gist"), rerank=2), activate=True)
    page = groups.items.embed("color")
    assert (page.bits, page.vectors.shape, page.vectors.dtype) == (12, (21, 2), np.uint8)
    (expected,) = groups.embed([Query("color", key=page.keys[3])], targets=["color"])
    np.testing.assert_array_equal(page.vectors[3], expected.vector)


def test_of_several_metrics_one_is_chosen(groups):
    groups.train(Recipe(spec="musl:8", views=("color",), settings={"n_metrics": 2}), activate=True)
    with pytest.raises(
        InvalidInputError, match="several metrics of view 'color': choose one of the targets color:1, color:2"
    ):
        groups.items.embed("color")
    page = groups.items.embed("color", target="color:2")
    (expected,) = groups.embed([Query("color", key=page.keys[0])], targets=["color:2"])
    np.testing.assert_array_equal(page.vectors[0], expected.vector)


def test_a_space_that_changes_between_pages_is_an_error(groups):
    """Vectors of two generations do not compare; the active space may change, since pages name theirs."""
    pages = every_page(Paged(groups).embed, "color")
    first = next(pages)
    groups.train(Recipe(spec="pca", views=("color",), dim=2))
    assert next(pages).space == first.space == "multi-npp"
    groups.train(Recipe(spec="multi-npp", views=("color", "gist"), dim=2))
    with pytest.raises(BusyError, match="from generation 1 to 2"):
        next(pages)


def test_what_cannot_be_embedded_is_refused(groups, home):
    for how, error, words in (
        ({"view": "no"}, NotFoundError, "there are: color, gist"),
        ({"view": "color", "target": "no"}, NotFoundError, "no target 'no'"),
        ({"view": "color", "space": "no"}, NotFoundError, "no space 'no'"),
        ({"view": "color", "limit": 0}, InvalidInputError, "at least 1, not 0"),
    ):
        with pytest.raises(error, match=words):
            groups.items.embed(**how)
    with home.create("empty", ["color"]) as empty, pytest.raises(NotReadyError, match="has a row of view 'color'"):
        empty.items.embed("color")


@pytest.mark.parametrize("others", [0, 1])
def test_a_query_that_its_view_cannot_take_is_not_embedded(home, others):
    """A search refuses it, too: a view of rows from outside takes no text, among any other queries."""
    with home.create("outside", ["v=vectors:dim=4", "text"]) as made:
        made.items.put_vectors("v", ["one"], np.ones((1, 4), np.float32))
        queries = [Query("v", text="words"), *[Query("v", key="one")] * others]
        with pytest.raises(InvalidInputError, match="does not accept a query by a text"):
            made.embed(queries, space="raw")


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_what_was_written_is_indexed_again(groups, home, tmp_path, ending):
    """A view of vectors from outside takes it: rows and keys are in the places that ``index_vectors`` reads."""
    written = write_vectors(tmp_path / f"rows{ending}", every_page(Paged(groups).embed, "gist"))
    keys, vectors = joined(every_page(Paged(groups).embed, "gist"))
    assert (written.rows, written.width, written.bits) == (len(keys), 2, 0)
    with home.create("again", ["color"]) as again:
        again.items.index_vectors("made", written.path, written.keys)
        found = again.items.embed("made", space="raw")
    assert list(found.keys) == keys
    np.testing.assert_array_equal(found.vectors, vectors)
    assert sorted(path.name for path in tmp_path.glob("*rows*")) == sorted(
        ["rows.npy", "rows.keys.txt"] if ending == ".npy" else ["rows.npz"]
    )


def test_parquet_has_a_column_of_keys_and_one_of_vectors(groups, tmp_path):
    """With pyarrow it has the labels, too; it has float vectors and codes, page by page."""
    parquet = pytest.importorskip("pyarrow.parquet")
    groups.train(Recipe(spec="multi-npp,itq:12", views=("color", "gist")), space="codes", activate=False)
    for space in ("multi-npp", "codes"):
        write_vectors(tmp_path / "rows.parquet", every_page(Paged(groups).embed, "gist", space=space))
        table = parquet.read_table(tmp_path / "rows.parquet")
        keys, vectors = joined(every_page(groups.items.embed, "gist", space=space))
        assert table.column_names == ["key", "labels", "code" if space == "codes" else "vector"]
        assert table["key"].to_pylist() == keys
        assert table["labels"].to_pylist() == [list(groups.items.get(key).labels) for key in keys]
        if space == "codes":
            assert table["code"].to_pylist() == [row.tobytes() for row in vectors]
        else:
            np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), vectors.dtype), vectors)


def test_without_pyarrow_the_remedy_is_an_extra_or_another_format(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotReadyError, match=re.escape(install_command("parquet"))):
        write_vectors(tmp_path / "rows.parquet", iter([]))


def _page(key: str, after: str = "") -> ItemEmbeddings:
    vectors = np.ones((1, 2), np.float32)
    return ItemEmbeddings(space="raw", generation=1, keys=(key,), vectors=vectors, after=after)


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path):
    """An error on the way leaves the existing file, and no other one beside it."""

    def failing() -> Iterator[ItemEmbeddings]:
        yield _page("a", after="a")
        raise BusyError("in between")

    endings = [".npy", ".npz"]
    for ending in endings:
        (tmp_path / f"rows{ending}").write_bytes(b"before")
        with pytest.raises(BusyError):
            write_vectors(tmp_path / f"rows{ending}", failing())
        assert (tmp_path / f"rows{ending}").read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == len(endings)


def test_files_that_cannot_hold_the_keys_are_refused(tmp_path):
    """A line break would make two keys of one; another suffix names no format."""
    pages = [_page("a\nb")]
    with pytest.raises(InvalidInputError, match=r"contains a line break, .* write .npz or .parquet"):
        write_vectors(tmp_path / "rows.npy", pages)
    assert write_vectors(tmp_path / "rows.npz", pages).rows == 1
    with pytest.raises(InvalidInputError, match=r"must end in one of .npy, .npz, .parquet"):
        write_vectors(Path("rows.csv"), pages)
