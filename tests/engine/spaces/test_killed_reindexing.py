"""A process that is killed while it builds or compacts an index loses nothing: the catalog is the truth."""

import random
import subprocess
import sys
import time

import numpy as np
import pytest
from living import are_nearest
from seeds import seed_of

from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query, SearchRequest

COUNT, DIM = 15_000, 16
_WORK = """
import sys
from crossview.engine.collections.home import Home
with Home(sys.argv[1]).open("many") as many:
    print("ready", flush=True)
    for kind in ("ivf", "scan", "ivf", "flat") * 100:
        many.spaces.reindex("raw", index=kind)
        many.storage.compact()
"""


@pytest.mark.random
@pytest.mark.long
@pytest.mark.parametrize("case", range(3))
def test_a_killed_reindexing_or_compaction_loses_nothing(home: Home, case, tmp_path):
    seed = seed_of(case)
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(COUNT, DIM)).astype(np.float32)
    np.save(tmp_path / "v.npy", vectors)
    keys = [f"{n:05}" for n in range(COUNT)]
    (tmp_path / "keys.txt").write_text("\n".join(keys))
    with home.create("many", [f"v=vectors:dim={DIM}"]) as many:
        many.items.index_vectors("v", tmp_path / "v.npy", tmp_path / "keys.txt")
    queries = [Query("v", vector=one) for one in rng.normal(size=(20, DIM)).astype(np.float32)]
    truth = [np.linalg.norm(np.subtract(vectors, one.vector, dtype=np.float64), axis=1) for one in queries]
    exact = [dict(zip(keys, row.tolist(), strict=True)) for row in truth]
    nearest = [sorted(keys, key=one.__getitem__)[:5] for one in exact]
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-c", _WORK, home.path], stdout=subprocess.PIPE) as worker:
            assert worker.stdout.readline() == b"ready\n"
            time.sleep(random.Random(seed).uniform(0.2, 3))
            worker.kill()
        with Home(home.path).open("many") as again:
            found = again.search(SearchRequest(queries, space="raw", k=5, exact=True))
            for one, distances in zip(found, exact, strict=True):
                assert are_nearest([(hit.key, hit.distance) for hit in one.hits], distances, 5)
            near = again.search(SearchRequest(queries, space="raw", k=5))
            shared = [
                len({hit.key for hit in one.hits} & set(best)) / 5 for one, best in zip(near, nearest, strict=True)
            ]
            assert np.mean(shared) > 0.9
            again.storage.compact()
            files = list((home.path / "many").rglob("*.idx"))
            assert len(files) <= 1  # no file of the killed process stays
