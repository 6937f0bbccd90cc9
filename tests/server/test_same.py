"""Same or different from the command line, here and over gRPC: thresholds are learned, kept, shown and used."""

import asyncio
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from open_homes import copy_home
from terminal import BACKENDS, BOTH, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import CalibrationRequest, Query, SameRequest, SearchRequest
from crossview.server.client.client import AsyncClient, Client

COLOR = ("--view", "color")
TRAIN = ("--learner", "fantope", "--views", "color", "--set", "n_constraints=100", "--set", "max_iter=20")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Twelve cats and twelve dogs."""
    made = Home(tmp_path / "home")
    fill_rows(made, 12)
    return made


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, home: Home) -> Iterator[list[str]]:
    """The options by which commands reach the home."""
    with reached(home, request.param) as options:
        yield options


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A file of pairs of animals that follow each other, and of cats and dogs."""
    lines = [f"{a}/{n},{a}/{n + 1},1" for a in ("cat", "dog") for n in range(11)]
    lines += [f"cat/{n},dog/{(n * 5 + k) % 12},0" for n in range(12) for k in range(2)]
    path = tmp_path / "pairs.csv"
    path.write_text("key_a,key_b,similar\n" + "\n".join(lines) + "\n")
    return path


def test_two_items_are_the_same_or_not(where: list[str], pairs: Path) -> None:
    """Pairs set the threshold, which the command prints with its error rate and its origin."""
    text = done("calibrate", "rows", *COLOR, "--pairs", pairs, *where)
    assert "the same up to a distance of" in text
    assert "calibrated on 22 similar and 24 dissimilar stated pairs" in text
    assert done("verify", "rows", "cat/3", "cat/9", *COLOR, *where).startswith("same: distance")
    assert done("verify", "rows", "cat/3", "dog/9", *COLOR, *where, status=1).startswith("different: distance")
    (raw,) = result_of("show", "rows", *where)["spaces"]
    (threshold,) = raw["thresholds"]
    assert (threshold["similar"], threshold["dissimilar"], threshold["error_rate"]) == (22, 24, 0.0)
    (verdict,) = result_of("verify", "rows", "cat/3", "dog/9", *COLOR, *where, status=1)["results"]
    assert verdict["same"] is False
    assert verdict["threshold"] == threshold["distance"] < verdict["distance"]
    assert verdict["probability"] < 0.5


def test_many_pairs_are_told_from_a_file(where: list[str], pairs: Path, tmp_path: Path) -> None:
    """A column may say which are similar; an item is the same as itself."""
    done("calibrate", "rows", *COLOR, *where)
    bare = tmp_path / "bare.csv"
    bare.write_text("key_a,key_b\ncat/1,cat/1\ncat/1,dog/1\n")
    lines = list(csv.DictReader(done("verify", "rows", "--pairs", bare, *COLOR, "--csv", *where).splitlines()))
    assert [(line["a"], line["b"], line["same"]) for line in lines] == [
        ("cat/1", "cat/1", "1"),
        ("cat/1", "dog/1", "0"),
    ]
    assert "22 of 46 pairs are the same" in done("verify", "rows", "--pairs", pairs, *COLOR, *where)


def test_pairs_of_items_that_are_not_there_are_left_out(where: list[str], tmp_path: Path) -> None:
    """The command answers the others; stderr and the JSON state how many it leaves out, and why. With none it fails."""
    done("calibrate", "rows", *COLOR, *where)
    some = tmp_path / "some.csv"
    some.write_text("cat/1,cat/1\ncat/1,nobody\ncat/1,dog/1\n" + "".join(f"no/{n},cat/1\n" for n in range(5)))
    asked = ("verify", "rows", "--pairs", some, *COLOR, *where)
    result = run(*asked)
    assert result.exit_code == 0
    assert "1 of 2 pairs are the same" in result.stdout
    assert result.stderr.startswith("left out 6 of 8 pairs: no item 'nobody' in collection 'rows'; no item 'no/0'")
    assert result.stderr.endswith("; and 3 more\n")
    found = json.loads(run(*asked, "--json").stdout)["result"]
    assert [(one["a"], one["b"]) for one in found["results"]] == [("cat/1", "cat/1"), ("cat/1", "dog/1")]
    assert found["left_out"][0]["b"] == "nobody"
    assert "no item 'nobody'" in found["left_out"][0]["reason"]
    some.write_text("cat/1,nobody\n")
    result = run(*asked)
    assert (result.exit_code, "no item 'nobody'" in result.stderr) == (2, True)


def test_calibration_leaves_out_pairs_of_items_that_are_not_there(where: list[str], pairs: Path) -> None:
    """The sentence on the threshold states how many, and which keys."""
    pairs.write_text(pairs.read_text() + "cat/1,nobody,1\n")
    out = done("calibrate", "rows", *COLOR, "--pairs", pairs, *where)
    assert "1 of 47 pairs left out: there is no item 'nobody'" in out


