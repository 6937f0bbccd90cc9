"""A stranger's copy becomes a collection, or is refused with a reason; nothing in the copy runs or leaves the home.

CROSSVIEW_COPIES says how many changed copies the long test restores, about three in a second; the form of a release:

CROSSVIEW_COPIES=5000 .venv/bin/python -m pytest -q -n 0 -s -m long tests/engine/test_untrusted_copies.py
"""

import gzip
import json
import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import mutations
import numpy as np
import pytest
from seeds import seed_of

from crossview.engine.catalog import state
from crossview.engine.catalog.database import HEAD
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces.training_keys import packed_keys, unpacked_keys
from crossview.engine.values.errors import InvalidInputError, StorageError
from crossview.engine.values.index_choice import Curve, IndexChoice, MeasuredRecall, Point
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

COPIES = int(os.environ.get("CROSSVIEW_COPIES", "200"))
GOLDEN = Path(__file__).parent / "golden"
MOST_MEGABYTES, MOST_SECONDS = 1024, 30
QUERY = Query("v", vector=np.ones(6, np.float32))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a collection with views, texts, spaces, thresholds and notions."""
    return mutations.make(Home(tmp_path_factory.mktemp("made") / "home"))


@pytest.fixture
def copy(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(base, tmp_path / "copy.db"))


def change(copy: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema=ON")
        for statement in statements:
            database.execute(statement, values)


@pytest.fixture
def put_in_place(copy: Path, home: Home) -> Path:
    """Put a catalog into the home as a folder that was copied, not restored."""
    folder = home.path / "placed"
    folder.mkdir(parents=True)
    return Path(shutil.copyfile(copy, folder / "catalog.db"))


FOREIGN = {
    "trigger t": "CREATE TRIGGER t AFTER UPDATE ON collection BEGIN DELETE FROM items; END",
    "view t": "CREATE VIEW t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    "virtual table t": "CREATE VIRTUAL TABLE t USING fts5(a)",
    "computed column x of items": "ALTER TABLE items ADD COLUMN x AS (length(key))",
    "computed index t": "CREATE INDEX t ON items (length(key))",
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_runs_by_itself_is_refused(home: Home, copy: Path, put_in_place: Path, what: str):
    """It may be in a copy to be restored, or in a folder that was put into a home."""
    change(copy, FOREIGN[what])
    change(put_in_place, FOREIGN[what])
    with pytest.raises(
        InvalidInputError, match=f"contains a {what}, which a copy of a collection never contains: use another copy"
    ):
        home.restore("new", copy)
    with pytest.raises(
        StorageError, match=f"contains a {what}, which a collection never contains: restore the collection from a copy"
    ):
        home.open("placed")
    assert home.names() == ["placed"]


def test_a_view_in_place_of_a_table_is_not_read(home: Home, copy: Path):
    """A view without an end would keep its reader for ever."""
    columns = ", ".join(["x"] * 4)
    endless = f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {columns} FROM n"
    change(copy, "ALTER TABLE rows RENAME TO t", f"CREATE VIEW rows AS {endless}")
    with pytest.raises(InvalidInputError, match="contains a view rows"):
        home.restore("new", copy)


def test_the_tables_are_this_programs_own(home: Home, copy: Path, base: Path):
    """Constraints, defaults, indexes and further tables of the file are left in it; the rows are all there."""
    change(
        copy,
        "UPDATE sqlite_master SET sql = replace(sql, 'alias TEXT NOT NULL', 'alias TEXT CHECK (abs(alias) < 0)')",
        "CREATE TABLE more (a)",
        "CREATE INDEX more_of_it ON items (size)",
    )
    home.restore("new", copy).close()
    home.restore("plain", base).close()
    with closing(sqlite3.connect(home.path / "new/catalog.db")) as new:
        with closing(sqlite3.connect(home.path / "plain/catalog.db")) as plain:
            query = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
            assert new.execute(query).fetchall() == plain.execute(query).fetchall()
        with closing(sqlite3.connect(base)) as original:
            for table in ("items", "labels", "rows", "generations", "thresholds", "notion_labels", "view_revisions"):
                query = f"SELECT * FROM {table} ORDER BY rowid"
                assert new.execute(query).fetchall() == original.execute(query).fetchall()
        assert new.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]


REFUSED = {
    "space": (
        (
            "UPDATE spaces SET name = '../../outside' WHERE name = 'pca'; "
            "UPDATE generations SET space = '../../outside' WHERE space = 'pca'"
        ),
        "cannot name a space",
    ),
    "view": ("UPDATE views SET name = '../v' WHERE name = 'v'", "cannot name a view"),
    "extractor": ("UPDATE views SET extractor = 'os' WHERE name = 'v'", "no extractor 'os'"),
    "dimension": ("UPDATE views SET dim = 1000000000 WHERE name = 'v'", "has dimension 1000000000"),
    "params": ("UPDATE views SET params = '{\"dim\": 1000000000}', dim = 1000000000 WHERE name = 'v'", "is invalid"),
    "row": ("UPDATE rows SET data = x'00' WHERE rowid = 3", "does not have"),
    "NaN": (f"UPDATE rows SET data = x'{'0000c07f' * 6}' WHERE rowid = 3", "has values in view 'v'"),
    "infinity": (f"UPDATE rows SET data = x'{'0000807f' * 6}' WHERE rowid = 3", "has values in view 'v'"),
    "3e38": (f"UPDATE rows SET data = x'{'99b0617f' * 6}' WHERE rowid = 3", "has values in view 'v'"),
    "key": ("UPDATE items SET key = '' WHERE id = 3", "column key of table items holds ''"),
    "type": ("UPDATE items SET text = x'00' WHERE id = 3", "column text of table items holds b"),
    "unicode": ("UPDATE items SET text = CAST(x'ff' AS TEXT) WHERE id = 3", "Could not decode to UTF-8"),
    "sequence": ("UPDATE collection SET sequence = 9223372036854775807", "column sequence of table collection"),
    "deep": (f"UPDATE items SET attributes = '{'[' * 100}{']' * 100}'", "column attributes of table items"),
    "generation": ("UPDATE spaces SET generation = 7 WHERE name = 'pca'", "does not exist"),
    "reference": (
        "UPDATE labels SET item_id = 77 WHERE item_id = 1",
        "a row of table labels refers to a missing row of table items",
    ),
    "nobody": ("DELETE FROM collection", "it describes 0 collections"),
    "purged": ("UPDATE collection SET purged = 77777", "a change has a number above the last change"),
    "changed": ("UPDATE items SET sequence = 77777 WHERE id = 3", "a change has a number above the last change"),
    "version": ("UPDATE alembic_version SET version_num = '9999'", "has the unknown schema version '9999'"),
    "column": ("ALTER TABLE items RENAME COLUMN text TO texts", "table items has no column text"),
    "summary": (
        "UPDATE generations SET summary = json_set(summary, '$.dim.v', 'x')",
        "dim of space '.*' has a wrong",
    ),
    "target": ("UPDATE generations SET summary = json_set(summary, '$.targets[0]', 7)", "targets of space '.*' has"),
    "threshold": ("UPDATE thresholds SET threshold = json_set(threshold, '$.distances', json('[]'))", "no probability"),
    "map": ("UPDATE maps SET summary = json_set(summary, '$.items', 'x')", "items of map 1 has a wrong type"),
    "map of nothing": ("UPDATE maps SET view = 'x'", "map 1 has an unknown view"),
    "places": ("UPDATE maps SET state = x'00'", "map 1 is damaged: renew it"),
    "condition of a map": ("UPDATE maps SET condition = 'n <'", "its spaces cannot be read"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_collection_can_hold_is_refused_with_a_reason(home: Home, copy: Path, what: str):
    """The copy may be to replace a collection, which stays as it was."""
    statement, words = REFUSED[what]
    change(copy, *statement.split(";"))
    for replace in (False, True):
        with pytest.raises(InvalidInputError, match=words):
            home.restore("new", copy, replace)
    assert home.names() == []
    assert list(home.path.iterdir()) == []


def choice(target: str = "v", space: str = "pca", **changed: object) -> tuple[object, ...]:
    """A row of the choices of indexes."""
    curve = Curve(k=10, points=(Point(3, 0.9, 0.01),))
    measured = MeasuredRecall(view="v", queries=5, curves=(curve,), confirmed=0.9)
    return space, 1, target, json.dumps(IndexChoice(kind="ivf", measured=(measured,)).to_json() | changed)


def measured(**changed: object) -> tuple[object, ...]:
    """A row whose measured recall differs."""
    return choice(measured=[{"view": "v", "queries": 5, "curves": [], "confirmed": 0.9} | changed])


def curve(**changed: object) -> tuple[object, ...]:
    """A row with one curve that differs."""
    return measured(curves=[{"k": 10, "share": 1.0, "points": [[3, 0.9, 0.01]]} | changed])


WRONG_CHOICES = {
    "unknown kind": (choice(kind="../x"), "an index has the unknown kind '../x'"),
    "kind that decides": (choice(kind="auto"), "an index has the unknown kind 'auto'"),
    "number as a kind": (choice(kind=7), "kind of an index has a wrong type"),
    "unknown asked kind": (choice(asked="x"), "an index is auto"),
    "vectors": (choice(vectors="float8"), "vectors are stored as float32 or float16, not as 'float8'"),
    "recall above 1": (choice(recall=1.5), "recall is a share of the nearest items"),
    "items of text": (choice(items="many"), "items of an index has a wrong type"),
    "items below 0": (choice(items=-1), "a number of items below 0"),
    "recall of text": (choice(recall="much"), "recall of an index has a wrong type"),
    "no object": (("pca", 1, "v", "[]"), "column choice of table index_choices holds"),
    "a further field": (choice(more=1), "its spaces cannot be read"),
    "a missing field": (("pca", 1, "v", '{"kind": "ivf"}'), "its spaces cannot be read"),
    "no queries": (measured(queries=0), "not a number above 0"),
    "confirmed": (measured(confirmed=-1.0), "a recall that is not a share"),
    "k": (curve(k=0), "not a number above 0"),
    "share": (curve(share=2.0), "a recall that is not a share"),
    "effort of a fraction": (curve(points=[[3.5, 0.9, 0.01]]), "not a number above 0"),
    "great effort": (curve(points=[[2**40, 0.9, 0.01]]), "not a number above 0"),
    "recall of a point": (curve(points=[[3, 9.0, 0.01]]), "a recall that is not a share"),
    "text in a point": (curve(points=[[3, "x", 0.01]]), "its spaces cannot be read"),
    "short point": (curve(points=[[3]]), "its spaces cannot be read"),
    "unknown target": (choice("x"), "target 'x' of space 'pca' cannot have an index of kind 'ivf'"),
    "kind of sketches": (choice("x:~sketch", kind="binary-lists"), "cannot have an index of kind 'binary-lists'"),
    "unknown space": (choice(space="other"), "which does not exist"),
}


@pytest.mark.parametrize("what", WRONG_CHOICES)
def test_a_wrong_choice_of_an_index_is_refused(home: Home, copy: Path, what: str):
    """Its values reach libraries that search, and messages."""
    values, words = WRONG_CHOICES[what]
    change(copy, "INSERT INTO index_choices VALUES (?, ?, ?, ?)", values=values)
    with pytest.raises(InvalidInputError, match=words):
        home.restore("new", copy)


def test_a_sound_choice_of_an_index_is_restored(home: Home, copy: Path):
    for values in (choice(), choice(space="raw"), choice("v:~sketch", kind="binary-lists", measured=[])):
        change(copy, "INSERT INTO index_choices VALUES (?, ?, ?, ?)", values=values)
    with home.restore("new", copy) as made:
        assert [one.kind for one in made.spaces.get("pca").indexes] == ["ivf"]
        assert len(made.search(SearchRequest([QUERY], space="pca"))[0].hits) == 10


def with_state(copy: Path, made: bytes) -> Path:
    change(copy, "UPDATE generations SET state = ? WHERE space = 'pca'", values=(made,))
    return copy


def restored(home: Home, copy: Path) -> Collection:
    return home.restore("new", copy)


@pytest.mark.parametrize("way", [name for name, _ in mutations.BOMBS if name != "keys"])
def test_a_damaged_state_is_a_reason_and_no_fault(home: Home, copy: Path, way: str):
    """The bytes of a fitted space are not a state, or would become many more. Other spaces go on."""
    random = np.random.default_rng(3)
    with_state(copy, dict(mutations.BOMBS)[way](b"PK" * 500, random))
    with restored(home, copy) as made:
        with pytest.raises(
            StorageError, match=r"generation 1 of space 'pca' is damaged .*: train it again, or activate"
        ):
            made.search(SearchRequest([QUERY], space="pca"))
        assert len(made.search(SearchRequest([QUERY], space="raw"))[0].hits) == 10


def test_a_view_that_was_fitted_to_other_types_is_damaged(home: Home, copy: Path):
    """It is reported when a text is to be read; the other values of an item are stored."""
    with closing(sqlite3.connect(copy)) as database:
        (data,) = database.execute("SELECT state FROM view_revisions").fetchone()
    tree = state.unpack(data)
    tree["fitted"]["weights"] = tree["fitted"]["weights"].astype(str)
    change(copy, "UPDATE view_revisions SET state = ?", values=(state.pack(tree),))
    with restored(home, copy) as made:
        with pytest.raises(StorageError, match=r"the fitted state of view 'text' is damaged .*: fit it again"):
            made.items.put([NewItem("new", text="red cat")])
        made.items.put_vectors("v", ["new"], np.ones((1, 6), np.float32))


@pytest.mark.parametrize("changed", [{"revisions": 7}, {"settings": 7}, {"pipeline": []}, {"seed": "x"}])
def test_a_state_of_other_types_is_damaged(home: Home, copy: Path, changed: dict[str, object]):
    """It is found before any learner is made."""
    with closing(sqlite3.connect(copy)) as database:
        (data,) = database.execute("SELECT state FROM generations WHERE space = 'pca'").fetchone()
    with_state(copy, state.pack(state.unpack(data) | changed))
    with restored(home, copy) as made, pytest.raises(StorageError, match="space 'pca' is damaged"):
        made.search(SearchRequest([QUERY], space="pca"))


def test_a_state_that_does_not_fit_its_view_is_damaged(home: Home, copy: Path):
    """It is found when the space is loaded, not when it computes nonsense."""
    with closing(sqlite3.connect(copy)) as database:
        (data,) = database.execute("SELECT state FROM generations WHERE space = 'pca'").fetchone()
    tree = state.unpack(data)
    tree["pipeline"]["steps"]["0"]["fitted"] = {
        name: [one[:, :-1] if getattr(one, "ndim", 0) == 2 else one for one in value]
        if isinstance(value, list)
        else value
        for name, value in tree["pipeline"]["steps"]["0"]["fitted"].items()
    }
    with_state(copy, state.pack(tree))
    with restored(home, copy) as made, pytest.raises(StorageError, match="space 'pca' is damaged"):
        made.search(SearchRequest([QUERY], space="pca"))


def test_packed_keys_are_in_order_or_refused_as_soon_as_they_are_not():
    """A few bytes can stand for gigabytes of nothing."""
    keys = {f"{n:05}/é" for n in range(50_000)}
    assert unpacked_keys(packed_keys(keys)) == keys
    bomb = dict(mutations.BOMBS)["keys"](state.pack({}), np.random.default_rng(0))
    with pytest.raises(StorageError, match=r"are damaged .they are not in order.: train the space again"):
        unpacked_keys(state.unpack(bomb)["training_keys"])
    with pytest.raises(StorageError, match="their end is missing"):
        unpacked_keys(packed_keys(keys)[:-9])


def test_a_schema_that_is_no_text_is_damaged(home: Home, copy: Path, put_in_place: Path):
    """SQLite quotes it in its message."""
    for path in (copy, put_in_place):
        change(path, "UPDATE sqlite_master SET sql = CAST(x'435245415445d2' AS TEXT) WHERE name = 'labels'")
    with pytest.raises(InvalidInputError, match=r"is damaged: .*codec can't decode"):
        home.restore("new", copy)
    with pytest.raises(StorageError, match=r"the catalog is damaged \(malformed database schema"):
        home.open("placed")


def test_a_copy_of_an_earlier_version_is_brought_up_to_date(home: Home, base: Path, tmp_path: Path):
    """Its rows are written to tables of its own version first, then these are migrated."""
    earlier = tmp_path / "earlier.db"
    with closing(sqlite3.connect(earlier)) as database:
        database.executescript(gzip.decompress((GOLDEN / "catalog-0002.sql.gz").read_bytes()).decode())
    home.restore("plain", base).close()
    with restored(home, earlier) as made:
        assert made.count() == 11
        assert made.items.get("photos/green/0.png").labels == ("leaf",)
    tables = "SELECT name FROM sqlite_master WHERE type IN ('table', 'index') ORDER BY name"
    with closing(sqlite3.connect(home.path / "new/catalog.db")) as new:
        with closing(sqlite3.connect(home.path / "plain/catalog.db")) as plain:
            assert new.execute(tables).fetchall() == plain.execute(tables).fetchall()
        assert new.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]


def test_a_pipe_is_refused_at_once(home: Home, tmp_path: Path):
    """A program that opened it would wait for another one to write."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInputError, match="pipe cannot be read: not a regular file"):
        home.restore("new", tmp_path / "pipe")


