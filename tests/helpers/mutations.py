"""Changed copies of a collection: schema, names, values and fitted states, drawn from a seed."""

import io
import json
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog import state
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import CrossviewError, InputWarning
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import CalibrationRequest, Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.features.errors import ImageError

NAMES = (
    *("../../../outside/pwned", "a/../../outside/pwned", "/outside/pwned", "..", ".", "", "a\0b", "a\nb", "-rf", "%2e"),
    *("x" * 5_000, "é" * 70, "raw", "v+w", "v:w", "\x1b[2J", "'; DROP TABLE items; --"),
)
VALUES = (
    *(0, -1, 1, 2, 7, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), 0.5, float("inf"), None, "", "0", "[]", "{}", "null"),
    *(b"", b"\0" * 12, b"\xff\xfe", "[" * 5_000, "[" * 100 + "]" * 100, '{"a": NaN}', "1e999", "é\0", *NAMES),
)
bomb_bytes = 1 << 26
"""Size of a small state; the long test has more."""
_PIECE = 1 << 20
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_RECURSIVE = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {columns} FROM n"


def make(home: Home, name: str = "base") -> Path:
    """Return a copy, without a checksum, of a collection that has some of everything."""
    random = np.random.default_rng(7)
    with home.create(name, ["v=vectors:dim=6", "w=vectors:dim=4", "text:dim=3:words=20"]) as made:
        rows = random.normal(size=(24, 10)).astype(np.float32) + np.repeat(np.eye(3, 10, dtype=np.float32) * 6, 8, 0)
        words = ("red green blue", "one two three", "cat dog owl")
        items = [
            NewItem(
                f"{'abc'[n // 8]}/{n:02}",
                labels=("abc"[n // 8],),
                notion_labels={"size": ("big" if n % 2 else "small",)},
                attributes={"n": n, "deep": {"er": [n]}},
                text=f"{words[n // 8]} {n % 3}",
                rows={"v": row[:6], "w": row[6:]},
            )
            for n, row in enumerate(rows)
        ]
        made.items.put(items)
        made.views.fit([])
        trained = {"pca": ("pca:2", "v"), "cca": ("cca", "v", "w"), "codes": ("lsh:8", "w"), "both": ("l2", "v+w")}
        for space, (spec, *views) in trained.items():
            made.train(Recipe(spec=spec, views=tuple(views)), space=space)
        made.feedback.judge("kept", ["a/01", "a/02"], {"b/09": 0.5}, person="ann")
        made.feedback.remember("kept", "size")
        made.spaces.calibrate(CalibrationRequest(view="v", space="pca"))
        made.spaces.calibrate(CalibrationRequest(view="v", space="raw"))
        made.maps.make(MapRequest(view="v", space="pca", method="pca", filter=Filter("n < 20")))
    copy = home.backup(name, home.path.parent / "base.db")
    whole = copy.read_bytes()
    copy.write_bytes(whole[: len(whole) // 16384 * 16384])  # SQLite's pages without the checksum behind them
    return copy


def mutate(path: Path, random: np.random.Generator) -> list[str]:
    """Change a copy in one to three ways, and return the changes."""
    done = []
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema=ON")
        for _ in range(random.integers(1, 4)):
            kind = _WAYS[random.integers(len(_WAYS))]
            try:
                done.append(f"{kind.__name__[1:]}: {kind(database, random)}")
            except (sqlite3.Error, ValueError, TypeError) as error:  # of what was changed before
                done.append(f"{kind.__name__[1:]}: not done ({error})")
    if random.random() < 0.1:
        data = bytearray(path.read_bytes())
        for place in random.integers(0, len(data), random.integers(1, 20)):
            data[place] = random.integers(256)
        path.write_bytes(data)
        done.append("bytes")
    return done


def attempt(home: Home, copy: Path, use: bool = True) -> str:
    """Restore a copy and use the collection; return the reason of a refusal, or "".

    Any exception of the restoring or the use is raised here, except an error that a user can understand.
    """
    try:
        restored = home.restore("case", copy)
    except CrossviewError as error:
        return str(error) or "no reason"
    try:
        with restored:
            restored.info()
            if use:
                _use(restored)
    finally:
        home.delete("case")
    return ""


def _use(collection: Collection) -> None:
    calls: list[Callable[[], Any]] = [
        collection.storage.findings,
        collection.items.deleted,
        collection.items,
        collection.questions.answers,
        collection.feedback.list,
        lambda: collection.search(SearchRequest([], feedback="kept", space="raw")),
        lambda: collection.items.put_vectors("v", ["new"], np.ones((1, 6), np.float32)),
        lambda: collection.items.put([NewItem("other", text="red green cat", rows={"w": [1.0] * 4})]),
        lambda: collection.train(Recipe(spec="pca:2", views=("v",)), space="pca"),
        lambda: collection.evaluate(EvaluationRequest(view="v", spaces=("pca",), k=(1,))),
        lambda: collection.items.delete(["a/00"]),
        collection.storage.compact,
    ]
    for space in collection.spaces():
        for view in space.views:
            width = sum(one.dim for one in collection.views() if one.name in view.split("+"))
            query = Query(view, vector=np.ones(width, np.float32))
            calls.insert(0, partial(collection.search, SearchRequest([query], space=space.name)))
            calls.insert(0, partial(collection.items.embed, view, space=space.name))
    for call in calls:
        try:
            call()
        except (CrossviewError, ImageError, InputWarning):  # tests turn warnings into errors
            continue  # some restored content is unusable


def _any(random: np.random.Generator, values: Any) -> Any:
    return values[int(random.integers(len(values)))]


def _table(database: sqlite3.Connection, random: np.random.Generator) -> str:
    return str(_any(random, [name for (name,) in database.execute(_TABLES)]))


def _drawn(table: str, random: np.random.Generator) -> str:
    """Return the clause of a query that chooses one row."""
    return f"LIMIT 1 OFFSET {random.integers(1 << 30)} % (SELECT max(1, count(*)) FROM {table})"


def _schema(database: sqlite3.Connection, random: np.random.Generator) -> str:
    table = _table(database, random)
    columns = [one[1] for one in database.execute(f"PRAGMA table_info({table})")]
    column, numbers = _any(random, columns), ", ".join(["x"] * len(columns))
    huge = "length(printf('%.*c', 900000000, 'x'))"
    statements = (
        f"CREATE TRIGGER t AFTER UPDATE ON {table} BEGIN DELETE FROM items; END",
        f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM items WHERE id < 20; END",
        f"CREATE VIEW t AS {_RECURSIVE.format(columns='x')}",
        f"ALTER TABLE {table} RENAME TO t; CREATE VIEW {table} AS {_RECURSIVE.format(columns=numbers)}",
        "CREATE VIRTUAL TABLE t USING fts5(a, b)",
        f"ALTER TABLE {table} ADD COLUMN more AS ({huge})",
        f"ALTER TABLE {table} DROP COLUMN {column}; ALTER TABLE {table} ADD COLUMN {column} AS ({huge})",
        f"ALTER TABLE {table} RENAME COLUMN {column} TO t",
        f"DROP TABLE {table}",
        f"CREATE TABLE t AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE t RENAME TO {table}",
        f"CREATE INDEX t ON {table} ({huge})",
        f"UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', 'CHECK ({huge} > 1)') WHERE name = '{table}'",
        f"UPDATE sqlite_master SET sql = 'CREATE TABLE {table} (a)' WHERE name = '{table}'",
        f"UPDATE sqlite_master SET rootpage = 3 WHERE name = '{table}'",
        "UPDATE alembic_version SET version_num = '0001'",
        "UPDATE alembic_version SET version_num = '9999'",
        "DELETE FROM alembic_version",
        "UPDATE sqlite_sequence SET seq = 9223372036854775807",
        "PRAGMA user_version = 7",
    )
    statement = _any(random, statements)
    database.executescript(statement)
    return str(statement)


def _name(database: sqlite3.Connection, random: np.random.Generator) -> str:
    places = (
        *(("views", "name"), ("views", "extractor"), ("spaces", "name"), ("generations", "space"), ("items", "key")),
        *(("collection", "active_space"), ("collection", "name"), ("thresholds", "target"), ("labels", "label")),
        *(("notion_labels", "notion"), ("items", "source"), ("snapshots", "target"), ("collection", "history")),
    )
    (table, column), name = _any(random, places), _any(random, NAMES)
    former = database.execute(f"SELECT {column} FROM {table} {_drawn(table, random)}").fetchone()
    database.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (name, *(former or ("",))))
    if (table, column) == ("spaces", "name"):
        database.execute("UPDATE generations SET space = ? WHERE space = ?", (name, *former))
    return f"{table}.{column} = {name[:30]!r}"


def _value(database: sqlite3.Connection, random: np.random.Generator) -> str:
    table = _table(database, random)
    column = _any(random, [one[1] for one in database.execute(f"PRAGMA table_info({table})")])
    value, one = _any(random, VALUES), ""
    if random.random() < 0.7:
        one = f" WHERE rowid = (SELECT rowid FROM {table} {_drawn(table, random)})"
    cast = "CAST(? AS TEXT)" if isinstance(value, bytes) and random.random() < 0.5 else "?"
    database.execute(f"UPDATE {table} SET {column} = {cast}{one}", (value,))
    return f"{table}.{column} = {repr(value)[:30]}"


def _number(database: sqlite3.Connection, random: np.random.Generator) -> str:
    places = (
        *(("views", "dim"), ("views", "revision"), ("views", "id"), ("collection", "sequence"), ("items", "id")),
        *(("spaces", "generation"), ("generations", "generation"), ("generations", "sequence"), ("rows", "revision")),
        *(("items", "sequence"), ("collection", "purged"), ("items", "size"), ("items", "width")),
    )
    (table, column), value = _any(random, places), _any(random, [one for one in VALUES if isinstance(one, int)])
    database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
    return f"{table}.{column} = {value}"


def _json(database: sqlite3.Connection, random: np.random.Generator) -> str:
    places = (("generations", "summary"), ("views", "params"), ("items", "attributes"), ("thresholds", "threshold"))
    table, column = _any(random, places)
    number, text = database.execute(f"SELECT rowid, {column} FROM {table} {_drawn(table, random)}").fetchone()
    changed = _changed(json.loads(text), random)
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (json.dumps(changed), number))
    return f"{table}.{column}"


def _changed(tree: Any, random: np.random.Generator) -> Any:
    """Return a tree with one of its leaves or branches changed."""
    if isinstance(tree, dict) and tree and random.random() < 0.85:
        key = _any(random, list(tree))
        if random.random() < 0.1:
            return {name: value for name, value in tree.items() if name != key}
        return {**tree, key: _changed(tree[key], random)}
    if isinstance(tree, list) and tree and random.random() < 0.85:
        place = int(random.integers(len(tree)))
        return [*tree[:place], _changed(tree[place], random), *tree[place + 1 :]]
    if isinstance(tree, np.ndarray) and random.random() < 0.85:
        return _changed_array(tree, random)
    others = [one for one in VALUES if not isinstance(one, bytes)]
    return _any(random, [*others, [], {}, [1, "a"], {"a": [1]}, [[[]]] * 50])


def _changed_array(array: NDArray[Any], random: np.random.Generator) -> Any:
    return _any(
        random,
        [
            lambda: array[:-1] if array.ndim else array,
            lambda: array.reshape(-1),
            lambda: array[None],
            lambda: array.astype(str),
            lambda: np.full_like(array, 0),
            lambda: np.full(array.shape, np.nan),
            lambda: np.full(array.shape, 10**6),
            lambda: np.zeros((0, *array.shape[1:]), array.dtype),
            lambda: np.zeros(10**6, np.int8),
            lambda: array.astype(np.float64) * 1e300 if array.dtype.kind in "fiu" else array,
        ],
    )()


def _state(database: sqlite3.Connection, random: np.random.Generator) -> str:
    table = _any(random, ("generations", "view_revisions"))
    number, data = database.execute(f"SELECT rowid, state FROM {table} {_drawn(table, random)}").fetchone()
    way, made = _any(random, BOMBS + ((("tree", _tree),) * 8))
    database.execute(f"UPDATE {table} SET state = ? WHERE rowid = ?", (made(data, random), number))
    return f"{table}: {way}"


def _tree(data: bytes, random: np.random.Generator) -> bytes:
    try:
        tree = state.unpack(data)
        return state.pack(_changed(tree, random)) if isinstance(tree, dict) else data  # a list names one array often
    except (ValueError, TypeError):
        return b"PK"


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def _array(shape: tuple[int, ...], kind: str, data: bytes = b"") -> bytes:
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def _of_tree(tree: str, **members: bytes) -> dict[str, bytes]:
    return {"tree": _array((len(tree),), "|u1", tree.encode()), **members}


def _flipped(data: bytes, random: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for place in random.integers(0, len(data), 5):
        changed[place] = random.integers(256)
    return bytes(changed)


@cache
def _compressed_bomb(size: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tree.npy", _of_tree('{"a": {"__array__": 0}}')["tree"])
        with archive.open("0.npy", "w", force_zip64=True) as member:
            member.write(_array((size,), "|u1"))
            for _ in range(size // _PIECE):
                member.write(bytes(_PIECE))
    return buffer.getvalue()


@cache
def _packed_bomb(size: int) -> bytes:
    packing = zlib.compressobj()
    return b"".join(packing.compress(b"\0" * _PIECE) for _ in range(size // _PIECE)) + packing.flush()


def _keys_bomb(data: bytes, _: np.random.Generator) -> bytes:
    try:
        tree = state.unpack(data)
    except ValueError:
        return b""
    tree["training_keys"] = np.frombuffer(_packed_bomb(bomb_bytes), np.uint8)
    return state.pack(tree)


BOMBS: tuple[tuple[str, Callable[[bytes, np.random.Generator], bytes]], ...] = (
    ("flipped", _flipped),
    ("cut", lambda data, random: data[: int(random.integers(len(data)))]),
    ("compressed", lambda *_: _compressed_bomb(bomb_bytes)),
    ("claims", lambda *_: _zipped(_of_tree('{"a": {"__array__": 0}}', **{"0": _array((10**11,), "<f8")}))),
    ("nothings", lambda *_: _zipped(_of_tree('{"a": {"__array__": 0}}', **{"0": _array((10**11,), "<U0")}))),
    (
        "references",
        lambda *_: _zipped(
            _of_tree(
                "[" + ", ".join(['{"__array__": 0}'] * 20_000) + "]", **{"0": _array((250_000,), "<f4", bytes(10**6))}
            )
        ),
    ),
    ("deep", lambda *_: _zipped(_of_tree("[" * 500_000))),
    ("keys", _keys_bomb),
)
_WAYS: tuple[Callable[[sqlite3.Connection, np.random.Generator], str], ...] = (
    *(_schema, _name, _value, _number, _json, _state),
)