def test_hits_carry_probabilities(where: list[str]) -> None:
    """They do so on request."""
    done("calibrate", "rows", *COLOR, *where)
    ask = ("search", "rows", "--key", "cat/1", *COLOR, "--targets", "color", "-k", 20, *where)
    plain, (found,) = result_of(*ask)[0]["hits"], result_of(*ask, "--probabilities")
    assert {hit["probability"] for hit in plain} == {None}
    cats = [hit["probability"] > 0.5 for hit in found["hits"] if hit["labels"] == ["cat"]]
    dogs = [hit["probability"] > 0.5 for hit in found["hits"] if hit["labels"] == ["dog"]]
    assert all(cats)
    assert not any(dogs)
    assert {hit["base_rate"] for hit in found["hits"]} == {11 / 23}
    assert "the same, if 0.478 of all pairs are; --base-rate" in done(*ask, "--probabilities")
    assert "probability" not in done(*ask)
    rare = result_of(*ask, "--probabilities", "--base-rate", 0.001)[0]["hits"]
    assert {hit["base_rate"] for hit in rare} == {0.001}
    assert all(one["probability"] < other["probability"] for one, other in zip(rare, found["hits"], strict=True))


def test_same_says_what_its_probability_rests_on(where: list[str], pairs: Path) -> None:
    """It rests on a half of the pairs, or the given share."""
    done("calibrate", "rows", *COLOR, *where)
    ask = ("verify", "rows", "cat/3", "cat/9", *COLOR, *where)
    assert ", if 0.5 of such pairs are" in done(*ask)
    assert ", if 0.01 of such pairs are" in done(*ask, "--base-rate", 0.01)
    half, rare = (result_of(*ask, *rate)["results"][0]["probability"] for rate in ((), ("--base-rate", 0.01)))
    assert rare < half
    many = done("verify", "rows", "--pairs", pairs, *COLOR, "--base-rate", 0.01, *where)
    assert "probabilities are those if 0.01 of them are" in many


def test_pairs_measure_spaces(where: list[str], pairs: Path) -> None:
    """They do so side by side, in a table, JSON and CSV."""
    done("train", "rows", *TRAIN, "--holdout", 0.5, *where)
    ask = ("evaluate", "rows", *COLOR, "--space", "raw,fantope", "--pairs", pairs, *where)
    found = result_of(*ask)
    assert {row["metric"] for row in found["rows"]} == {
        *("auc", "equal_error_rate", "true_accept_rate_0.1", "true_accept_rate_0.01")
    }
    assert 0 < found["comparisons"] < 46
    assert "true_accept_rate_0.01" in done(*ask)
    assert len(list(csv.DictReader(done(*ask, "--csv").splitlines()))) == 8


def test_a_space_without_a_threshold_says_how_to_get_one(where: list[str]) -> None:
    """The named command works."""
    result = run("verify", "rows", "cat/1", "cat/2", *COLOR, *where)
    assert result.exit_code == 2
    command = result.stderr.strip().partition("with: crossview ")[2]
    assert command == f"calibrate rows --space raw --view color {' '.join(where)}"
    done(*command.split())
    assert done("verify", "rows", "cat/1", "cat/2", *COLOR, *where).startswith("same")


def test_a_space_calibrates_itself_without_each_fold(where: list[str], tmp_path: Path) -> None:
    """Folds do not part groups, which a file states."""
    done("train", "rows", *TRAIN, *where)
    groups = tmp_path / "groups.csv"
    groups.write_text("key,group\n" + "".join(f"{a}/{n},{n // 2}\n" for a in ("cat", "dog") for n in range(12)))
    text = done("calibrate", "rows", *COLOR, "--refit", "--group-by", groups, *where)
    assert "pairs of labelled items within 3 folds, which do not part items by" in text


def test_a_refit_may_be_a_job_that_nobody_waits_for(home: Home) -> None:
    """Its result is the threshold."""
    with reached(home, "remote") as where, Client(where[1]) as client:
        done("train", "rows", *TRAIN, *where)
        job = result_of("calibrate", "rows", *COLOR, "--refit", "--detach", *where)
        found = client.jobs.wait(job["id"])
        assert (found.kind, found.state) == ("calibrate_space", "done")
        assert client.open("rows").spaces.get("fantope").thresholds == (found.result,)


@pytest.mark.parametrize("backend", BOTH)
def test_thresholds_survive(home: Home, tmp_path: Path, pairs: Path, backend: str) -> None:
    """A restart, going back a generation, a copy that is restored."""
    with reached(home, backend) as where:
        done("train", "rows", *TRAIN, "--dim", 2, *where)
        done("calibrate", "rows", *COLOR, "--pairs", pairs, *where)
        first = result_of("verify", "rows", "cat/1", "cat/2", *COLOR, *where)
        done("train", "rows", *TRAIN, "--dim", 3, *where)
        assert run("verify", "rows", "cat/1", "cat/2", *COLOR, *where).exit_code == 2
        done("calibrate", "rows", *COLOR, "--pairs", pairs, *where)
        second = result_of("verify", "rows", "cat/1", "cat/2", *COLOR, *where)
        assert first["results"][0]["threshold"] != second["results"][0]["threshold"]
    with reached(home, backend) as where:
        assert result_of("verify", "rows", "cat/1", "cat/2", *COLOR, *where) == second
        done("space", "activate", "rows", "fantope", "--generation", 1, *where)
        assert result_of("verify", "rows", "cat/1", "cat/2", *COLOR, *where) == first
    done("backup", "rows", tmp_path / "copy", "--home", home.path)
    done("restore", "again", tmp_path / "copy", "--home", home.path)
    with reached(home, backend) as where:
        assert result_of("verify", "again", "cat/1", "cat/2", *COLOR, *where) == first