# -- many copies


class Tried(NamedTuple):
    """The result of restoring a changed copy."""

    seed: int
    done: str
    why: str
    megabytes: int
    """More than the process held before: tests that ran in it earlier leave memory behind."""
    seconds: float
    """Seconds of the processor: other processes may be busy."""


def tried(base: Path, root: Path, seeds: range) -> Iterator[Tried]:
    """Restore changed copies, one after another, and check that nothing outside the home changes."""
    home, case = Home(root / "outer" / "inner" / "home"), root / "case.db"
    home.path.mkdir(parents=True)
    for seed in seeds:
        shutil.copyfile(base, case)
        done = "; ".join(mutations.mutate(case, np.random.default_rng(seed)))
        before, began = reset_peak(), time.process_time()
        try:
            why = mutations.attempt(home, case)
        except BaseException as error:
            raise AssertionError(f"copy {seed} ({done}) was neither restored nor refused") from error
        yield Tried(seed, done, why, peak() - before, time.process_time() - began)
        for path in root.glob("case.db*"):
            path.unlink()
        assert home.names() == []
        assert sorted(path.name for path in root.rglob("*")) == ["home", "inner", "outer"], done


def seeds_of(case: int, count: int) -> range:
    first = seed_of(case)
    return range(first, first + count)


