"""Vectors from outside are a view like any other: files are read whole or not at all, and existing rows stay."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError, NotReadyError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe


def write(folder: Path, rows, keys: list[str] | None = None) -> tuple[Path, Path | None]:
    np.save(folder / "rows.npy", rows)
    if keys is None:
        return folder / "rows.npy", None
    (folder / "keys.txt").write_text("".join(f"{key}\n" for key in keys))
    return folder / "rows.npy", folder / "keys.txt"


def ramp(count: int, dim: int = 3) -> np.ndarray:
    return np.arange(count * dim, dtype=np.float32).reshape(count, dim)


def test_vectors_make_a_view_and_items(home: Home, tmp_path):
    with home.create("made", ["color"]) as made:
        seen = []
        path, keys = write(tmp_path, ramp(5).astype(np.float64), [f"doc/{n}" for n in range(5)])
        report = made.items.index_vectors("clip", path, keys, lambda *counts: seen.append(counts))
        assert (report.added, report.updated, report.unchanged) == (5, 0, 0)
        assert seen[-1] == ("indexing", 5, 5)
        (view,) = [view for view in made.views() if view.name == "clip"]
        assert (view.extractor, view.dim, view.fitted) == ("vectors", 3, True)
        (answer,) = made.search(SearchRequest([Query("clip", vector=[3.0, 4.0, 5.0])], k=2))
        assert [(hit.key, hit.distance) for hit in answer.hits] == [
            ("doc/1", 0.0),
            ("doc/0", pytest.approx(np.sqrt(27))),
        ]


def test_an_npz_brings_its_keys(home: Home, tmp_path):
    np.savez(tmp_path / "rows.npz", keys=np.array(["b", "ü/1"]), vectors=ramp(2).astype(np.int16))
    with home.create("made", ["vectors:dim=3"]) as made:
        assert made.items.index_vectors("vectors", tmp_path / "rows.npz").added == 2
        assert [item.key for item in made.items()] == ["b", "ü/1"]


def test_rows_without_keys_go_to_the_items_in_the_order_of_keys(collection, tmp_path):
    path, _ = write(tmp_path, ramp(18, 2))
    report = collection.items.index_vectors("clip", path)
    assert (report.added, report.updated) == (0, 18)
    items = collection.items(limit=100)
    (answer,) = collection.search(SearchRequest([Query("clip", vector=ramp(18, 2)[7])], space="raw", k=1))
    assert answer.hits[0].key == items[7].key
    assert items[7].source
    assert items[7].labels
    assert items[7].views == ("color", "sift", "clip")
    np.save(path, ramp(17, 2))
    with pytest.raises(InvalidInputError, match=r"17 rows and the collection 18 items.*`keys`"):
        collection.items.index_vectors("clip", path)


def test_rows_that_are_there_are_unchanged_and_new_ones_replace(home: Home, tmp_path):
    with home.create("made", ["color"]) as made:
        rows = ramp(2500)
        path, keys = write(tmp_path, rows, [f"{n:05}" for n in range(2500)])
        made.items.index_vectors("clip", path, keys)
        before = made.info().sequence
        assert made.items.index_vectors("clip", path, keys).unchanged == 2500
        assert made.info().sequence == before
        rows[1234] += 1
        np.save(path, rows)
        assert made.items.index_vectors("clip", path, keys).updated == 1
        (answer,) = made.search(SearchRequest([Query("clip", vector=rows[1234])], k=1))
        assert (answer.hits[0].key, answer.hits[0].distance) == ("01234", 0.0)


@pytest.mark.parametrize(
    ("rows", "keys", "words"),
    [
        (np.array([[1.0, np.nan], [np.inf, 2]]), ["a", "b"], "row 1 of .* has NaN"),
        (np.array([[1e300, 2]]), ["b"], r"row 1 of .*\(key 'b'\) has 1e\+300 in column 1"),
        (np.zeros((2, 3)), ["a", "a"], "key 'a' is duplicated in row 2"),
        (np.zeros((2, 3)), ["a"], "1 keys do not match the 2 rows"),
        (np.zeros((2, 3)), ["a", ""], "a key must have 1 to 1,024"),
        (np.zeros((0, 3)), [], "n and d at least 1|mmap|is not an array"),
        (np.zeros((2, 0)), ["a", "b"], "n and d at least 1|mmap|is not an array"),
        (np.zeros(3), ["a", "b", "c"], r"shape \(3,\); vectors have shape \(n, d\)"),
        (np.zeros((2, 3, 4)), ["a", "b"], "vectors have shape"),
        (np.array(["a", "b"]), ["a", "b"], "not numbers"),
        (np.zeros((2, 3), complex), ["a", "b"], "not numbers"),
        (np.zeros((1, 70_000), np.int8), ["a"], "at most 65536"),
        (np.zeros((2, 5)), ["a", "b"], "rows of 5 numbers; view 'clip' has 3"),
    ],
)
def test_a_file_that_cannot_be_used_leaves_nothing(home: Home, tmp_path, rows, keys, words):
    with home.create("made", ["clip=vectors:dim=3"]) as made:
        before = made.info().sequence
        with pytest.raises(InvalidInputError, match=words):
            made.items.index_vectors("clip", *write(tmp_path, rows, keys))
        new = "other" if "view 'clip'" not in words else "clip"
        with pytest.raises(InvalidInputError, match=words):
            made.items.index_vectors(new, *write(tmp_path, rows, keys))
        assert (made.info().sequence, made.count(), len(made.views())) == (before, 0, 1)


def test_what_is_no_array_is_refused(home: Home, tmp_path):
    with home.create("made", ["color"]) as made:
        (tmp_path / "text.npy").write_text("hello")
        np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
        np.savez(tmp_path / "other.npz", rows=ramp(2))
        np.savez(tmp_path / "bytes.npz", keys=np.array([b"a", b"b"]), vectors=ramp(2))
        np.savez(tmp_path / "objects.npz", keys=np.array(["a", None]), vectors=ramp(2))
        (tmp_path / "empty.npy").write_bytes(b"")
        (tmp_path / "cut.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:100])
        for path in sorted(tmp_path.glob("*.np?")):
            with pytest.raises(InvalidInputError, match=path.name):
                made.items.index_vectors("clip", path)
        np.savez(tmp_path / "good.npz", keys=np.array(["a", "b"]), vectors=ramp(2))
        with pytest.raises(InvalidInputError, match="already contains keys: leave out the file"):
            made.items.index_vectors("clip", tmp_path / "good.npz", tmp_path / "keys.txt")
        (tmp_path / "words.npy").write_text("no numbers")
        with pytest.raises(InvalidInputError, match=r"it is not a \.npy or \.npz file; write it with numpy\.save"):
            made.items.index_vectors("clip", tmp_path / "words.npy")
        (tmp_path / "keys.txt").write_bytes(b"\xff\n")
        np.save(tmp_path / "good.npy", ramp(1))
        with pytest.raises(InvalidInputError, match=r"keys.txt is not UTF-8"):
            made.items.index_vectors("clip", tmp_path / "good.npy", tmp_path / "keys.txt")
        with pytest.raises(InvalidInputError, match=r"absent\.npy: No such file"):
            made.items.index_vectors("clip", tmp_path / "absent.npy")
        assert [view.name for view in made.views()] == ["color"]


def test_rows_by_program_are_checked_as_a_whole(home: Home):
    with home.create("made", ["clip=vectors:dim=3", "sift"]) as made:
        for keys, rows in ((["a"], ramp(2)), (["a", "a"], ramp(2)), (["a", "b"], ramp(2, 4)), (["a", "\0"], ramp(2))):
            with pytest.raises(InvalidInputError):
                made.items.put_vectors("clip", keys, rows)
        with pytest.raises(NotFoundError, match="there are: clip"):
            made.items.put_vectors("clap", ["a"], ramp(1))
        with pytest.raises(NotReadyError):
            made.items.put_vectors("sift", ["a"], np.zeros((1, 300), np.float32))
        assert made.count() == 0
        made.items.put([NewItem("a", rows={"clip": [1, 2, 3]}, labels=("x",), attributes={"n": 1})])
        assert made.items.put_vectors("clip", ["a", "b"], ramp(2)).updated == 1
        assert (made.items.get("a").labels, made.items.get("a").attributes) == (("x",), {"n": 1})


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A collection that has a view for each example."""
    with Home(tmp_path_factory.mktemp("many")).create("made", ["color"]) as made:
        yield made


