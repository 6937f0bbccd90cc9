"""Spaces of binary codes from the command line and over gRPC: trained, shown, searched, measured, extended."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import search_pb2 as pb
from crossview.v1.search_pb2_grpc import SearchServiceStub

GROUPS = ("cat", "dog")


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows``: two groups with colours and gist."""
    home = Home(tmp_path / "home")
    fill_rows(home, 20)
    with reached(home, request.param) as options:
        yield options


def hits(where: list[str], *options: object) -> list[tuple[str, float]]:
    (answer,) = result_of("search", "rows", "--key", "cat/3", "--view", "color", "--targets", "gist", *options, *where)
    return [(hit["key"], hit["distance"]) for hit in answer["hits"]]


@pytest.mark.parametrize("learner", ["multi-npp,itq:64", "sqrt,kernel:rbf,multi-npp,itq:64"])
def test_codes_are_trained_shown_and_searched(where: list[str], learner: str) -> None:
    """They have bits instead of dimensions, and whole numbers of differing bits as distances."""
    output = done("train", "rows", "--learner", learner, "--views", "color,gist", *where)
    assert f"trained itq generation 1: {learner} on 40 items" in output
    assert "targets: color (64 bits), gist (64 bits); across views; searches without --space use it" in output
    assert "color (64 bits), gist (64 bits)" in done("show", "rows", *where)
    (space,) = [one for one in result_of("show", "rows", *where)["spaces"] if one["name"] == "itq"]
    assert (space["binary"], space["rerank"], space["dim"]) == (True, 0, {"color": 64, "gist": 64})
    found = hits(where, "-k", 5)
    assert [key.split("/")[0] for key, _ in found] == ["cat"] * 5
    assert all(distance == int(distance) for _, distance in found)


def test_codes_are_re_ranked(where: list[str]) -> None:
    """If all codes are candidates, the answers are those of the float vectors; show says that they are re-ranked."""
    train = ("train", "rows", "--views", "color,gist", "--dim", 24)
    done(*train, "--learner", "multi-npp", "--space", "floats", *where)
    made = result_of(*train, "--learner", "multi-npp,itq:24", "--rerank", 40, "--space", "codes", *where)
    assert (made["rerank"], made["binary"]) == (40, True)
    assert "codes: 40 codes found for each hit are ordered by their float vectors" in done("show", "rows", *where)
    found, expected = hits(where, "--space", "codes"), hits(where, "--space", "floats")
    assert [key for key, _ in found] == [key for key, _ in expected]
    np.testing.assert_allclose([distance for _, distance in found], [distance for _, distance in expected], rtol=1e-5)
    result = run(*train, "--learner", "multi-npp", "--rerank", 2, *where)
    assert result.exit_code == 1
    assert "there are no codes to re-rank" in result.stderr


def test_codes_are_measured(where: list[str]) -> None:
    """Held-out items measure them, also after a refit; the protocol says how ties rank, and which are re-ranked."""
    train = ("train", "rows", "--learner", "multi-npp,itq:16", "--views", "color,gist", "--holdout", 0.25)
    done(*train, *where)
    trained = ("--database", "trained")
    output = done("evaluate", "rows", "--view", "color", "-k", "1,5", *where)
    assert "codes at equal distances rank at random" in output
    done(*train, "--rerank", 3, *where)
    found = result_of("evaluate", "rows", "--view", "color", "-k", "1,5", "--refit", *trained, *where)
    assert "the 3 x k nearest are ordered by their float vectors, for map and median_rank k = 5" in found["protocol"]
    by_class = [row for row in found["rows"] if row["metric"] in ("accuracy", "precision", "map")]
    assert all(row["value"] > 0.8 for row in by_class)


def test_a_view_is_added_to_codes(where: list[str]) -> None:
    """It has the hash of the others, and tuning leaves the hasher out."""
    tune = ("tune", "rows", "--learner", "semantic,lsh:32", "--views", "color", "--space", "shared")
    output = done(*tune, "--try", "alpha=0.01,1", "--try", "regression=ridge", "--try", "kernel=none", *where)
    assert "tuned to alpha=" in output
    output = done("space", "extend", "rows", "shared", "--views", "gist", *where)
    assert "color (32 bits), gist (32 bits)" in output
    assert [key.split("/")[0] for key, _ in hits(where, "-k", 5)] == ["cat"] * 5


