"""Notions of similarity from the command line, here and over gRPC: learned from comparisons, searched and weighted."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from notions import COUNT, NOTIONS, fill_things, gap, key, nearest, rows, write_triplets
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home

LEARNER = ["--learner", "joint:4", "--views", "view"]


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options by which commands reach a home with items that are alike in two ways."""
    home = Home(tmp_path / "home")
    fill_things(home)
    with reached(home, request.param) as options:
        yield options


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with these items and both notions learned, to be copied."""
    folder = tmp_path_factory.mktemp("notions")
    fill_things(Home(folder / "home"))
    comparisons = write_triplets(folder / "comparisons.csv")
    done("train", "things", *LEARNER, "--constraints", comparisons, "--home", folder / "home")
    return folder / "home"


@pytest.fixture(params=BACKENDS)
def learned(request: pytest.FixtureRequest, trained: Path, tmp_path: Path) -> Iterator[list[str]]:
    """The options by which commands reach a copy of the home."""
    with reached(Home(shutil.copytree(trained, tmp_path / "home")), request.param) as options:
        yield options


def hits(where: list[str], item: str, *options: object) -> list[list[dict]]:
    length = () if "-k" in options else ("-k", 5)
    command = ("search", "things", "--key", item, "--view", "view", *length, *options, *where)
    return [one["hits"] for one in result_of(*command)]


def test_each_notion_is_a_target_that_finds_what_is_alike_in_it(learned: list[str]) -> None:
    """Lists are merged only on request; the name of the notion is enough."""
    (space, _) = result_of("show", "things", *learned)["spaces"]
    assert space["targets"] == ["view:color", "view:shape"]
    assert space["constraints"]["given"] == 600
    apart = hits(learned, key(0))
    assert [{hit["target"] for hit in found} for found in apart] == [{"view:color"}, {"view:shape"}]
    assert len(hits(learned, key(0), "--merge")) == 1
    for notion, found in zip(NOTIONS, apart, strict=True):
        assert [hit["key"] for hit in hits(learned, key(0), "--targets", notion)[0]] == [hit["key"] for hit in found]
    for notion in NOTIONS:
        shares = []
        for number in range(0, COUNT, 6):
            (found,) = hits(learned, key(number), "--targets", f"view:{notion}")
            shares.append(len({hit["key"] for hit in found} & set(nearest(notion, key(number), 10))) / 5)
        assert np.mean(shares) > 0.7  # by chance 0.17


def test_a_later_item_is_placed_by_its_row(learned: list[str], tmp_path: Path) -> None:
    """Alike in color to one item and in shape to another, it is found with each in its notion."""
    row = rows()[0].copy()
    row[NOTIONS["shape"]] = rows()[1][NOTIONS["shape"]]
    np.savez(tmp_path / "later.npz", keys=["later"], vectors=row[None])
    done("index", "things", "--view", "view", "--vectors", tmp_path / "later.npz", *learned)
    for notion, like in (("color", 0), ("shape", 1)):
        (found,) = hits(learned, key(like), "--targets", notion, "-k", 3)
        assert "later" in [hit["key"] for hit in found]


def test_weighted_notions_find_what_is_near_in_all_of_them(learned: list[str]) -> None:
    """The distance is the root of the weighted sum of squares; a weight of zero leaves a notion out."""
    every = {
        notion: {hit["key"]: hit["distance"] for hit in hits(learned, key(0), "--targets", notion, "-k", COUNT)[0]}
        for notion in NOTIONS
    }
    (found,) = hits(learned, key(0), "--weight", "color=2", "--weight", "shape=0.5")
    assert {hit["target"] for hit in found} == {"color=2,shape=0.5"}
    expected = {
        item: np.sqrt(2 * every["color"][item] ** 2 + 0.5 * every["shape"][item] ** 2) for item in every["color"]
    }
    assert [hit["key"] for hit in found] == sorted(expected, key=expected.__getitem__)[:5]
    np.testing.assert_allclose([hit["distance"] for hit in found], [expected[hit["key"]] for hit in found], rtol=1e-5)
    (alone,) = hits(learned, key(0), "--weight", "color=1", "--weight", "view:shape=0")
    assert [hit["key"] for hit in alone] == [hit["key"] for hit in hits(learned, key(0), "--targets", "color")[0]]
    (kept,) = hits(learned, key(0), "--weight", "color=1", "--weight", "shape=1", "--where", "key prefix item/1")
    assert len(kept) == 5
    assert all(hit["key"].startswith("item/1") for hit in kept)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--weight", "taste=1"], "has no target 'taste'; there are: view:color, view:shape"),
        (["--weight", "color=-1"], "the weight of 'color' must be a number from 0 up, not -1"),
        (["--weight", "color=0"], "every weight is 0"),
        (["--weight", "color=1", "--weight", "view:color=2"], "has two weights"),
        (["--weight", "color=1", "--targets", "shape"], "leave the targets out"),
        (["--weight", "color=1", "--space", "raw"], "space 'raw' has no notions of similarity to weigh"),
        (["--weight", "color=much"], "--weight takes a notion and a number"),
        (["--targets", "taste"], "has no target 'taste'"),
    ],
)
def test_searches_by_notions_that_cannot_be_are_refused(learned: list[str], options: list[str], words: str) -> None:
    result = run("search", "things", "--key", key(0), "--view", "view", *options, *learned)
    assert result.exit_code != 0
    assert words in " ".join(result.output.split())


def test_learners_of_one_notion_refuse_the_column(where: list[str], tmp_path: Path) -> None:
    """The message has the remedy; and a name that no target could have is refused with its line."""
    file = write_triplets(tmp_path / "comparisons.csv")
    result = run("train", "things", "--learner", "fantope", "--views", "view", "--constraints", file, *where)
    assert "fantope learns one notion of similarity: use joint, or remove the column notion (color, shape)" in (
        " ".join(result.output.split())
    )
    file.write_text("anchor,near,far,notion\nitem/00,item/01,item/02,by head\n")
    result = run("train", "things", *LEARNER, "--constraints", file, *where)
    assert "comparisons.csv, line 2: 'by head' cannot name a notion" in " ".join(result.output.split())


def test_the_default_learner_of_notions_is_joint(where: list[str], tmp_path: Path) -> None:
    file = write_triplets(tmp_path / "comparisons.csv")
    assert result_of("train", "things", "--views", "view", "--constraints", file, *where)["spec"] == "joint"


def test_agreement_is_measured_in_each_notion(learned: list[str], tmp_path: Path) -> None:
    """It counts comparisons that were not learned from."""
    drawn, lines = np.random.default_rng(9), ["anchor,near,far,notion"]
    for notion in (*NOTIONS,) * 100:
        anchor, one, other = map(key, drawn.choice(COUNT, 3, replace=False).tolist())
        near, far = sorted((one, other), key=lambda item: gap(notion, anchor, item))
        lines.append(f"{anchor},{near},{far},{notion}")
    (tmp_path / "unseen.csv").write_text("\n".join(lines) + "\n")
    command = ("evaluate", "things", "--view", "view", "--constraints", tmp_path / "unseen.csv", *learned)
    values = [row["value"] for row in result_of(*command)["rows"]]
    assert all(value > 0.85 for value in values)


def test_items_without_features_are_placed_by_comparisons_alone(where: list[str], tmp_path: Path) -> None:
    """They are those that were compared, and no others; the command refuses another one with the reason."""
    file = write_triplets(tmp_path / "comparisons.csv")
    done("create", "songs", "--views", "none=vectors:dim=1", *where)
    out = done("view", "place", "songs", "places", "--constraints", file, "--dim", 4, *where)
    assert f"placed {COUNT} items ({COUNT} of them new) in view places by 600 comparisons" in out
    done("train", "songs", "--views", "places", "--learner", "joint:4", "--constraints", file, *where)
    for notion in NOTIONS:
        shares = []
        for number in range(0, COUNT, 6):
            command = ("search", "songs", "--key", key(number), "--view", "places", "--targets", notion, "-k", 5)
            (found,) = result_of(*command, *where)
            shares.append(len({hit["key"] for hit in found["hits"]} & set(nearest(notion, key(number), 15))) / 5)
        assert np.mean(shares) > 0.5  # by chance a quarter
    np.savez(tmp_path / "later.npz", keys=["later"], vectors=[[1.0]])
    done("index", "songs", "--view", "none", "--vectors", tmp_path / "later.npz", *where)
    result = run("search", "songs", "--key", "later", "--view", "places", *where)
    assert "item 'later' has no row of view 'places'" in " ".join(result.output.split())
    assert run("view", "place", "songs", "places", "--constraints", file, *where).exit_code == 1  # it is there
    assert run("view", "place", "songs", "other", "--answers", *where).exit_code == 1  # no person has answered
    assert run("view", "place", "songs", "other", *where).exit_code == 2
