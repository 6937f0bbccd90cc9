"""Labels in notions of similarity, here and over gRPC: beside the items' own, shown, exported and learned from."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from drawn import write_pictures
from notions import COUNT, NOTIONS, fill_things, key, rows
from terminal import BACKENDS, done, reached, result_of, run

from crossview.engine.collections.home import Home


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options by which commands reach a home with six pictures in three folders, and items alike in two ways."""
    write_pictures(tmp_path / "photos", 2)
    home = Home(tmp_path / "home")
    home.create("pets", ["color"]).close()
    fill_things(home)
    with reached(home, request.param) as options:
        yield options


def by_notion(where: list[str], name: str = "pets") -> dict[str, dict[str, list[str]]]:
    return {item["key"]: item["notion_labels"] for item in result_of("list", name, *where) if item["notion_labels"]}


def test_labels_of_a_notion_leave_the_others_alone(where: list[str], tmp_path: Path) -> None:
    """They come with the pictures or later; a file names its changes, and an empty cell clears."""
    photos = tmp_path / "photos"
    done("index", "pets", photos, "--labels", "folder", *where)
    (tmp_path / "size.csv").write_text("path,label\nred/0.png,small\nred/1.png,big\n")
    done("index", "pets", photos, "--labels", tmp_path / "size.csv", "--label-notion", "size", *where)
    done("index", "pets", photos, "--labels", "folder", "--label-notion", "hue", *where)
    found = by_notion(where)
    assert found["photos/red/0.png"] == {"hue": ["red"], "size": ["small"]}
    assert found["photos/green/1.png"] == {"hue": ["green"]}
    assert {tuple(item["labels"]) for item in result_of("list", "pets", *where)} == {("red",), ("green",), ("blue",)}
    (tmp_path / "size.csv").write_text("path,label\nred/0.png,\nblue/0.png,tiny\n")
    command = ("annotate", "pets", "--from", tmp_path / "size.csv", "--label-notion", "size", *where)
    assert "2 updated" in done(*command)
    assert "0 updated, 2 unchanged" in done(*command)
    found = by_notion(where)
    assert (found["photos/red/0.png"], found["photos/blue/0.png"]["size"]) == ({"hue": ["red"]}, ["tiny"])
    assert "1 updated" in done(*command, "--replace-labels")
    assert "size" not in by_notion(where)["photos/red/1.png"]
    assert "labels in notions: hue (6), size (1)" in done("show", "pets", *where)
    assert "labels in hue" in done("item", "show", "pets", "photos/red/0.png", *where)
    assert '{""hue"": [""red""]}' in done("list", "pets", "--csv", *where)


def test_labels_of_a_notion_need_labels_and_a_name_that_can_be(where: list[str], tmp_path: Path) -> None:
    for options, words in (
        (["--label-notion", "hue"], "the notion 'hue' needs labels"),
        (["--labels", "folder", "--label-notion", "a b"], "'a b' cannot name a notion"),
    ):
        result = run("index", "pets", tmp_path / "photos", *options, *where)
        assert result.exit_code == 1
        assert words in result.output


def test_deleted_items_lose_them(where: list[str], tmp_path: Path) -> None:
    done("index", "pets", tmp_path / "photos", "--labels", "folder", "--label-notion", "hue", *where)
    done("item", "delete", "pets", "photos/red/0.png", "--yes", *where)
    assert result_of("show", "pets", *where)["notion_labels"] == {"hue": 5}


def test_notions_are_learned_from_their_labels(where: list[str], tmp_path: Path) -> None:
    """In each notion, neighbours share the label that they have in that notion."""
    quadrants = {}
    for notion, columns in NOTIONS.items():
        signs = rows()[:, columns] > 0
        quadrants[notion] = [f"{int(one)}{int(other)}" for one, other in signs]
        lines = [f"{key(number)},{label}" for number, label in enumerate(quadrants[notion])]
        file = tmp_path / f"{notion}.csv"
        file.write_text("\n".join(["key,label", *lines]) + "\n")
        done("annotate", "things", "--from", file, "--label-notion", notion, *where)
    made = result_of("train", "things", "--learner", "joint:4", "--views", "view", *where)
    assert made["targets"] == ["view:color", "view:shape"]
    for notion, labels in quadrants.items():
        same = []
        for number in range(COUNT):
            command = ("search", "things", "--key", key(number), "--view", "view", "--targets", notion, "-k", 3)
            (found,) = result_of(*command, *where) if number % 6 == 0 else ({"hits": []},)
            same += [labels[int(hit["key"].removeprefix("item/"))] == labels[number] for hit in found["hits"]]
        assert np.mean(same) > 0.6  # by chance a quarter
