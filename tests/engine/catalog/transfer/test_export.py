"""A collection moves out and in, bit for bit, in one state; a move continues after interruptions and refuses damage."""

import errno
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from disk import failing_disk

from crossview.engine.catalog.transfer import exporting, manifest, parts
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import (
    AlreadyExistsError,
    BusyError,
    InvalidInputError,
    NotFoundError,
    NotReadyError,
    StorageError,
)
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.extras import install_command

ROOT = Path(__file__).resolve().parents[4]


def content(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table that moves, in order; without the name and history of the collection."""
    with closing(sqlite3.connect(database)) as opened:
        names = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        left = ("snapshots", "sqlite_sequence", "collection")
        found = {name: opened.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall() for name in names}
        return {name: rows for name, rows in found.items() if name not in left}


def answers(collection: Collection) -> list[object]:
    """Return hits with distances in every space, figures, judgements and thresholds."""
    found: list[object] = [collection.info().spaces, collection.info().active_space, collection.items(limit=100)]
    for space in collection.spaces():
        for view in space.views:
            request = SearchRequest([Query(view, key=key) for key in ("a/01", "c/20")], k=9, space=space.name)
            lists = collection.search(request)
            found.append([(one.target, [(hit.key, float(hit.distance).hex()) for hit in one.hits]) for one in lists])
    rows = collection.evaluate(EvaluationRequest(view="v", refit=True)).rows
    return [*found, rows, collection.feedback.get("kept"), collection.questions.answers(), collection.items.deleted()]


def test_the_imported_collection_is_the_same_bit_for_bit(made: Path, export: Path, home: Home) -> None:
    """Every row has its id, and answers are the same; only the name and the history of changes are new."""
    home.import_("again", export).close()
    assert content(home.path / "again/catalog.db") == content(made / "home/base/catalog.db")
    home.export("again", export.parent / "second")
    first, second = (
        {part["path"]: part["sha256"] for part in json.loads((folder / "manifest.json").read_text())["parts"]}
        for folder in (export, export.parent / "second")
    )
    assert {path for path in first if first[path] != second[path]} == {"collection.parquet"}
    assert first.keys() == second.keys()
    with home.open("again") as again, Home(made / "home").open("base") as base:
        assert again.info().name == "again"
        assert answers(again) == answers(base)
    assert sorted(path.name for path in home.path.iterdir()) == ["again"]


def test_an_export_of_an_earlier_version_is_imported(home: Home) -> None:
    """Every later version reads and migrates the files of schema 0008, with the hits of that time."""
    with home.import_("old", ROOT / "tests/engine/golden/export-0008") as old:
        wanted = {
            ("pca", "v"): [("a/00", 0.3425), ("a/06", 0.5525), ("a/03", 0.7028)],
            ("raw", "w"): [("c/22", 1.0688), ("b/09", 1.1186), ("c/21", 1.6081)],
            ("codes", "w"): [("c/22", 0.0), ("b/09", 1.0), ("b/12", 2.0)],
        }
        for (space, view), hits in wanted.items():
            (found,) = old.search(view=view, key="a/01", space=space, k=3)
            assert [(hit.key, round(float(hit.distance), 4)) for hit in found.hits] == hits
        assert (old.info().active_space, old.count(), len(old.questions.answers())) == ("pca", 24, 2)
        assert {one.key: one.weight for one in old.feedback.get("kept")} == {"a/01": 1, "a/02": 1, "b/09": -0.5}


def test_other_programs_read_the_files(made: Path) -> None:
    """Rows are fixed-size lists of float32 beside the ids of items."""
    items = pq.read_table(made / "export/items.parquet")
    rows = pq.read_table(made / "export/rows/v-0000.parquet")
    assert str(rows.schema.field("vector").type) == "fixed_size_list<element: float not null>[6]"
    assert set(rows["item_id"].to_pylist()) < set(items["id"].to_pylist())
    assert items.schema.names[:2] == ["id", "key"]
    found = json.loads((made / "export/manifest.json").read_text())
    assert (found["format"], found["version"], found["items"], found["counts"]["judgements"]) == (
        *("crossview collection", 1, 23),
        3,
    )


def test_an_export_is_of_one_state_while_others_write(home: Home, tmp_path: Path) -> None:
    """Each write of two items is in it whole or not at all."""
    with home.create("line", ["v=vectors:dim=4"]) as line:
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                rows = {"v": np.full(4, number, np.float32)}
                line.items.put([NewItem(f"{number:05}{part}", rows=rows) for part in "ab"])
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for turn in range(4):
                home.export("line", tmp_path / f"{turn}")
        finally:
            stop.set()
            writer.join()
    for turn in range(4):
        with home.import_(f"copy{turn}", tmp_path / f"{turn}") as copy:
            assert copy.count() % 2 == 0
            assert len(copy.search(view="v", vector=np.zeros(4), k=10_000)[0].hits) == copy.count()


def test_memory_does_not_hold_the_rows(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts and batches are small for any collection: many parts are the same as one."""
    monkeypatch.setattr(exporting, "_PART_BYTES", 4 * 8 * 10)
    monkeypatch.setattr(parts, "_BATCH_BYTES", 4 * 8 * 3)
    rows = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    with home.create("many", ["v=vectors:dim=8"]) as many:
        many.items.put_vectors("v", [f"{number:03}" for number in range(64)], rows)
        many.items.delete([f"{number:03}" for number in range(15, 40)])
    home.export("many", tmp_path / "out")
    assert len(list((tmp_path / "out/rows").iterdir())) == 5  # of ids 1-10, 11-20, 41-50, 51-60 and 61-70
    home.import_("again", tmp_path / "out").close()
    assert content(home.path / "again/catalog.db") == content(home.path / "many/catalog.db")


class StopError(Exception):
    """An interruption."""


def test_an_interrupted_export_continues(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished parts stay if they are whole and the collection is the same; they are written again otherwise."""
    monkeypatch.setattr(exporting, "_PART_BYTES", 4 * 8 * 10)
    rows = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    keys = [f"{number:03}" for number in range(60)]
    with home.create("many", ["v=vectors:dim=8"]) as many:
        many.items.put_vectors("v", keys, rows)
    out = tmp_path / "out"

    def stopped_after(count: int) -> None:
        real, done = exporting.write_part, []

        def write(*arguments: object) -> object:
            if len([path for path in done if path.startswith("rows")]) >= count:
                raise StopError
            done.append(str(arguments[1]))
            return real(*arguments)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(exporting, "write_part", write)
            with pytest.raises(StopError):
                home.export("many", out)

    stopped_after(3)
    with pytest.raises(InvalidInputError, match="is unfinished: run the export again to finish it"):
        home.import_("again", out)
    assert home.names() == ["many"]
    (out / "rows/v-0001.parquet").write_bytes(b"damaged")
    assert home.export("many", out).kept == 2
    home.import_("again", out).close()
    assert content(home.path / "again/catalog.db") == content(home.path / "many/catalog.db")
    shutil.rmtree(out)
    stopped_after(3)
    with home.open("many") as many:
        many.items.put_vectors("v", keys[:1], rows[:1] + 1)
        many.items.delete(keys[20:])
    assert home.export("many", out).kept == 0
    assert len(list((out / "rows").iterdir())) == 2
    home.import_("later", out).close()
    assert content(home.path / "later/catalog.db") == content(home.path / "many/catalog.db")


def test_an_interrupted_import_continues(export: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """It becomes a collection when it is whole; its parts are not read again; another export begins again."""
    from crossview.engine.catalog.transfer import returning

    real, read = parts.read_part, list[str]()

    def reading(*arguments: object) -> object:
        read.append(arguments[1].path)  # type: ignore[attr-defined]
        if len(read) == 6:
            raise StopError
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(returning, "read_part", reading)
    with pytest.raises(StopError):
        home.import_("again", export)
    assert home.names() == []
    with pytest.raises(NotFoundError):
        home.open("again")
    begun = read[:5]
    home.import_("again", export).close()
    assert not {*begun} & {*read[6:]}
    assert sorted(path.name for path in home.path.iterdir()) == ["again"]
    home.delete("again")
    read.clear()
    with pytest.raises(StopError):
        home.import_("again", export)
    changed = json.loads((export / "manifest.json").read_text())
    del changed["sha256"]
    found = manifest._manifest(
        export, {**changed, "created": "later", "sha256": manifest._checksum({**changed, "created": "later"})}
    )
    found.write(export / "manifest.json")
    home.import_("again", export).close()
    assert {*read[:5]} < {*read[6:]}


def kill_at(seconds: float, *arguments: object) -> None:
    """Run a command, and kill it after a time."""
    command = [sys.executable, "-m", "crossview.server.commands.cli", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    process.kill()
    process.wait()


@pytest.mark.long
def test_killed_commands_continue(home: Home, tmp_path: Path) -> None:
    """Killed at any of many moments, an export and an import end the same; a home never shows a part."""
    rows = np.random.default_rng(0).normal(size=(40_000, 256)).astype(np.float32)
    with home.create("many", ["v=vectors:dim=256"]) as many:
        many.items.put_vectors("v", [f"{number:06}" for number in range(len(rows))], rows)
    wanted = content(home.path / "many/catalog.db")
    for turn in range(6):
        out = tmp_path / f"out{turn}"
        kill_at(1.0 + 0.3 * turn, "export", "many", out, "--home", home.path)
        if not (out / "manifest.json").exists():
            home.export("many", out)
        kill_at(1.0 + 0.5 * turn, "import", f"again{turn}", out, "--home", home.path)
        if home.names() == ["many"]:
            home.import_(f"again{turn}", out).close()
        assert content(home.path / f"again{turn}/catalog.db") == wanted
        home.delete(f"again{turn}")
    assert [path.name for path in home.path.iterdir()] == ["many"]


def test_a_folder_with_other_files_stays_as_it_is(home: Home, made: Path, tmp_path: Path) -> None:
    base = Home(made / "home")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="contains other files: choose a new or an empty folder"):
        base.export("base", tmp_path / "mine")
    with pytest.raises(InvalidInputError, match="is a file: choose another name"):
        base.export("base", tmp_path / "mine/letter.txt")
    with pytest.raises(InvalidInputError, match="does not exist"):
        base.export("base", tmp_path / "none/out")
    with pytest.raises(AlreadyExistsError, match="contains a finished export"):
        base.export("base", made / "export")
    with pytest.raises(NotFoundError):
        base.export("nothing", tmp_path / "out")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    home.create("again", ["color"]).close()
    with pytest.raises(AlreadyExistsError):
        home.import_("again", made / "export")


def test_a_full_disk_is_an_error_after_which_the_export_continues(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    base = Home(made / "home")
    with monkeypatch.context() as patch:
        patch.setattr(parts._HashedFile, "write", full)
        with pytest.raises(StorageError, match="the disk is full: free some space and try again"):
            base.export("base", tmp_path / "out")
    assert not (tmp_path / "out/manifest.json").exists()
    assert list((tmp_path / "out").rglob("*.part")) == []
    base.export("base", tmp_path / "out")
    base_count = len(json.loads((tmp_path / "out/manifest.json").read_text())["parts"])
    assert base_count == len(list((tmp_path / "out").rglob("*.parquet")))


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_access_loses_nothing(
    made: Path, export: Path, home: Home, tmp_path: Path, error: int
) -> None:
    """An export or an import is refused with a StorageError, no collection and no export is half, and both continue."""
    base, wanted = Home(made / "home"), content(made / "home/base/catalog.db")
    with failing_disk() as disk:
        for turn, share in enumerate(np.linspace(0, 1, 8)):
            out, name = tmp_path / f"out{turn}", f"again{turn}"

            def imported(name: str = name) -> None:
                home.import_(name, export).close()

            with disk.fail(10**9, error):
                base.export("base", tmp_path / f"whole{turn}")
            with disk.fail(1 + int(share * (disk.count - 1)), error), suppress(StorageError):
                base.export("base", out)
            if not (out / "manifest.json").exists():
                base.export("base", out)
            assert len(list(out.rglob("*.parquet"))) == 15
            with disk.fail(10**9, error):
                imported("counted")
            home.delete("counted")
            with disk.fail(1 + int(share * (disk.count - 1)), error), suppress(StorageError):
                imported()
            if name not in home.names():
                imported()
            assert content(home.path / name / "catalog.db") == wanted
            home.delete(name)
    assert list(home.path.iterdir()) == []


def test_two_at_once_in_one_folder_are_refused(made: Path, export: Path, home: Home, tmp_path: Path) -> None:
    from crossview.engine.catalog.leftovers import alone_at_work

    base = Home(made / "home")
    (tmp_path / "out").mkdir()
    with alone_at_work(tmp_path / "out"), pytest.raises(BusyError, match="another process is at work in"):
        base.export("base", tmp_path / "out")
    (home.path / ".import-again").mkdir(parents=True)
    with alone_at_work(home.path / ".import-again"), pytest.raises(BusyError):
        home.import_("again", export)
    home.import_("again", export).close()


def test_without_pyarrow_the_remedy_is_named(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (
        lambda: Home(made / "home").export("base", tmp_path / "out"),
        lambda: Home(tmp_path / "home").import_("base", made / "export"),
    ):
        with pytest.raises(NotReadyError, match=re.escape(install_command("parquet"))):
            call()
    assert not (tmp_path / "out").exists()
