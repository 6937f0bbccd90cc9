"""Rows in files become the items of a published generation: the answers are those of publish from a catalog."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spread_rows import ONE, extracted

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.collection import PublishedCollection
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.publication import Publication, PublishRequest
from crossview.engine.publishing.publish import publish
from crossview.engine.publishing.spreading.placing import PlaceRequest, PlaceWork, place_rows
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.engine.values.recipe import Recipe

pytest.importorskip("milvus_lite")
COUNT = 80


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A trained collection of vectors with labels, attributes and texts; a few items lack a view."""
    generator = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("taught")
    with Home(folder / "home").create("rows", ["a=vectors:dim=8", "b=vectors:dim=6"]) as made:
        made.items.put(
            [
                NewItem(
                    f"item/{number}",
                    rows={
                        "a": generator.normal(size=8),
                        **({"b": generator.normal(size=6)} if number % 9 else {}),
                    },
                    labels=("odd", "seen") if number % 2 else ("even",),
                    attributes={"year": 2000 + number, "place": "Rome"},
                    text=f"number {number}",
                )
                for number in range(COUNT)
            ]
        )
        for spec in ("cca", "cca,lsh:32"):
            made.train(Recipe(spec=spec, views=("a", "b"), dim=4), space="codes" if "lsh" in spec else "floats")
        yield made


