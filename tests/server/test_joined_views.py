"""Every command takes joined views, here and through a server."""

import numpy as np
import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home

JOINED = "color+gist"


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_command_takes_a_joined_view(tmp_path, backend):
    """It is trained, described, searched in and by, embedded and evaluated under its name."""
    home = Home(tmp_path / "home")
    fill_rows(home, 8)
    vector = tmp_path / "row.npy"
    np.save(vector, np.random.default_rng(1).uniform(0, 1, 576).astype(np.float32))
    with reached(home, backend) as where:
        made = result_of("train", "rows", "--views", f"{JOINED},gist", "--learner", "cca:2", "--holdout", 0.25, *where)
        assert made["views"] == made["targets"] == [JOINED, "gist"]
        assert f"{JOINED} (2), gist (2)" in done("show", "rows", *where)

        by_key = ["search", "rows", "--view", JOINED, "--key", "cat/3", "--targets", JOINED, "-k", 3, *where]
        (found,) = result_of(*by_key)
        assert found["target"] == JOINED
        assert f"{JOINED} query -> {JOINED}" in done(*by_key)
        (other,) = result_of("search", "rows", "--view", "gist", "--key", "cat/3", "--targets", JOINED, *where)
        assert {hit["target"] for hit in other["hits"]} == {JOINED}
        across = result_of("search", "rows", "--view", JOINED, "--vector", vector, *where)
        assert [one["target"] for one in across] == [JOINED, "gist"]

        (embedded, _) = result_of("embed", "rows", "--view", JOINED, "--vector", vector, *where)
        assert len(embedded["vector"]) == 2
        done("embed", "rows", "--view", JOINED, "--all", "--targets", JOINED, "--out", tmp_path / "all.npz", *where)
        assert np.load(tmp_path / "all.npz")["vectors"].shape == (16, 2)

        measured = result_of("evaluate", "rows", "--view", JOINED, "--targets", "gist", *where)
        assert {row["query_view"] for row in measured["rows"]} == {JOINED}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_joined_view_is_added_to_a_space(tmp_path, backend):
    """The command is ``space extend``, as for any view."""
    home = Home(tmp_path / "home")
    fill_rows(home, 6)
    with reached(home, backend) as where:
        done("train", "rows", "--views", "color", "--learner", "semantic", *where)
        made = result_of("space", "extend", "rows", "semantic", "--views", JOINED, *where)
        assert made["added"] == [JOINED]
        wrong = run("train", "rows", "--views", "color+color", *where)
        assert wrong.exit_code == 1
        assert "contains view 'color' twice: name every view once" in wrong.stderr
        assert result_of("show", "rows", *where)["views"][0]["name"] == "color"
