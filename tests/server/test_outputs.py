"""Commands write files for other programs: vectors of all items, and CSV, here and through a server."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Recipe


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows``, one item of which has everything."""
    home = Home(tmp_path / "home")
    fill_rows(home, 60)
    with home.open("rows") as made:
        row = {"color": np.ones(64)}
        made.items.put(
            [
                NewItem(
                    'a,"b"', rows=row, labels=("x", "y"), attributes={"n": 1}, source="/files/a.jpg", text="two\nlines"
                )
            ]
        )
        made.train(Recipe(spec="cca,lsh:12", views=("color", "gist"), dim=3), space="codes")
        made.train(Recipe(spec="cca", views=("color", "gist"), dim=3), activate=True)
    with reached(home, request.param) as options:
        yield options


def lines(*arguments: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(done(*arguments, "--csv"))))


def test_all_items_are_listed_as_csv(where: list[str]) -> None:
    """A limit is the only bound; cells that hold commas, quotes and line breaks stay whole."""
    found = lines("list", "rows", *where)
    assert [line["key"] for line in found] == sorted(line["key"] for line in found)
    assert len(found) == 121
    assert found[0] == {
        "key": 'a,"b"',
        "labels": "x;y",
        "notion_labels": "",
        "attributes": '{"n": 1}',
        "text": "two\nlines",
        "source": "/files/a.jpg",
        "views": "color",
        "file": "",
    }
    assert found[1]["attributes"] == found[1]["text"] == found[1]["source"] == ""
    assert len(lines("list", "rows", "--limit", 3, *where)) == 3
    assert len(lines("list", "rows", "--where", "label = cat", *where)) == 60
    assert len(result_of("list", "rows", *where)) == 100
    assert lines("list", *where) == [{"name": "rows"}]


def test_hits_carry_the_file_that_they_were_read_from(where: list[str]) -> None:
    """It is in JSON, in CSV, and in a column of the table if a hit has a file."""
    ask = ("search", "rows", "--key", "cat/3", "--view", "color", "--space", "raw", "-k", 120)
    (answer,) = result_of(*ask, *where)
    (hit,) = [one for one in answer["hits"] if one["key"] == 'a,"b"']
    assert hit["source"] == "/files/a.jpg"
    found = lines(*ask, *where)
    assert [(line["key"], float(line["distance"])) for line in found] == [
        (one["key"], one["distance"]) for one in answer["hits"]
    ]
    (line,) = [one for one in found if one["key"] == 'a,"b"']
    assert (line["query"], line["target"], line["labels"], line["source"]) == ("0", "color", "x;y", "/files/a.jpg")
    assert "/files/a.jpg" in done(*ask, *where)
    assert "source" not in done(*ask[:-1], 3, *where)


def test_csv_or_json(where: list[str]) -> None:
    """Both are a usage error."""
    for command in (("list",), ("search", "rows", "--key", "cat/3", "--view", "color")):
        assert run(*command, "--csv", "--json", *where).exit_code == 2


def test_all_items_are_embedded_to_a_file(where: list[str], tmp_path: Path) -> None:
    """Every format works; one line says what was written, and no row is printed."""
    ask = ("embed", "rows", "--view", "color", "--all", "--out")
    output = done(*ask, tmp_path / "rows.npy", *where)
    assert output == (
        f"wrote 121 vectors of 3 numbers to {tmp_path / 'rows.npy'}, and their keys to {tmp_path / 'rows.keys.txt'}\n"
    )
    rows, keys = np.load(tmp_path / "rows.npy"), (tmp_path / "rows.keys.txt").read_text().splitlines()
    assert (rows.shape, rows.dtype, len(keys)) == ((121, 3), np.float32, 121)
    (one,) = result_of("embed", "rows", "--view", "color", "--key", keys[7], "--targets", "gist", *where)
    np.testing.assert_array_equal(rows[7], np.float32(one["vector"]))
    written = result_of(*ask, tmp_path / "codes.npz", "--space", "codes", "--targets", "gist", *where)
    assert (written["rows"], written["bits"], written["keys"]) == (121, 12, None)
    with np.load(tmp_path / "codes.npz") as arrays:
        assert arrays["keys"].tolist() == keys
        assert (arrays["vectors"].shape, arrays["vectors"].dtype) == ((121, 2), np.uint8)


def test_vectors_are_written_as_csv(where: list[str], tmp_path: Path) -> None:
    """They have keys, labels, and each number with all its digits; codes are in hexadecimal digits."""
    ask = ("embed", "rows", "--view", "color", "--all", "--targets", "gist", *where)
    done(*ask, "--out", tmp_path / "rows.npz")
    done(*ask, "--out", tmp_path / "rows.csv")
    with np.load(tmp_path / "rows.npz") as arrays, (tmp_path / "rows.csv").open(newline="") as file:
        first, *rows = csv.reader(file)
        assert first == ["key", "labels", "0", "1", "2"]
        assert [row[0] for row in rows] == arrays["keys"].tolist()
        assert rows[0][:2] == ['a,"b"', "x;y"]
        np.testing.assert_array_equal(np.float32([row[2:] for row in rows]), arrays["vectors"])
    done(*ask, "--space", "codes", "--out", tmp_path / "codes.csv")
    done(*ask, "--space", "codes", "--out", tmp_path / "codes.npy")
    codes = np.load(tmp_path / "codes.npy")
    with (tmp_path / "codes.csv").open(newline="") as file:
        assert [row["code"] for row in csv.DictReader(file)] == [code.tobytes().hex() for code in codes]