def reset_peak() -> int:
    """Reset the peak, and return the megabytes that this process uses now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Return the megabytes that this process has used at most since the last reset."""
    found = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(found["VmHWM"].split()[0]) // 1024


@pytest.mark.random
def test_changed_copies_open_or_are_refused(base: Path, tmp_path: Path):
    """These are a few of the copies of the long test."""
    found = Counter("refused" if one.why else "opened" for one in tried(base, tmp_path, seeds_of(100_000, 16)))
    assert found["refused"] > 0
    assert found["opened"] > 0


@pytest.mark.random
@pytest.mark.long
def test_thousands_of_changed_copies_open_or_are_refused(base: Path, tmp_path: Path, monkeypatch):
    """Each takes at most a gigabyte and half a minute, and changes no file outside the home."""
    monkeypatch.setattr(mutations, "bomb_bytes", 3 << 29)
    outcomes = list(tried(base, tmp_path, seeds_of(0, COPIES)))
    reasons = Counter(one.why.removeprefix(str(tmp_path))[:60] for one in outcomes if one.why)
    largest, longest = max(outcomes, key=lambda one: one.megabytes), max(outcomes, key=lambda one: one.seconds)
    print(
        json.dumps(
            {
                "copies": len(outcomes),
                "refused": sum(reasons.values()),
                "most megabytes": largest.megabytes,
                "of": largest.done,
                "most seconds": round(longest.seconds, 2),
                "in": longest.done,
            },
            indent=1,
        )
    )
    assert largest.megabytes < MOST_MEGABYTES, largest
    assert longest.seconds < MOST_SECONDS, longest