def test_codes_travel_as_packed_bytes(tmp_path: Path) -> None:
    """They come with their bits: a client has the very codes that the server's collection makes, 40 bits in 5 bytes."""
    home = Home(tmp_path / "home")
    rows = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    with home.create("rows", ("clip=vectors:dim=8",)) as made:
        made.items.put_vectors("clip", [str(number) for number in range(30)], rows)
        made.train(Recipe(spec="lsh:40", views=("clip",), rerank=2))
        expected = made.embed([Query("clip", vector=row) for row in rows])
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        found = client.open("rows").embed([Query("clip", key=str(number)) for number in range(30)])
        for mine, theirs in zip(expected, found, strict=True):
            assert (theirs.query, theirs.target, theirs.bits) == (mine.query, "clip", 40)
            assert theirs.vector.tobytes() == mine.vector.tobytes()
            assert theirs.vector.shape == (5,)
        query = pb.Query(view="clip", key="7")
        answer = SearchServiceStub(client.channel).Embed(pb.EmbedRequest(parent="collections/rows", queries=[query]))
        (code,) = [one.code for one in answer.results]
        assert (code.packed, code.bits) == (expected[7].vector.tobytes(), 40)


def test_embeddings_are_told_and_written(where: list[str], tmp_path: Path) -> None:
    """Codes are hexadecimal digits with their bits, vectors are numbers; both can be the rows of a file."""
    for learner, space in (("multi-npp,itq:12", "codes"), ("multi-npp", "floats")):
        done("train", "rows", "--learner", learner, "--views", "color,gist", "--dim", 12, "--space", space, *where)
    ask = ("embed", "rows", "--key", "cat/3", "--view", "color", "--targets", "gist")
    out = ("--out", tmp_path / "rows.npy")
    (code,) = result_of(*ask, "--space", "codes", *where)
    assert (code["query"], code["target"], code["bits"], len(code["code"])) == (0, "gist", 12, 4)
    assert done(*ask, *out, "--space", "codes", *where) == f"wrote 1 codes of 12 bits to {out[1]}\n"
    assert np.load(tmp_path / "rows.npy").tobytes().hex() == code["code"]
    assert f"12 bits\t{code['code']}" in done(*ask, "--space", "codes", *where)
    (vector,) = result_of(*ask, "--space", "floats", *where)
    done(*ask, *out, "--space", "floats", *where)
    written = np.load(tmp_path / "rows.npy")
    assert (written.shape, written.dtype) == ((1, 12), np.float32)
    np.testing.assert_array_equal(written[0], np.float32(vector["vector"]))
    assert f"12 numbers\t{vector['vector'][0]:.4g} " in done(*ask, "--space", "floats", *where)
    several = run(*ask[:-1], "color,gist", *out, *where)
    assert "choose it with --targets, of color, gist" in several.output
    assert "exactly one of IMAGE" in run(*ask, "--text", "cats", *where).output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--learner", "itq:5000"], "n_bits must be a whole number from 1 to 4,096 or null, not 5000"),
        (["--learner", "lsh:none"], "n_bits must be a whole number or null, not 'none'"),
    ],
)
def test_codes_that_cannot_be(where: list[str], options: list[str], words: str) -> None:
    """The exit code is 1, with the reason."""
    result = run("train", "rows", "--views", "color,gist", *options, *where)
    assert (result.exit_code, words in result.stderr) == (1, True), result.output


def test_a_hasher_of_fixed_bits_has_nothing_to_tune(where: list[str]) -> None:
    """The exit code is 1, with the name of the learner."""
    result = run("tune", "rows", "--views", "color,gist", "--learner", "itq:16", *where)
    assert (result.exit_code, "nothing to tune of itq:16" in result.stderr) == (1, True), result.output