@pytest.mark.parametrize(("space", "view", "target"), [("cca", "color", "gist"), ("raw", "color", "color")])
def test_a_graph_has_the_distances_of_the_nearest_items(
    where: list[str], tmp_path: Path, space: str, view: str, target: str
) -> None:
    """NumPy computes the same from the vectors of all items; an item without a view has an empty row or column."""
    ask = ("--space", space, "--view", view, "--targets", target, *where)
    done("neighbors", "rows", *ask, "-k", 4, "--out", tmp_path / "graph.npz")
    graph = load_npz(tmp_path / "graph.npz").toarray()
    keys = (tmp_path / "graph.keys.txt").read_text().splitlines()
    done("embed", "rows", "--all", "--view", view, *ask[:2], *ask[4:], "--out", tmp_path / "asked.npz")
    done("embed", "rows", "--all", "--view", target, *ask[:2], *ask[4:], "--out", tmp_path / "found.npz")
    with np.load(tmp_path / "asked.npz") as asked, np.load(tmp_path / "found.npz") as found:
        assert keys == sorted({*asked["keys"].tolist(), *found["keys"].tolist()})
        assert graph.shape == (121, 121)
        for key, row in zip(asked["keys"], asked["vectors"], strict=True):
            distances = np.linalg.norm(found["vectors"] - row, axis=1)
            distances[found["keys"] == key] = np.inf
            expected = np.zeros(121)
            for place in np.argsort(distances, kind="stable")[:4]:
                expected[keys.index(found["keys"][place])] = distances[place]
            np.testing.assert_allclose(graph[keys.index(key)], expected, rtol=1e-4, atol=1e-5)


def test_a_graph_of_some_items_names_no_others(where: list[str], tmp_path: Path) -> None:
    """It has no more neighbours than there are items; mistakes are refused before anything is written."""
    out = ("--view", "color", "--out", tmp_path / "graph.npz", *where)
    assert "wrote 3,540 neighbours of 60 items" in done("neighbors", "rows", *out, "-k", 99, "--where", "label = cat")
    assert {key[:4] for key in (tmp_path / "graph.keys.txt").read_text().splitlines()} == {"cat/"}
    made = result_of("neighbors", "rows", *out, "-k", 2)
    assert (made["items"], made["edges"], made["exact"]) == (121, 242, True)
    for options, words in (
        (("--view", "no"), "there are: color, gist"),
        (("--view", "color", "--targets", "no"), "no target 'no'"),
        (("--view", "color", "--out", tmp_path / "graph.csv"), "must end in .npz"),
    ):
        given = [*options] if "--out" in options else [*options, "--out", tmp_path / "new.npz"]
        result = run("neighbors", "rows", *given, *where)
        assert result.exit_code == 1
        assert words in result.stderr
    assert not [path for path in tmp_path.iterdir() if "new" in path.name]


def test_what_is_written_to_a_file_is_not_printed(where: list[str], tmp_path: Path) -> None:
    """Any number of rows prints one line, or one JSON object."""
    np.save(tmp_path / "asked.npy", np.random.default_rng(0).uniform(size=(30, 64)))
    ask = ("embed", "rows", "--view", "color", "--vector", tmp_path / "asked.npy", "--targets", "gist")
    out = ("--out", tmp_path / "rows.npy")
    assert done(*ask, *out, *where) == f"wrote 30 vectors of 3 numbers to {tmp_path / 'rows.npy'}\n"
    expected = [one["vector"] for one in result_of(*ask, *where)]
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), np.float32(expected))
    assert result_of(*ask, *out, *where) == {
        "path": str(tmp_path / "rows.npy"),
        "rows": 30,
        "width": 3,
        "bits": 0,
        "keys": None,
    }


def test_mistakes_name_the_remedy(where: list[str], tmp_path: Path) -> None:
    """A file's suffix is refused before anything is computed; options that do not go together are usage errors."""
    ask = ("embed", "rows", "--view", "color", "--all", *where)
    result = run(*ask, "--out", tmp_path / "rows.txt")
    assert result.exit_code == 1
    assert "must end in one of .npy, .npz, .parquet" in result.stderr
    for options in ((), ("--key", "cat/3", "--out", "x.npy"), ("--targets", "color,gist", "--out", "x.npy")):
        assert run(*ask, *options).exit_code == 2
    one = run("embed", "rows", "--view", "color", "--key", "cat/3", "--out", tmp_path / "one.parquet", *where)
    assert (one.exit_code, "are written as .npy" in one.stderr) == (2, True)