def test_both_backends_say_the_same(home: Home, pairs: Path, tmp_path: Path) -> None:
    """All values are equal, except the time."""
    found = []
    for backend in BOTH:
        other = Home(copy_home(home.path, tmp_path / backend))
        with reached(other, backend) as where:
            threshold = result_of("calibrate", "rows", *COLOR, "--pairs", pairs, *where)
            del threshold["created"]
            verdicts = result_of("verify", "rows", "--pairs", pairs, *COLOR, *where)
            found.append((threshold, verdicts))
    assert found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_pictures_are_compared_with_items(home: Home, pictures: Path, tmp_path: Path, backend: str) -> None:
    """An input that is not a key is a file; one that cannot be read is named."""
    files = sorted(pictures.glob("*/*.jpg"))
    with home.create("drawn", ("color",)) as made:
        made.items.put(
            [NewItem(path.name, image=path.read_bytes(), labels=(path.parent.name,)) for path in files]
        )  # fmt: skip
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(files[0].read_bytes()[:100])
    with reached(home, backend) as where:
        done("calibrate", "drawn", *COLOR, *where)
        (verdict,) = result_of("verify", "drawn", files[0], files[0].name, *COLOR, *where)["results"]
        assert verdict["same"]
        assert verdict["distance"] == pytest.approx(0, abs=1e-3)
        for other, message in ((broken, "error: query 1: "), (tmp_path / "missing.jpg", "error: no item '/")):
            result = run("verify", "drawn", files[0], other, *COLOR, *where)
            assert result.exit_code == 2
            assert result.stderr.startswith(message)


def test_what_makes_no_sense_is_refused(where: list[str], tmp_path: Path) -> None:
    """Each refusal is one line."""
    done("calibrate", "rows", *COLOR, *where)
    one_kind, triplets = tmp_path / "one.csv", tmp_path / "triplets.csv"
    one_kind.write_text("key_a,key_b,similar\ncat/1,cat/2,1\n")
    triplets.write_text("anchor,near,far\ncat/1,cat/2,dog/1\n")
    for arguments, message in (
        (("verify", "rows", "cat/1", "nobody", *COLOR), "no item 'nobody' in collection 'rows'"),
        (("verify", "rows", "cat/1", "cat/2", "--view", "gist"), "calibrate it"),
        (("calibrate", "rows", *COLOR, "--pairs", one_kind), "are similar: add pairs"),
        (("evaluate", "rows", *COLOR, "--pairs", one_kind), "are similar: add pairs"),
        (("calibrate", "rows", *COLOR, "--pairs", triplets), "give pairs, with the columns key_a,key_b,similar"),
        (("calibrate", "rows", *COLOR, "--space", "none"), "no space 'none'"),
        (("calibrate", "rows", "--view", "none"), "none"),
        (("verify", "rows", "--pairs", tmp_path / "missing.csv", *COLOR), "missing.csv"),
    ):
        result = run(*arguments, *where)
        assert result.exit_code == (2 if arguments[0] == "verify" else 1), arguments
        assert message in result.stderr
    assert run("verify", "rows", "cat/1", *COLOR, *where).exit_code == 2


def test_the_python_clients_tell_it_too(home: Home) -> None:
    """They compare vectors, which are not items, and many pairs in one request."""
    request = SameRequest(
        [
            (Query("color", key=f"cat/{n}"), Query("color", key=f"{other}/1"))
            for n in range(12)
            for other in ("cat", "dog")
        ]
    )
    with reached(home, "remote") as (_, address):
        with Client(address) as client:
            rows = client.open("rows")
            threshold = rows.spaces.calibrate(CalibrationRequest(view="color"))
            assert rows.spaces.get("raw").thresholds == (threshold,)
            verdicts = rows.same(request)
            assert [one.same for one in verdicts] == [True, False] * 12
            vector = [1.0] + [0.0] * 63
            (verdict,) = rows.same(SameRequest([(Query("color", vector=vector), Query("color", vector=vector))]))
            assert (verdict.same, verdict.distance) == (True, 0.0)
            streamed = rows.search_stream([SearchRequest([Query("color", key="cat/1")], probabilities=True)])
            assert all(hit.probability is not None for found in streamed for hit in found[0].hits)

        async def asked() -> object:
            async with AsyncClient(address) as client:
                return await client.collection("rows").same(request)

        assert asyncio.run(asked()) == verdicts
