"""The promises of searchers, see tests/index/test_contract.py, kept by the targets of an engine."""

import numpy as np
import pytest
from published import new_name
from seeds import seed_of

from crossview.engine.publishing.expression import quoted
from crossview.engine.publishing.generation import Generation, Names
from crossview.engine.publishing.index_kinds import engine_index
from crossview.engine.publishing.records import Record
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.item import Item

WIDTH = 5
FLOATS = Target(view="v", dim=WIDTH)
CODES = Target(view="v", dim=16, codes=True)
EXACT = [pytest.param(FLOATS, id="FLAT"), pytest.param(CODES, id="BIN_FLAT")]
CHANGES = 1_000
KEYS = [f"item/{number}" for number in range(40)] + ["雪", "e\u0301", "\u00e9", '"', "\\", "%_", "a b", "🦊", "x" * 500]


def vectors(target: Target, random: np.random.Generator, count: int) -> np.ndarray:
    """Return vectors or codes with few values, so that many distances are equal."""
    if target.codes:
        return np.packbits(random.random((count, target.dim)) < 0.3, axis=1)
    return random.integers(-2, 3, (count, target.dim)).astype(np.float32)


def distances(target: Target, vector: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the exact distances of a vector or code, (n,)."""
    if target.codes:
        return np.unpackbits(others ^ vector, axis=1).sum(axis=1).astype(float)
    return np.sqrt(((others.astype(float) - vector) ** 2).sum(axis=1))


class Filled:
    """A generation with one target, beside a dictionary with what it must contain."""

    def __init__(self, engine, target, kind="flat", count=1_000):
        self.target = target
        self.generation = Generation(
            engine=engine,
            names=Names.of(new_name(), "0" * 64),
            views=(),
            targets=[target],
            indexes={str(target): engine_index(kind, target, count)},
        )
        self.generation.make("{}")
        self.generation.load()
        self.known: dict[str, np.ndarray] = {}

    def put(self, keys, rows, new=False):
        records = [Record(item=Item(key, attributes={"n": len(key)})) for key in keys]
        self.generation.put(records, {self.target: dict(zip(keys, rows, strict=True))}, new)
        self.known |= dict(zip(keys, rows, strict=True))

    def remove(self, keys):
        self.generation.delete(keys)
        for key in keys:
            self.known.pop(key, None)

    def check(self, queries, k, only=None):
        """Check that every query finds the nearest, in any order among equal distances, each once."""
        self.generation.settle()
        chosen = {key: row for key, row in self.known.items() if only is None or key in only}
        expression = "" if only is None else f"key in [{', '.join(map(quoted, only))}]"
        for query, found in zip(queries, self.generation.search(self.target, queries, k, expression), strict=True):
            every = distances(self.target, query, np.array(list(chosen.values()))) if chosen else np.empty(0)
            by_key = dict(zip(chosen, every, strict=True))
            assert len({one.key for one in found}) == len(found) == min(k, len(chosen))
            assert [one.distance for one in found] == pytest.approx(np.sort(every)[:k].tolist(), abs=1e-5)
            assert [by_key[one.key] for one in found] == pytest.approx([one.distance for one in found], abs=1e-5)


@pytest.fixture
def filled(engine):
    made = []

    def fill(*arguments, **options):
        made.append(Filled(engine, *arguments, **options))
        return made[-1]

    yield fill
    for one in made:
        for name in one.generation._collections:
            engine.call("drop_collection", name)


@pytest.mark.parametrize("target", EXACT)
def test_exact_searches_keep_their_promises(filled, target):
    """Empty targets, few items, ties, duplicates, replaced and deleted items, filters, and keys of all kinds."""
    one, random = filled(target), np.random.default_rng(0)
    queries = vectors(target, random, 3)
    one.check(queries, 4)
    one.put(KEYS, vectors(target, random, len(KEYS)), new=True)
    one.check(queries, 1)
    one.check(queries, len(KEYS))
    one.check(queries, len(KEYS) + 5)
    one.check(np.array(list(one.known.values())), 1)
    one.check(queries, 5, only=KEYS[::3])
    one.check(queries, 5, only=["nobody", *KEYS[-8:]])
    one.put(KEYS[:20], np.repeat(queries[:1], 20, axis=0))
    one.check(queries, 25)
    one.remove([*KEYS[5:10], *KEYS[-8:], "nobody"])
    one.check(queries, len(KEYS))
    one.put(KEYS[5:7], queries[:2])
    one.check(queries, 10)
    one.remove(KEYS)
    one.check(queries, 10)


@pytest.mark.parametrize("target", EXACT)
def test_a_search_for_no_hits_is_refused(filled, target):
    one = filled(target)
    with pytest.raises(CrossviewError):
        one.generation.search(target, vectors(target, np.random.default_rng(0), 1), 0)


@pytest.mark.random
@pytest.mark.parametrize("target", EXACT)
def test_any_history_of_changes_gives_the_answers_of_an_oracle(filled, target):
    """Random additions, replacements, departures from the target and deletions; a few keys, so that they meet."""
    one, random = filled(target), np.random.default_rng(seed_of(0))
    changes = CHANGES if not one.generation.engine.address.is_file else 60
    for _ in range(changes // 10):
        for _ in range(10):
            some = list(dict.fromkeys(random.choice(KEYS, random.integers(1, 6)).tolist()))
            match random.integers(4):
                case 0:
                    one.remove(some)
                case 1:
                    one.generation.put([Record(item=Item(key)) for key in some], {})
                    for key in some:
                        one.known.pop(key, None)
                case _:
                    one.put(some, vectors(target, random, len(some)))
        one.check(vectors(target, random, 2), int(random.integers(1, 60)))
        assert one.generation.count(target) == len(one.known)


@pytest.mark.parametrize(
    ("target", "kind", "least"),
    [(FLOATS, "ivf", 0.9), (FLOATS, "hnsw", 0.95), (FLOATS, "diskann", 0.95), (CODES, "ivf", 0.9)],
)
@pytest.mark.long
def test_approximate_kinds_find_most(server, target, kind, least):
    """With their greatest effort they find all, if they read lists."""
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.milvus import Milvus

    count, k = 5_000, 10
    engine, random = Milvus(engine_address(server.address), timeout=300), np.random.default_rng(0)
    rows = random.normal(size=(count, WIDTH)).astype(np.float32)
    if target.codes:
        rows = np.packbits(random.random((count, target.dim)) < 0.5, axis=1)
    one = Filled(engine, target, kind, count)
    one.put([f"item/{number}" for number in range(count)], rows, new=True)
    engine.call("flush", one.generation._of(target))
    one.generation.settle()
    index = one.generation.indexes[str(target)]
    for effort in index.efforts[len(index.efforts) // 2], index.efforts[-1]:
        lists = one.generation.search(target, rows[:50], k, "", effort)
        shares = []
        for query, found in zip(rows[:50], lists, strict=True):
            farthest = np.sort(distances(target, query, rows))[k - 1]
            shares.append(np.mean([hit.distance <= farthest + 1e-5 for hit in found]))
        assert np.mean(shares) >= (1.0 if kind == "ivf" and effort == index.efforts[-1] else least)
    engine.close()
