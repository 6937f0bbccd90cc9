"""The main job on real photographs, through the real command line and a real server: index 800, learn, ask with 200."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest

from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.v1 import search_pb2, search_pb2_grpc

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared/data/corel1k/images"
SEED = 0
CLI = [sys.executable, "-m", "crossview.server.commands.cli"]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/corel1k"),
]


def run(*arguments: str, home: Path) -> str:
    environment = os.environ | {"CROSSVIEW_HOME": str(home)}
    done = subprocess.run([*CLI, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def served(home: Path) -> Iterator[str]:
    with subprocess.Popen(
        [*CLI, "serve", "--home", str(home), "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield re.findall(r"127\.0\.0\.1:\d+", server.stdout.readline())[0]
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A folder with links to 800 photographs, 80 of each class, and the 200 others."""
    rng = np.random.default_rng(SEED)
    folder, held_out = tmp_path_factory.mktemp("corel"), []
    for label in sorted(DATA.iterdir()):
        (folder / label.name).mkdir()
        photographs = rng.permutation(sorted(label.iterdir()))
        held_out += list(photographs[:20])
        for photograph in photographs[20:]:
            (folder / label.name / photograph.name).symlink_to(photograph)
    return folder, held_out


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, split: tuple[Path, list[Path]]) -> Path:
    """A home with the collection ``corel``: 800 photographs, three views, the hybrid space of colour and words."""
    home = tmp_path_factory.mktemp("home")
    run("create", "corel", "--views", "color,sift,gist", home=home)
    report = json.loads(run("index", "corel", str(split[0]), "--labels", "folder", "--json", home=home))["result"]
    assert (report["added"], report["failures"]) == (800, [])
    run("train", "corel", "--learner", "sqrt,hybrid", "--views", "color,sift", "--dim", "50", home=home)
    return home


def test_a_held_out_photograph_finds_its_class_by_colour_in_the_words_of_others(home, split):
    """By gRPC, with SIFT as the target, the right class is on top for at least 70 % of the photographs."""
    with served(home) as address, grpc.insecure_channel(address) as channel:
        service = search_pb2_grpc.SearchServiceStub(channel)
        right = 0
        for photograph in split[1]:
            query = search_pb2.Query(view="color", image=photograph.read_bytes())
            request = search_pb2.SearchRequest(parent="collections/corel", queries=[query], targets=["sift"], k=1)
            (answer,) = service.Search(request).results
            right += list(answer.hits[0].labels) == [photograph.parent.name]
        print(f"right class on top: {right} of {len(split[1])}")
        assert right >= 0.7 * len(split[1])


def test_k_larger_than_the_collection_gives_the_whole_collection(home, split):
    with served(home) as address, Client(address) as client:
        query = Query("color", image=split[1][0].read_bytes())
        (answer,) = client.open("corel").search(SearchRequest([query], targets=["sift"], k=5000))
        assert len({hit.key for hit in answer.hits}) == len(answer.hits) == 800


def test_searching_through_a_server_while_the_command_line_indexes_is_correct(home, split, tmp_path):
    """At every moment the answer is complete: it has all old items, and as many of the new ones as its length says."""
    home = shutil.copytree(home, tmp_path / "home")  # the other tests know 800 items
    with served(home) as address, Client(address) as client:
        collection = client.open("corel")
        query = Query("color", image=split[1][0].read_bytes())
        more = tmp_path / "more"
        more.mkdir()
        for photograph in split[1][:100]:
            (more / photograph.name).symlink_to(photograph)
        command = [*CLI, "index", "corel", str(more), "--home", str(home), "--json"]
        (answer,) = collection.search(SearchRequest([query], targets=["color"], k=5000))
        lengths = [len(answer.hits)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as indexing:
            while indexing.poll() is None:
                before = collection.count()
                (answer,) = collection.search(SearchRequest([query], targets=["color"], k=5000))
                after = collection.count()
                lengths.append(len(answer.hits))
                assert before <= lengths[-1] <= after
                assert len({hit.key for hit in answer.hits}) == lengths[-1]
                distances = [hit.distance for hit in answer.hits]
                assert distances == sorted(distances)
        assert indexing.returncode == 0
        (answer,) = collection.search(SearchRequest([query], targets=["color"], k=1))
        assert answer.hits[0].key == f"more/{split[1][0].name}"
        assert answer.hits[0].distance == pytest.approx(0, abs=1e-6)
        assert lengths[0] == 800
        assert lengths == sorted(lengths)
        (answer,) = collection.search(SearchRequest([query], targets=["color"], k=5000))
        assert len(answer.hits) == 900
