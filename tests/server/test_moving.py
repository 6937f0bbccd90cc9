"""The commands export and import, here and through a server, as people use them and misuse them."""

import json
from pathlib import Path

import mutations
import numpy as np
import pytest
from terminal import BOTH, done, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

DATA = Path(__file__).parents[1] / "engine" / "catalog" / "transfer" / "data"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_collection_moves_out_and_in(home: Home, tmp_path: Path) -> None:
    """Both commands report what they did; a second one names the obstacle."""
    mutations.make(home, "pets")
    where = ("--home", home.path)
    out = done("export", "pets", tmp_path / "out", *where)
    assert out.startswith(f"exported pets to {tmp_path}/out: 24 items, 16 files, 0.0 MB")
    assert done("import", "again", tmp_path / "out", *where) == "imported again: 24 items, 5 spaces\n"
    assert result_of("show", "again", *where)["active_space"] == "pca"
    for words, message in {
        ("export", "pets", tmp_path / "out"): "contains a finished export: choose another folder, or remove it first",
        ("export", "nobody", tmp_path / "new"): "no collection 'nobody'",
        ("import", "again", tmp_path / "out"): "collection 'again' exists already",
        ("import", "A b", tmp_path / "out"): "'A b' cannot name a collection",
        ("import", "new", tmp_path / "none"): "does not exist: name a file or folder",
    }.items():
        result = run(*words, *where)
        assert result.exit_code == 1
        assert message in result.output
    for words, message in {
        ("--dry-run", *where): "is an exported collection, which needs none of the options for other data",
        ("--server", "localhost:1"): "from or into a home, not through the server localhost:1: run this command on the",
    }.items():
        result = run("import", "new", tmp_path / "out", *words)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())
    result = run("export", "pets", tmp_path / "new", "--server", "localhost:1")
    assert result.exit_code == 2
    assert "not through the server localhost:1" in result.output
    assert result_of("export", "pets", tmp_path / "json", *where)["files"] == 16
    assert result_of("import", "third", tmp_path / "json", *where)["items"] == 24


def test_an_interruption_says_how_to_continue(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    mutations.make(home, "pets")
    with monkeypatch.context() as patch:
        patch.setattr("crossview.engine.catalog.transfer.exporting.write_part", stop)
        result = run("export", "pets", tmp_path / "out", "--home", home.path)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "stopped; what is finished is kept. Run the same command again to continue.\n"
    done("export", "pets", tmp_path / "out", "--home", home.path)


@pytest.mark.parametrize("backend", BOTH)
def test_data_of_other_programs(home: Home, backend: str) -> None:
    """The mapping comes first, a dry run ends there, and the collection is created."""
    with reached(home, backend) as where:
        shown = done("import", "two", DATA / "splits", "--dry-run", *where)
        assert shown.splitlines()[:4] == [
            f"{DATA}/splits: Hugging Face data set, 6 rows",
            "column\tcontent\tbecomes\texample",
            "split\ttext\tattribute split\ttrain",
            "image\tpicture\tpicture\t" + shown.splitlines()[3].split("\t")[-1],
        ]
        assert home.names() == []
        first = done("import", "two", DATA / "splits", *where)
        assert "6 added, 0 updated, 0 unchanged, 0 could not be used" in first
        assert result_of("list", "two", *where)[0]["views"] == ["color", "gist", "text", "embedding"]
        found = result_of("search", "two", "--key", "train/000001", "--view", "embedding", "-k", 1, *where)
        assert found[0]["hits"][0]["key"] == "train/000002" or found[0]["hits"][0]["key"].startswith("test/")
        printed = result_of("import", "pandas", DATA / "pandas.parquet", "--map", "category=skip", *where)
        assert (printed["rows"], printed["report"]["added"]) == (6, 6)
        assert {one["column"]: one["role"] for one in printed["mapping"]}["category"] == "skip"
        dry = result_of("import", "pandas", DATA / "pandas.parquet", "--dry-run", *where)
        assert dry["report"] is None


def test_errors_name_options(home: Home, tmp_path: Path) -> None:
    """A collection that was created for nothing is gone."""
    where = ("--home", home.path)
    (tmp_path / "pics.csv").write_text("file,label\n1.jpg,a\n2.jpg,b\n")
    result = run("import", "new", tmp_path / "pics.csv", *where)
    assert result.exit_code == 1
    assert (
        f"note: the pictures that the column 'file' names are not below {tmp_path}: name their folder with"
        in result.output
    )
    assert "--images DIR" in result.output
    assert "name one with --map COLUMN=text" in result.output
    np.savez(tmp_path / "a.npz", keys=["a"], v=np.full((1, 2), np.nan))
    failing = run("import", "new", tmp_path / "a.npz", *where)
    assert "1 could not be used" in failing.output
    assert "values must be finite" in failing.output
    with home.create("rows", ["v=vectors:dim=3"]) as made:
        made.items.put([NewItem("a", rows={"v": [1, 2, 3]})])
    result = run("import", "rows", tmp_path / "a.npz", *where)
    assert "name another view with --map v=vector:VIEW" in result.output
    result = run("import", "rows", tmp_path / "a.npz", "--views", "color", *where)
    assert result.exit_code == 2
    assert run("import", "rows", tmp_path / "a.npz", "--map", "v", *where).exit_code == 2
    (tmp_path / "few.jsonl").write_text(json.dumps({"image": "x.png", "text": "a"}) + "\n")
    result = run("import", "few", tmp_path / "few.jsonl", "--map", "image=picture", "--views", "sift", *where)
    assert result.exit_code == 1
    assert "view 'sift' cannot be fitted" in result.output
    assert "few" not in home.names()