@pytest.fixture(scope="module", params=["floats", "codes"])
def space(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(collection: Collection, folder: Path, size: int = 30) -> Path:
    """Write the items of a collection in files, as another program could."""
    with collection._opened.read() as tx:
        keys = tx.items.keys()
        rows = {view.name: tx.rows.get(view) for view in tx.views.all()}
    by_key = {
        view: {keys[at]: row for at, row in zip(one.ids.tolist(), one.rows, strict=True)} for view, one in rows.items()
    }
    items = {item.key: item for item in collection.items(limit=1_000)}
    folder.mkdir(parents=True)
    names = list(items)
    for number, first in enumerate(range(0, len(names), size)):
        some = [items[name] for name in names[first : first + size]]
        columns: dict[str, Any] = {
            "key": [item.key for item in some],
            "labels": [list(item.labels) for item in some],
            "attributes": [f'{{"place": "{item.attributes["place"]}"}}' for item in some],
            "year": [item.attributes["year"] for item in some],
            "text": [item.text for item in some],
        }
        table = pa.table(columns)
        for view, of_view in by_key.items():
            values = [of_view[item.key].tolist() if item.key in of_view else None for item in some]
            width = len(next(iter(of_view.values())))
            table = table.append_column(view, pa.array(values, pa.list_(pa.float32(), width)))
        pq.write_table(table, folder / f"rows-{number}.parquet")
    return folder


def placed(folder: Path, rows: Path, engine: Milvus, **other: Any) -> Publication:
    request = PlaceRequest(rows=str(rows), bundle=str(folder / "bundles"), published="rows", engine=engine, **other)
    return place_rows(request, ONE)


def answers(folder: Path, name: str, engine: Milvus, collection: Collection) -> list[Any]:
    """Return the hits of items and of vectors, with and without a condition, and the items themselves."""
    vector = np.linspace(-1, 1, 8).astype(np.float32)
    queries = [Query("a", key="item/7"), Query("b", key="item/10"), Query("a", vector=vector)]
    with closing(PublishedCollection(name, ObjectStorage(folder / "bundles"), engine)) as published:
        lists = [
            published.search(SearchRequest(queries, targets=("a", "b"), k=9, filter=condition))
            for condition in ("", "year > 2020 and label = odd")
        ]
        hits = [_ranked(one) for found in lists for one in found]
        return [hits, [published.items.get(item.key) for item in collection.items(limit=COUNT)], published.count()]


def _ranked(found: HitList) -> list[Any]:
    """Return the distances of hits, and the hits: equally distant ones by key, without those as far as the last."""
    distances = [hit.distance for hit in found.hits]
    hits = [(hit.distance, hit.key, hit.labels, hit.attributes, hit.text) for hit in found.hits]
    return [distances, sorted((one for one in hits if one[0] < distances[-1]), key=lambda one: one[:2])]


def test_answers_are_those_of_a_published_catalog(taught: Collection, space: str, tmp_path: Path) -> None:
    """The same items with the same content are in both."""
    rows = written(taught, tmp_path / "rows")
    found = list[Any]()
    for name in ("published", "placed"):
        (tmp_path / name).mkdir()
        with closing(Milvus(engine_address(f"milvus:{tmp_path}/{name}/items.db"), timeout=300)) as engine:
            to = str(tmp_path / name / "bundles")
            request = PublishRequest(to=to, space=space, engine=engine if name == "published" else None)
            made = publish(taught, request)
            if name == "placed":
                made = placed(tmp_path / name, rows, engine)
            found.append((answers(tmp_path / name, "rows", engine, taught), made.items, made.targets))
    assert found[0][0] == found[1][0]
    assert [(one.target, one.items) for one in found[0][2]] == [(one.target, one.items) for one in found[1][2]]
    assert all(one.recall is None or one.recall >= 0.99 for one in found[1][2])


def test_an_interrupted_placing_continues(taught: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It continues at the first file that it did not reach; earlier files are only read, to check the answers."""
    rows = written(taught, tmp_path / "rows", 10)
    publish(taught, PublishRequest(to=str(tmp_path / "bundles"), space="floats"))
    original, seen = PlaceWork._placed, list[tuple[int, bool]]()

    def failing(self: PlaceWork, *given: Any) -> Any:
        if given[-1].number == 5 and not seen.count((5, True)):
            seen.append((5, True))
            raise ConnectionError("the machine is gone")
        seen.append((given[-1].number, given[-1].put))
        return original(self, *given)

    monkeypatch.setattr(PlaceWork, "_placed", failing)
    with closing(Milvus(engine_address(f"milvus:{tmp_path}/items.db"), timeout=300)) as engine:
        with pytest.raises(ConnectionError):
            placed(tmp_path, rows, engine)
        seen[:] = [(5, True)]
        made = placed(tmp_path, rows, engine)
        assert (made.items, made.switched) == (COUNT, True)
        put = {number for number, put in seen[1:] if put}
        assert {5, 6, 7} <= put <= {3, 4, 5, 6, 7}
        assert {number for number, _ in seen[1:]} == set(range(8))
        seen.clear()
        assert not placed(tmp_path, rows, engine).switched
        assert seen == []


def test_further_files_are_placed_into_the_generation_in_use(taught: Collection, tmp_path: Path) -> None:
    """They need no other bundle."""
    rows = written(taught, tmp_path / "rows", 40)
    (rows / "rows-1.parquet").rename(tmp_path / "later.parquet")
    publish(taught, PublishRequest(to=str(tmp_path / "bundles"), space="floats"))
    with closing(Milvus(engine_address(f"milvus:{tmp_path}/items.db"), timeout=300)) as engine:
        assert placed(tmp_path, rows, engine).items == 40
        (tmp_path / "later.parquet").rename(rows / "rows-1.parquet")
        made = placed(tmp_path, rows, engine)
        assert (made.items, made.switched) == (COUNT, False)


def test_rows_that_cannot_be_items_are_failures(taught: Collection, tmp_path: Path) -> None:
    """The report has the reason; the others are placed."""
    rows = written(taught, tmp_path / "rows")
    table = pq.read_table(rows / "rows-0.parquet")
    bad = [[float("nan")] * 8, *table["a"].to_pylist()[1:]]
    keys = ["item/nan", "", *table["key"].to_pylist()[2:]]
    for name, column in (("a", pa.array(bad, table["a"].type)), ("key", pa.array(keys))):
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, rows / "rows-0.parquet")
    publish(taught, PublishRequest(to=str(tmp_path / "bundles"), space="floats"))
    with closing(Milvus(engine_address(f"milvus:{tmp_path}/items.db"), timeout=300)) as engine:
        made = placed(tmp_path, rows, engine)
    assert made.items == COUNT - 2
    assert {one.key: one.reason for one in made.failures} == {
        "item/nan": "its row of 'a' has a value that is not a finite number",
        "": "a key must have 1 to 1,024 characters; this key is empty",
    }


def test_rows_and_generations_that_do_not_match_are_refused(taught: Collection, tmp_path: Path) -> None:
    """They are refused before anything is written."""
    rows = written(taught, tmp_path / "rows")
    publish(taught, PublishRequest(to=str(tmp_path / "bundles"), space="floats"))
    with closing(Milvus(engine_address(f"milvus:{tmp_path}/items.db"), timeout=300)) as engine:
        with pytest.raises(NotFoundError, match="has no Parquet files with rows"):
            placed(tmp_path, tmp_path / "nothing", engine)
        pq.write_table(pq.read_table(rows / "rows-0.parquet").drop_columns("key"), tmp_path / "keyless.parquet")
        with pytest.raises(InvalidInputError, match="has no column 'key'"):
            placed(tmp_path, tmp_path, engine)
        placed(tmp_path, rows, engine)
        with pytest.raises(InvalidInputError, match=r"was filled from .*rows.* publish under another name"):
            publish(taught, PublishRequest(to=str(tmp_path / "bundles"), space="floats", engine=engine))


def test_rows_of_another_fit_are_refused(place: Path, indexed: Collection, tmp_path: Path) -> None:
    """Distances between them and queries would mean nothing."""
    extracted(place, tmp_path / "rows")
    with Home(tmp_path / "home").create("other", ["color", "sift:words=8", "gist"]) as other:
        other.index([place / "photos" / "cat"])
        publish(other, PublishRequest(to=str(tmp_path / "bundles"), name="rows"))
    with (
        closing(Milvus(engine_address(f"milvus:{tmp_path}/items.db"), timeout=300)) as engine,
        pytest.raises(InvalidInputError, match=r"the rows of 'sift' .* were computed by another fit of this view"),
    ):
        placed(tmp_path, tmp_path / "rows", engine)
