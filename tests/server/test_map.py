"""The map command, its files, and maps as jobs of a server."""

import json
from pathlib import Path

import numpy as np
from long_jobs import ended
from PIL import Image
from terminal import done, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.map import MapInfo, MapRequest
from crossview.server.client.client import Client
from crossview.server.commands.drawing.map_picture import COLOURS, PAPER, map_picture
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

HOSTILE = "<script>alert(1)</script>\u202e" + "x" * 400


def fill(home: Home) -> None:
    generator = np.random.default_rng(0)
    with home.create("some", ["v=vectors:dim=4"]) as made:
        report = made.items.put(
            [
                NewItem(f"k{n:02}", rows={"v": generator.normal(size=4)}, labels=(HOSTILE,), attributes={"n": n})
                for n in range(30)
            ]
        )
        assert report.failures == ()


def test_a_map_is_made_drawn_and_listed(tmp_path: Path) -> None:
    fill(home := Home(tmp_path / "home"))
    pca, where = ("map", "some", "--method", "pca"), ("--home", home.path)
    printed = done(*pca, "--out", tmp_path / "map.png", *where)
    assert printed.startswith("map 1: 30 items by PCA of v in space raw, generation 1, ")
    assert "recall of 10 neighbours 0." in printed
    with Image.open(tmp_path / "map.png") as picture:
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 20)}
    assert {COLOURS[0], PAPER} <= colours
    done(*pca, "--color", "n", "--out", tmp_path / "map.json", *where)
    found = json.loads((tmp_path / "map.json").read_text())
    assert [(one["key"], one["value"]) for one in found["points"]] == [(f"k{n:02}", n) for n in range(30)]
    assert found["map"]["where"] == ""
    done("map", "some", "--method", "pca", "--where", "n < 20", *where)
    assert [one["items"] for one in result_of("map", "some", "--list", *where)] == [20, 30]
    assert "n < 20" in done("map", "some", "--list", *where)
    for wrong in (["--out", tmp_path / "map.txt"], ["--method", "umap"], ["--targets", "a,b"], ["--where", "n > 99"]):
        assert run("map", "some", "--method", "pca", *wrong, *where).exit_code != 0


def test_a_map_is_a_job_that_can_be_left_alone(tmp_path: Path) -> None:
    fill(home := Home(tmp_path))
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        job = client.open("some").detached().maps.make(MapRequest(method="pca"))
        result = ended(client, job.id).result
        assert isinstance(result, MapInfo)
        assert result == client.open("some").maps.get(1)
        assert done("map", "some", "--method", "pca", "--detach", "--server", running.address).strip()


def test_few_values_have_colours_and_many_numbers_a_scale() -> None:
    points = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    for values in ([None] * 200, [*range(200)], [f"l{n}" for n in range(200)], [True, "1", 1, None, 1.5] * 40):
        assert map_picture(points, values, HOSTILE, HOSTILE).width > 1_000
    assert map_picture(points[:1], ["a"], "", "label").width > 1_000
    assert map_picture(points[:0], [], "", "label").width > 1_000