@settings(max_examples=20, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64, np.int64, np.uint8]),
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.integers(0, 100),
    )
)
def test_what_is_put_is_what_is_stored(many, tmp_path_factory, rows):
    """The file may hold numbers of any type."""
    folder, name = tmp_path_factory.mktemp("vectors"), f"clip{len(many.views())}"
    many.items.index_vectors(name, *write(folder, rows, [f"{n}" for n in range(len(rows))]))
    answers = many.search(SearchRequest([Query(name, vector=row) for row in rows.astype(np.float32)], k=1))
    assert [answer.hits[0].distance for answer in answers] == [0.0] * len(rows)


def test_a_view_of_vectors_trains_with_the_others(collection, tmp_path):
    rng = np.random.default_rng(0)
    collection.items.index_vectors("clip", write(tmp_path, rng.random((18, 8)))[0])
    info = collection.train(Recipe(spec="cca", views=("color", "clip"), dim=3))
    assert info.targets == ("color", "clip")
    (answer,) = collection.search(SearchRequest([Query("clip", vector=rng.random(8))], targets=["color"], k=4))
    assert len(answer.hits) == 4


_INDEX = """
import sys
from pathlib import Path
from crossview.engine.collections.home import Home
Home(sys.argv[1]).open("killed").items.index_vectors("clip", Path(sys.argv[2]), Path(sys.argv[3]),
    lambda stage, done, total: stage == "indexing" and print(done, flush=True))
"""


@pytest.mark.long
def test_kill_9_in_the_middle_and_running_again_ends_with_every_row(home: Home, tmp_path):
    rows = ramp(20_000)
    path, keys = write(tmp_path, rows, [f"{n:05}" for n in range(len(rows))])
    home.create("killed", ["color"]).close()
    command = [sys.executable, "-c", _INDEX, str(home.path), str(path), str(keys)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            assert int(line) == 5_000  # the first commit
            running.kill()
            break
    with home.open("killed") as collection:
        kept = collection.count()
        assert 5_000 <= kept < 20_000
        assert kept % 5_000 == 0
        report = collection.items.index_vectors("clip", path, keys)
        assert (report.added, report.unchanged) == (20_000 - kept, kept)
        (answer,) = collection.search(SearchRequest([Query("clip", vector=rows[-1])], k=1))
        assert answer.hits[0].key == "19999"
